"""How often tests at 5 % call noise useful (size), and how often they find useful features (power)."""

from pathlib import Path

from benchmarks.common.output import print_heading
from benchmarks.common.results import ResultTable
from benchmarks.inference.simulations import LEVEL, list_cases, simulate, write_percent

#: Slopes of the signals; with 0 all features are noise.
EFFECTS = (0.0, 0.2, 0.5)
#: Worlds of each kind, for our test and for the others.
N_WORLDS, N_OTHERS = 10, 3

COLUMNS = ["world", "target", "effect", "method", "worlds"]
COLUMNS += ["noise features", "noise called useful (%)", "standard error, noise (%)"]
COLUMNS += ["signals", "signals found (%)", "standard error, signals (%)", "proxies called useful (%)"]


def show(folder: Path, *, quick: bool) -> None:
    """Print a row for each kind of world and method."""
    print_heading(f"Features called useful by tests at {100 * LEVEL:g} %")
    table = ResultTable(folder / "tests.csv", COLUMNS)
    n_worlds, n_others = (1, 1) if quick else (N_WORLDS, N_OTHERS)
    for case in list_cases(EFFECTS[2:] if quick else EFFECTS)[: 1 if quick else None]:
        for method, found in simulate(case, n_worlds, n_others):
            cells = [case.world, case.target, f"{case.effect:g}", method, str(found["noise"].n_worlds)]
            for role in ("noise", "signal"):
                counts = found[role]
                cells += [str(counts.n_tested), write_percent(counts.share), write_percent(counts.error)]
            table.add([*cells, write_percent(found["proxy"].share)])
