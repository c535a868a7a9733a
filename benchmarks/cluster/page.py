"""The tables of docs/cluster.md and docs/scale.md, which ``python -m benchmarks.cluster page`` makes of the results."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks.cluster.simulation import describe_costs, read_all_costs
from benchmarks.common import pages
from benchmarks.common.folders import PROJECT
from benchmarks.common.output import format_markdown, print_line
from benchmarks.common.pages import space
from benchmarks.common.results import Row, read_rows

PAGES = tuple(PROJECT / "docs" / name for name in ("cluster.md", "scale.md"))
FAMILIES = {"MPBoostClassifier": "votes", "MPGradientBoostingClassifier": "gradient"}


def write_pages(folder: Path, *, quick: bool) -> None:
    """Write the tables of both pages anew; ``folder`` has the results."""
    if quick:
        raise SystemExit("The pages show whole runs alone: leave out --quick.")
    for page in PAGES:
        page.write_text(fill(page.read_text(encoding="utf-8"), folder), encoding="utf-8")
        print_line(f"page: {page}")


def fill(text: str, folder: Path) -> str:
    """Replace the tables of a page by those that the results give."""
    return pages.fill(text, "benchmarks.cluster page", {name: partial(make_table, name, folder) for name in TABLES})


def make_table(name: str, folder: Path) -> str:
    """Make a table; say what to run if it was not measured yet."""
    file, command, tabulate = TABLES[name]
    path = folder / file
    if not path.exists():
        return f"Not measured yet: `python -m benchmarks.cluster{command}`."
    return tabulate(path)


def tabulate_fits(path: Path) -> str:
    columns = ["", "rows", "trees", "placement", "local", "cluster", "ratio", "ratio of the trees alone"]
    return format_markdown(
        columns,
        [
            [
                name_family(row),
                space(row["rows"]),
                row["trees"],
                row["placement"],
                f"{row['local, s']} s",
                f"{row['cluster, s']} s",
                row["ratio"],
                row["ratio of trees"],
            ]
            for row in read_rows(path)
        ],
    )


def tabulate_rounds(path: Path) -> str:
    names = ["calls", "own work", "joining", "waiting and sending", "kB in", "kB out to each"]
    columns = ["", "part", "calls", "own work, ms", "joining, ms", "waiting and sending, ms", *names[4:]]
    rows = read_rows(path)
    cells = [[name_family(row), f"`{row['part']}`", *(row[name] for name in names)] for row in rows]
    for family in dict.fromkeys(name_family(row) for row in rows):
        own = [row for row in rows if name_family(row) == family]
        cells.append([family, "all", *(f"{sum(float(row[name]) for row in own):.2f}" for name in names)])
    return format_markdown(columns, cells)


def tabulate_prediction(path: Path) -> str:
    columns = ["", "rows", "local batches", "cluster", "ratio", "ratio of processor seconds"]
    return format_markdown(
        columns,
        [
            [
                name_family(row),
                space(row["rows"]),
                f"{row['local']} s",
                f"{row['cluster']} s",
                row["ratio"],
                row["its ratio"],
            ]
            for row in read_rows(path)
        ],
    )


def tabulate_kills(path: Path) -> str:
    rows = read_rows(path)

    def describe(own: Sequence[Row]) -> list[str]:
        outcomes = Counter(row["outcome"] for row in own)
        return [
            f"{len(own)}",
            f"{sum(int(row['kills']) for row in own)}",
            ", ".join(f"{outcome}: {n}" for outcome, n in sorted(outcomes.items())),
            ", ".join(sorted({row["left over"] for row in own})),
            f"{own[0]['undisturbed, s']} s",
            f"{median(float(row['seconds']) for row in own):.1f} s",
        ]

    families = dict.fromkeys(name_family(row) for row in rows)
    columns = ["", "fits", "kills", "outcome", "left over", "undisturbed", "median with kills"]
    return format_markdown(
        columns, [[name, *describe([row for row in rows if name_family(row) == name])] for name in families]
    )


def tabulate_costs(path: Path) -> str:
    costs = {FAMILIES[name.removeprefix("Dask")]: describe_costs(each) for name, each in read_all_costs(path.parent)}
    first = next(iter(costs.values()))
    return format_markdown(["", *costs], [[symbol, *(each[symbol] for each in costs.values())] for symbol in first])


def tabulate_simulation(path: Path) -> str:
    rows = read_rows(path)
    n_rows = list(dict.fromkeys(row["rows"] for row in rows))
    cells = []
    for family in dict.fromkeys(name_family(row) for row in rows):
        own = [row for row in rows if name_family(row) == family]
        for workers in dict.fromkeys(row["workers"] for row in own):
            found = [next(row for row in own if (row["workers"], row["rows"]) == (workers, n)) for n in n_rows]
            cells.append([family, workers, *(f"{row['iterations per s, star']} ({row['tree of 8']})" for row in found)])
        best = [next(row for row in own if row["rows"] == n)["best workers"] for n in n_rows]
        cells.append([family, "W*", *best])
    return format_markdown(["", "workers", *(f"{float(n):,.0f} rows".replace(",", " ") for n in n_rows)], cells)


def name_family(row: Row) -> str:
    """Name the family of the estimator of a row."""
    return FAMILIES[row["estimator"].removeprefix("Dask")]


#: By name: the file of the results, the rest of the command that makes it, and what makes the table.
TABLES: dict[str, tuple[str, str, Callable[[Path], str]]] = {
    "fits": ("fits.csv", " fits", tabulate_fits),
    "rounds": ("rounds.csv", " rounds", tabulate_rounds),
    "prediction": ("prediction.csv", ".prediction", tabulate_prediction),
    "kills": ("kills.csv", " kills", tabulate_kills),
    "costs": ("rounds.csv", " rounds", tabulate_costs),
    "simulation": ("simulation.csv", " simulate", tabulate_simulation),
}
