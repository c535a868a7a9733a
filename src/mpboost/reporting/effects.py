"""Summarise the effects of the likeliest features: which way they push the prediction."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mpboost.estimators.base import MinipatchBooster
from mpboost.inspection.effects import EffectCurve, FeatureEffect, choose_scale, compute_effects, read_numbers
from mpboost.reporting.canvas import format_number
from mpboost.reporting.plain import simplify, simplify_all

#: Number of features, and of categories of each.
N_FEATURES, N_CATEGORIES = 9, 10
#: Number of rows: two blocks of the engine, enough for a small chart.
N_ROWS = 256
#: Significant digits of numbers.
DIGITS = 5
#: The longest name of a category in a sentence.
MAX_NAME = 30


def summarise_effects(model: MinipatchBooster, X: Any, names: Sequence[str]) -> dict[str, Any]:
    """Summarise the effects of the likeliest features on the predictions for a table."""
    effects = [_cut(effect) for effect in compute_effects(model, X, n_features=N_FEATURES, max_rows=N_ROWS)]
    drawn = [_list_drawn(effect, curve) for effect in effects for curve in effect.curves]
    return {
        "n_rows": min(N_ROWS, X.shape[0] if hasattr(X, "shape") else len(X)),
        "quantities": [str(simplify(curve.quantity)) for curve in effects[0].curves],
        "range": [float(min(map(np.min, drawn))), float(max(map(np.max, drawn)))],
        "features": [_summarise(effect, names[effect.feature]) for effect in effects],
    }


def _cut(effect: FeatureEffect) -> FeatureEffect:
    """Keep the most frequent categories, and missing values."""
    if effect.kind == "number":
        return effect
    kept = [k for k, value in enumerate(effect.values) if k < N_CATEGORIES or value is None]
    curves = [
        replace(curve, means=curve.means[kept], low=curve.low[kept], high=curve.high[kept]) for curve in effect.curves
    ]
    return replace(
        effect, values=tuple(effect.values[k] for k in kept), shares=effect.shares[kept], curves=tuple(curves)
    )


def _list_drawn(effect: FeatureEffect, curve: EffectCurve) -> list[Any]:
    """List what is drawn of a curve: the bands of several classes would cover each other."""
    return [curve.means] if len(effect.curves) > 1 else [curve.means, curve.low, curve.high]


def _summarise(effect: FeatureEffect, name: str) -> dict[str, Any]:
    # Of several classes, the sentence is about the one that changes most.
    main = max(effect.curves, key=lambda curve: float(np.ptp(curve.means)))
    return {
        "name": name,
        "kind": effect.kind,
        "scale": choose_scale(effect) if effect.kind == "number" else None,
        "direction": main.direction,
        "sentence": describe(effect, main),
        "values": simplify_all(effect.values),
        "numbers": simplify_all(read_numbers(effect)) if effect.kind == "number" else None,
        "shares": simplify_all(effect.shares, DIGITS),
        "curves": [
            {
                "quantity": str(simplify(curve.quantity)),
                "means": simplify_all(curve.means, DIGITS),
                "low": simplify_all(curve.low, DIGITS),
                "high": simplify_all(curve.high, DIGITS),
            }
            for curve in effect.curves
        ],
    }


def describe(effect: FeatureEffect, curve: EffectCurve) -> str:
    """Tell in a sentence which way a feature pushes a quantity.

    Examples
    --------
    >>> import numpy as np
    >>> means = np.array([0.21, 0.5, 0.83])
    >>> curve = EffectCurve("yes", "probability of yes", means, means, means, "rises")
    >>> describe(FeatureEffect(0, "calls", "number", (0, 3, None), np.ones(3) / 3, (curve,)), curve)
    'Higher values raise the probability of yes from 0.21 to 0.50. Missing values: 0.83.'
    """
    is_known = np.array([value is not None for value in effect.values])
    quantity, means = str(simplify(curve.quantity)), curve.means[is_known]
    if not len(means):
        return "All values are missing."
    write = _write_number if curve.label is None else _write_probability
    missing = "" if is_known.all() else f" Missing values: {write(curve.means[-1])}."
    first, last, least, most = map(write, (means[0], means[-1], means.min(), means.max()))
    values = [value for value in effect.values if value is not None]
    lowest, highest = (values[k] for k in (int(np.argmin(means)), int(np.argmax(means))))
    match curve.direction:
        case "rises":
            sentence = f"Higher values raise the {quantity} from {first} to {last}."
        case "falls":
            sentence = f"Higher values lower the {quantity} from {first} to {last}."
        case "rises then falls":
            sentence = f"The {quantity} rises from {first} to {most} at {_name(highest)}, then falls to {last}."
        case "falls then rises":
            sentence = f"The {quantity} falls from {first} to {least} at {_name(lowest)}, then rises to {last}."
        case "mixed":
            sentence = f"The {quantity} goes up and down between {least} and {most}."
        case "differs":
            ends = f"lowest for {_name(lowest)} ({least}) and highest for {_name(highest)} ({most})"
            among = f", of the {len(values)} most frequent categories" if len(values) == N_CATEGORIES else ""
            sentence = f"The {quantity} is {ends}{among}."
        case "flat":
            return f"On average it hardly changes the {quantity}: {least} to {most}."
    return sentence + missing


def _write_number(value: float) -> str:
    return format_number(float(value))


def _write_probability(value: float) -> str:
    return f"{value:.2f}" if value >= 0.01 else format_number(float(value), 1)


def _name(value: Any) -> str:
    """Name a number or a category, shortened."""
    text = format_number(simplify(value))
    return text if len(text) <= MAX_NAME else text[: MAX_NAME - 1] + "…"
