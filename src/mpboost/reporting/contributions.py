"""Summarise contributions of features: to the predictions for a sample of rows, and to those for the hardest rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mpboost._arrays import Floats
from mpboost.boosting.ensembles import TreeEnsemble
from mpboost.estimators.base import MinipatchBooster
from mpboost.estimators.explained import ExplainedBooster
from mpboost.estimators.inputs import check_table
from mpboost.inspection.contributions import Contributions, pick_output, spread_dots
from mpboost.inspection.judgement import Judgement, decode_targets
from mpboost.outputs.statistics import pick_rows
from mpboost.reporting.observations import list_suspects, select_hardest
from mpboost.reporting.plain import simplify, simplify_all
from mpboost.reporting.table import ReportTable

#: Rows and features of the summary; dots are many bytes.
N_DOTS, N_FEATURES = 160, 8
#: Rows that are explained one by one, of the hardest and of the most suspect, and features on each side.
N_ROWS, N_REASONS = 8, 3
#: Features that contribute less than this share of the largest contribution to a row are no reasons.
LEAST_SHARE = 0.05
#: Colours of values: from the lowest to the highest.
N_COLOURS = 5


def summarise_contributions(
    model: MinipatchBooster,
    X: Any,
    table: ReportTable,
    names: Sequence[str],
    judgement: Judgement | None,
    *,
    is_training: bool,
) -> dict[str, Any] | None:
    """Summarise contributions; None for models that cannot tell them: of other learners, or from old files."""
    assert isinstance(model, ExplainedBooster)
    if not isinstance(model._ensemble, TreeEnsemble) or not model._ensemble.forest.has_covers:
        return None
    rows = pick_rows(table.n_rows, min(N_DOTS, table.n_rows))
    sample = check_table(model, X).take_rows(rows)
    drawn = pick_output(model, sample, model._contribute(sample), _choose_class(model))
    return {
        "quantity": str(simplify(drawn.quantity)),
        "expected": float(drawn.expected[0]),
        "n_rows": len(rows),
        "features": _place_dots(drawn, names),
        "rows": [] if judgement is None else _list_reasons(model, X, table, names, judgement, is_training),
    }


def _choose_class(model: ExplainedBooster) -> int:
    """Choose the second of two classes, or the most frequent of more."""
    n_classes = len(getattr(model, "classes_", ()))
    if n_classes <= 2:
        return n_classes - 1 if n_classes else 0
    return int(np.bincount(model._targets, minlength=n_classes).argmax())


def _place_dots(drawn: Contributions, names: Sequence[str]) -> list[dict[str, Any]]:
    shown = drawn.rank_features()[:N_FEATURES]
    width = float(np.ptp(drawn.values[:, shown]))
    return [
        {
            "name": names[feature],
            "size": float(np.abs(drawn.values[:, feature]).mean()),
            "contributions": simplify_all(drawn.values[:, feature], 4),
            "offsets": simplify_all(spread_dots(drawn.values[:, feature], width), 3),
            "colours": _pick_colours(drawn.rank_values(feature)),
        }
        for feature in shown
    ]


def _pick_colours(ranks: Floats) -> list[int | None]:
    """Pick a colour for the rank of each value; None for missing values and categories."""
    return [None if np.isnan(rank) else min(N_COLOURS - 1, int(rank * N_COLOURS)) for rank in ranks]


def _list_reasons(
    model: ExplainedBooster,
    X: Any,
    table: ReportTable,
    names: Sequence[str],
    judgement: Judgement,
    is_training: bool,
) -> list[dict[str, Any]]:
    """List what speaks for the label of the hardest and of the most suspect rows, and what against it."""
    suspects = list_suspects(model) if is_training else np.empty(0, dtype=np.int64)
    difficulty = np.zeros(table.n_rows)
    difficulty[judgement.rows] = judgement.difficulty
    hardest = select_hardest(difficulty, np.ones(table.n_rows), judgement.rows, N_ROWS)
    rows = np.array([*dict.fromkeys([*hardest.tolist(), *suspects[:N_ROWS].tolist()])], dtype=np.int64)
    places = np.searchsorted(judgement.rows, rows)
    given, predicted = judgement.given[places], judgement.predicted[places]
    chosen = check_table(model, X).take_rows(rows)
    found = model._contribute(chosen)
    labels = table.name_rows(rows)
    shown = [simplify_all(decode_targets(model, targets)) for targets in (given, predicted)]
    reasons = []
    for k, row in enumerate(rows):
        code = int(given[k]) if hasattr(model, "classes_") else 0
        values = pick_output(model, chosen.take_rows(np.array([k])), found[k : k + 1], code).values[0]
        reasons.append(
            {
                "row": int(row),
                "label": None if labels is None else labels[k],
                "given": shown[0][k],
                "suggested": shown[1][k],
                "is_suspect": bool(np.isin(row, suspects)),
                "for": _pick_reasons(values, table, row, names, sign=1),
                "against": _pick_reasons(values, table, row, names, sign=-1),
            }
        )
    return reasons


def _pick_reasons(
    values: Floats, table: ReportTable, row: np.int64, names: Sequence[str], *, sign: int
) -> list[dict[str, Any]]:
    """Pick the features with the largest contributions of a sign, unless they are small beside those of others."""
    least = LEAST_SHARE * float(np.abs(values).max(initial=0.0))
    ranked = np.argsort(-sign * values, kind="stable")[:N_REASONS]
    return [
        {"name": names[j], "value": table.read(np.array([row]), int(j))[0], "contribution": float(values[j])}
        for j in ranked
        if sign * values[j] > least
    ]
