"""Summarise the rows: which are hard, and which labels are suspect."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpboost.estimators.base import MinipatchBooster
from mpboost.inspection.judgement import Judgement, decode_targets
from mpboost.inspection.label_issues import estimate_label_noise, find_label_issues
from mpboost.reporting.features import rank
from mpboost.reporting.plain import draw_image, simplify_all
from mpboost.reporting.quality import pick_points
from mpboost.reporting.table import ReportTable

#: Number of bins of difficulties; number of features whose values are listed.
N_BINS, N_VALUES = 20, 5


def summarise_observations(
    model: MinipatchBooster,
    table: ReportTable,
    names: Sequence[str],
    judgement: Judgement | None,
    shape: tuple[int, int] | None,
    n_observations: int,
) -> dict[str, Any]:
    """Summarise the training rows: the hardest, a histogram of difficulties, and points of a scatter plot."""
    p = model.observation_probabilities_
    ratios = p * np.count_nonzero(p)  # how often a row is drawn, relative to the average row
    suspects = np.empty(0, dtype=np.int64) if judgement is None else list_suspects(model)
    if judgement is None:
        hardest = rank(p)[:n_observations]
    else:
        hardest = select_hardest(model.observation_difficulty_, p, judgement.rows, n_observations)
    return {
        "is_judged": judgement is not None,
        "effective": float(1.0 / np.sum(p**2)),
        "is_adaptive": bool(model.adaptive_observations),
        "n_suspects": None if judgement is None else len(suspects),
        "label_noise": _estimate_noise(model, judgement),
        "value_names": [] if shape else [names[j] for j in rank(model.feature_probabilities_)[:N_VALUES]],
        "hardest": _list_rows(model, table, judgement, hardest, suspects, ratios, shape),
        "histogram": None if judgement is None else _count_difficulties(judgement, suspects),
        "points": None if judgement is None else _place_points(model, judgement, suspects, ratios, make_namer(table)),
    }


def summarise_new_rows(
    model: MinipatchBooster,
    table: ReportTable,
    names: Sequence[str],
    judgement: Judgement,
    shape: tuple[int, int] | None,
    n_observations: int,
) -> dict[str, Any]:
    """Summarise new rows: the hardest, and a histogram of difficulties. They have no p, and no suspect labels."""
    nothing = np.empty(0, dtype=np.int64)
    hardest = select_hardest(judgement.difficulty, np.ones(len(judgement.rows)), judgement.rows, n_observations)
    return {
        "is_judged": True,
        "effective": None,
        "is_adaptive": False,
        "n_suspects": None,
        "label_noise": None,
        "value_names": [] if shape else [names[j] for j in rank(model.feature_probabilities_)[:N_VALUES]],
        "hardest": _list_rows(model, table, judgement, hardest, nothing, None, shape),
        "histogram": _count_difficulties(judgement, nothing),
        "points": None,
    }


def _estimate_noise(model: MinipatchBooster, judgement: Judgement | None) -> float | None:
    """Estimate the share of wrong labels; None for numbers, and for a model that has learned nothing."""
    is_useless = model.oop_interval_[0] <= model.constant_score_
    if judgement is None or not hasattr(model, "classes_") or is_useless:
        return None
    return estimate_label_noise(model)


def select_hardest(
    difficulty: NDArray[np.float64], p: NDArray[np.float64], rows: NDArray[np.int64], n_rows: int
) -> NDArray[np.int64]:
    """Select the hardest of some rows, hardest first; ties by probability.

    Examples
    --------
    >>> import numpy as np
    >>> select_hardest(np.array([0.1, 0.9, 0.5, 0.9]), np.array([0.1, 0.2, 0.3, 0.4]), np.arange(4), 3)
    array([3, 1, 2])
    """
    if len(rows) > n_rows:  # sorting a million rows is slow
        least = np.partition(difficulty[rows], len(rows) - n_rows)[len(rows) - n_rows]
        rows = rows[difficulty[rows] >= least]
    return rows[np.lexsort((-p[rows], -difficulty[rows]))[:n_rows]]


def list_suspects(model: MinipatchBooster) -> NDArray[np.int64]:
    """List the rows whose labels are suspect, among those with an out-of-patch prediction."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the report has its own note if only some rows are judged
        rows: NDArray[np.int64] = find_label_issues(model).row
    return rows


def make_namer(table: ReportTable) -> Callable[[int], str]:
    """Make a function that formats a row: its number and, if it has one, its name."""

    def name(row: int) -> str:
        named = table.name_rows(np.array([row]))
        return str(row) if named is None else f"{row} ({named[0]})"

    return name


def _list_rows(
    model: MinipatchBooster,
    table: ReportTable,
    judgement: Judgement | None,
    rows: NDArray[np.integer],
    suspects: NDArray[np.int64],
    ratios: NDArray[np.float64] | None,
    shape: tuple[int, int] | None,
) -> list[dict[str, Any]]:
    suggested, difficulties = [None] * len(rows), [None] * len(rows)
    if judgement is None:
        given = _name_targets(model, model._targets[rows])
    else:
        places = np.searchsorted(judgement.rows, rows)
        given, suggested = (_name_targets(model, targets[places]) for targets in (judgement.given, judgement.predicted))
        difficulties = simplify_all(judgement.difficulty[places])
    labels = table.name_rows(rows)
    top = rank(model.feature_probabilities_)[: 0 if shape else N_VALUES]
    columns = [table.read(rows, int(j)) for j in top]
    images = None if shape is None else [draw_image(image) for image in table.read_images(rows, shape)]
    is_suspect = np.isin(rows, suspects)
    return [
        {
            "row": int(row),
            "label": None if labels is None else labels[k],
            "given": given[k],
            "suggested": suggested[k],
            "difficulty": difficulties[k],
            "ratio": None if ratios is None else float(ratios[row]),
            "is_suspect": bool(is_suspect[k]),
            "values": [column[k] for column in columns],
            "image": None if images is None else images[k],
        }
        for k, row in enumerate(rows)
    ]


def _name_targets(model: MinipatchBooster, targets: NDArray[Any]) -> list[Any]:
    return simplify_all(decode_targets(model, targets))


def _count_difficulties(judgement: Judgement, suspects: NDArray[np.int64]) -> dict[str, Any]:
    is_suspect = np.isin(judgement.rows, suspects)
    return {
        name: np.histogram(difficulty, N_BINS, (0.0, 1.0))[0].tolist()
        for name, difficulty in (("counts", judgement.difficulty), ("suspects", judgement.difficulty[is_suspect]))
    }


def _place_points(
    model: MinipatchBooster,
    judgement: Judgement,
    suspects: NDArray[np.int64],
    ratios: NDArray[np.float64],
    name: Callable[[int], str],
) -> dict[str, Any]:
    places = pick_points(model.observation_difficulty_[judgement.rows])
    rows = judgement.rows[places]
    return {
        "difficulty": simplify_all(model.observation_difficulty_[rows], 4),
        "ratio": simplify_all(ratios[rows], 4),
        "is_suspect": np.isin(rows, suspects).tolist(),
        "row": [name(int(row)) for row in rows],
        "given": _name_targets(model, judgement.given[places]),
        "suggested": _name_targets(model, judgement.predicted[places]),
    }
