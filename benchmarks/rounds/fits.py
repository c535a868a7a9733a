"""A pair of fits: with rounds of one minipatch, and with the default. Apart, so that other processes can import it."""

from typing import Any

from benchmarks.contestants import CONTESTANTS, Plan
from benchmarks.contestants.measuring import measure
from benchmarks.data.collection import load_split

#: Of all estimators: the number of minipatches in a round.
PARAMETER = "round_size"


def has_rounds(family: str) -> bool:
    """Tell whether the estimators of a family have the parameter."""
    return PARAMETER in CONTESTANTS[family].make(Plan(None)).get_params()


def fit_both(task: tuple[str, int, str], n_rows: int) -> dict[str, float]:
    """Fit with rounds of one minipatch and with the default, each first with every other seed."""
    name, seed, family = task
    split_set = load_split(name, seed, n_rows)
    sides: dict[str, dict[str, Any]] = {"one": {PARAMETER: 1} if has_rounds(family) else {}, "default": {}}
    figures = {}
    for side in sides if seed % 2 == 0 else reversed(sides):
        outcome = measure(family, split_set, Plan(None, seed), **sides[side])
        figures |= {side: outcome.test_score, f"seconds_{side}": outcome.cpu_seconds}
    return figures
