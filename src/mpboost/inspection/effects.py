"""Effects of features: which way each of the likeliest features pushes the prediction."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mpboost._arrays import Floats
from mpboost._compat import Interval, validate_params
from mpboost._threads import make_threads
from mpboost.data.tables import Table
from mpboost.estimators.base import MinipatchBooster
from mpboost.estimators.inputs import check_table
from mpboost.estimators.predictions import ClassPredictions, ValuePredictions
from mpboost.inspection.checks import check_model
from mpboost.inspection.substitutions import Substitution, make_substitution

Kind = Literal["number", "category"]
Direction = Literal["rises", "falls", "rises then falls", "falls then rises", "mixed", "differs", "flat"]

#: The seed by which rows are drawn.
ROWS_SEED = 0
#: The most points of a numeric and of a categorical feature, and the most classes.
MAX_POINTS, MAX_CATEGORIES, MAX_CLASSES = 30, 20, 3
#: The part of the single rows that lies between ``low`` and ``high``.
SPREAD = (0.1, 0.9)
#: A curve is flat if its range is at most this share of the standard deviation of the predictions.
FLAT_SHARE = 0.15
#: A move against the direction does not count if it is at most this share of the range of the curve.
WIGGLE_SHARE = 0.2
#: An axis is not linear if its upper half is so many times as long as its lower half.
SKEWED = 8.0
#: The axis of fewer points is always linear.
FEW_POINTS = 4
#: Larger numbers, infinity among them, are not drawn.
MAX_DRAWN = 1e100
#: The name of the categories that were too rare in training to be remembered.
OTHER = "(other)"


@dataclass(frozen=True)
class EffectCurve:
    """The effect of a feature on one quantity that the model predicts.

    Attributes
    ----------
    label : label or None
        The class whose probability this is; None for numbers.
    quantity : str
        Its name: "probability of <class>", or "prediction".
    means : float64 array of shape (n_points,)
        Mean prediction of all sampled rows, with the feature at each point.
    low, high : float64 array of shape (n_points,)
        How single rows move around the mean: their quantiles of 10 % and 90 %, after all rows are shifted to the same
        mean over the points. A wide band tells that the effect depends on other features.
    direction : str
        "rises", "falls", "rises then falls", "falls then rises", "mixed" or "flat"; for categories "differs" or "flat".
        The rule is in the notes of ``compute_effects``.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import mpboost
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = mpboost.MPGradientBoostingRegressor(n_estimators=50, random_state=0).fit(X, y)
    >>> curve = mpboost.compute_effects(model, X, "bmi")[0].curves[0]
    >>> curve.quantity, curve.direction
    ('prediction', 'rises')
    >>> bool(curve.means[0] < curve.means[-1])
    True
    """

    label: Any
    quantity: str
    means: Floats
    low: Floats
    high: Floats
    direction: Direction


@dataclass(frozen=True)
class FeatureEffect:
    """The effect of a feature, as returned by ``compute_effects``.

    Attributes
    ----------
    feature : int
        The column of the feature.
    name : str
        The name of the feature, or "feature 0" and so on.
    kind : {"number", "category"}
        Kind of feature.
    values : tuple
        The points: numbers in ascending order, or categories, the most frequent first; missing values, if there are
        any, are the last point, None. Categories that were too rare in training are together "(other)".
    shares : float64 array of shape (n_points,)
        Share of the sampled rows at each point; if there are more numbers than points, rows count for the nearest one.
    curves : tuple of EffectCurve
        One curve for numbers and for two classes (of ``classes_[1]``), one for each of the most frequent classes
        otherwise.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import mpboost
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = mpboost.MPBoostClassifier(n_estimators=50, random_state=0).fit(X, y)
    >>> effect = mpboost.compute_effects(model, X, "petal length (cm)")[0]
    >>> effect.kind, effect.values[0], [curve.label for curve in effect.curves]
    ('number', 1.0, [0, 1, 2])
    """

    feature: int
    name: str
    kind: Kind
    values: tuple[Any, ...]
    shares: Floats
    curves: tuple[EffectCurve, ...]


@validate_params(
    {
        "model": "no_validation",
        "X": "no_validation",
        "features": "no_validation",
        "n_features": [Interval(Integral, 1, None, closed="left")],
        "max_rows": [Interval(Integral, 1, None, closed="left")],
    },
    prefer_skip_nested_validation=True,
)
def compute_effects(
    model: Any, X: Any, features: Any = None, *, n_features: int = 10, max_rows: int = 1000
) -> list[FeatureEffect]:
    """Compute which way features push the prediction: their partial dependence.

    A feature is set to the same value in all rows, and the predictions are averaged: mean probabilities of classes, or
    mean predicted numbers. This is repeated for up to 30 values that occur in X, or the 20 most frequent categories.

    Parameters
    ----------
    model : estimator of mpboost
        A fitted model.
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        Rows to average over: those of training, or any others. All count the same, whatever their weights in training.
    features : str, int, or list of str or int, default=None
        Names or columns of features. None takes those with the highest feature probability q, ties (all of them with
        ``adaptive_features=False``) by importance.
    n_features : int, default=10
        How many features to take if ``features`` is None.
    max_rows : int, default=1000
        The most rows to average over; the time is proportional to it. Of more rows, so many are drawn: always the same
        ones, whatever the random states.

    Returns
    -------
    effects : list of FeatureEffect
        One for each feature, in the given order, or the likeliest first.

    Notes
    -----
    **Points.** Trees see a number only as its bin, so a point stands for all values of its bin: with up to 30 bins
    nothing is lost between points, and with more, the points are evenly spaced among the bins.

    **Direction.** A curve is "flat" if its range is at most 15 % of the standard deviation of the predictions for X.
    Otherwise it "rises" if it nowhere falls by more than 20 % of its range, from any point to any later one, and
    "falls" if it nowhere rises by more. It "rises then falls" if this holds before and after its highest point, "falls
    then rises" likewise; all else is "mixed". Categories have no order: they are "flat" or the prediction "differs".
    Missing values count only for categories.

    **Correlated features.** Setting one feature and leaving the others as they are makes rows that hardly exist if the
    feature goes along with others (a tall person of 30 kg). The curve tells what the model does, not what would
    happen in the world; features that say the same share their effect. Accumulated local effects would avoid such
    rows, but they average over few rows for each step, have no meaning for categories and missing values, and do not
    give probabilities. Where the band from ``low`` to ``high`` is wide, look twice.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import mpboost
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = mpboost.MPBoostClassifier(random_state=0).fit(X, y)
    >>> effect = mpboost.compute_effects(model, X, "worst area")[0]
    >>> effect.name, len(effect.values), effect.curves[0].quantity, effect.curves[0].direction
    ('worst area', 30, 'probability of 1', 'falls')
    """
    check_model(model)
    chosen = _choose_features(model, features, n_features)
    table = check_table(model, X)
    sample = table if table.n_rows <= max_rows else table.take_rows(_draw_rows(table.n_rows, max_rows))
    threads, targets = make_threads(model.n_jobs), _choose_targets(model)
    scales = _predict(model, model._ensemble.total(sample, model._outputs, threads), targets).std(axis=1)
    substitution = make_substitution(model._ensemble, sample, model._outputs, threads)
    effects = []
    for feature in chosen:
        points = _choose_points(model, feature, sample, substitution)
        found = [_predict(model, totals, targets) for totals in substitution.substitute(feature, points.numbers)]
        curves = [
            _make_curve(target, predictions, points, scale)
            for target, predictions, scale in zip(targets, np.stack(found, axis=1), scales, strict=True)
        ]
        kind: Kind = "number" if points.categories is None else "category"
        effects.append(FeatureEffect(feature, _name(model, feature), kind, points.values, points.shares, tuple(curves)))
    return effects


@dataclass(frozen=True)
class _Target:
    """A quantity that the model predicts: the probability of the class with a code, or a number."""

    code: int
    label: Any
    quantity: str


@dataclass(frozen=True)
class _Points:
    """The points of a feature: as numbers for the ensemble, NaN if missing, and how many rows are at each.

    Categories have codes for numbers; ``categories`` maps these to values, and is None for a numeric feature.
    """

    numbers: NDArray[Any]
    counts: NDArray[Any]
    n_rows: int
    categories: Sequence[Any] | None

    @property
    def values(self) -> tuple[Any, ...]:
        return tuple(
            None if number != number else number if self.categories is None else self.categories[int(number)]
            for number in self.numbers.tolist()
        )

    @property
    def shares(self) -> Floats:
        return np.asarray(self.counts / self.n_rows, dtype=np.float64)


def _draw_rows(n_rows: int, n_drawn: int) -> NDArray[np.int64]:
    """Draw rows; not every k-th row, since tables may repeat themselves, say every 24 hours."""
    return np.sort(np.random.default_rng(ROWS_SEED).choice(n_rows, n_drawn, replace=False))


def _choose_features(model: MinipatchBooster, features: Any, n_features: int) -> list[int]:
    if features is None:
        ranked = np.lexsort((-model.feature_importances_, -model.feature_probabilities_))
        return [int(feature) for feature in ranked[:n_features]]
    listed = [features] if isinstance(features, str | int | np.integer) else list(features)
    if not listed:
        raise ValueError("features is empty: list names or columns of features, or pass None for the likeliest ones.")
    return [_look_up(model, feature) for feature in listed]


def _look_up(model: MinipatchBooster, feature: Any) -> int:
    """Look up the column of a feature, given by its name or column."""
    if isinstance(feature, int | np.integer) and not isinstance(feature, bool):
        if not 0 <= feature < model.n_features_in_:
            raise ValueError(f"Columns in features must be from 0 to {model.n_features_in_ - 1}, not {feature}.")
        return int(feature)
    if not isinstance(feature, str):
        raise TypeError(f"features must be names or columns of features, not {feature!r}.")
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        raise ValueError(
            f"features contains the name {feature!r}, but the model was trained on a table without names: pass columns."
        )
    places = np.flatnonzero(names == feature)
    if not len(places):
        raise ValueError(f"The model has no feature {feature!r}. It has {names[:20].tolist()}.")
    return int(places[0])


def _name(model: MinipatchBooster, feature: int) -> str:
    names = getattr(model, "feature_names_in_", None)
    return f"feature {feature}" if names is None else str(names[feature])


def _choose_targets(model: MinipatchBooster) -> list[_Target]:
    """Choose the quantities: the second of two classes, the most frequent of more, or the number."""
    if not isinstance(model, ClassPredictions):
        return [_Target(0, None, "prediction")]
    codes = np.array([1])
    if len(model.classes_) > 2:
        counts = np.zeros(len(model.classes_), dtype=np.int64)
        if hasattr(model, "_targets"):  # models of very many rows do not have them
            counts = np.bincount(model._targets[model.observation_probabilities_ > 0], minlength=len(counts))
        codes = np.argsort(-counts, kind="stable")[:MAX_CLASSES]
    labels = model.classes_[codes].tolist()
    return [_Target(int(code), label, f"probability of {label}") for code, label in zip(codes, labels, strict=True)]


def _predict(model: MinipatchBooster, totals: NDArray[Any], targets: Sequence[_Target]) -> Floats:
    """Turn what learners add up to into predictions: an array of shape (n_targets, n_rows)."""
    n_learners = len(model._ensemble)
    if isinstance(model, ClassPredictions):
        probabilities = model._to_probabilities(model._read_totals(totals, n_learners))
        return probabilities[:, [target.code for target in targets]].T
    assert isinstance(model, ValuePredictions)
    return model._to_values(totals, n_learners)[None, :]


def _choose_points(model: MinipatchBooster, feature: int, sample: Table, substitution: Substitution) -> _Points:
    column = sample.to_array(features=np.array([feature]))[:, 0]
    is_missing = np.isnan(column) if column.dtype.kind == "f" else np.zeros(len(column), dtype=bool)
    present, n_missing = column[~is_missing], np.count_nonzero(is_missing)
    categories: Sequence[Any] | None = None
    if getattr(model, "is_categorical_", None) is not None and model.is_categorical_[feature]:
        categories = [*model.categories_[feature], *[OTHER] * bool(model.has_other_category_[feature])]
        numbers, counts = _choose_categories(present, len(categories))
    else:
        numbers, counts = _choose_numbers(present, substitution.group(feature, present))
    if n_missing:
        numbers, counts = np.append(numbers, column.dtype.type(np.nan)), np.append(counts, n_missing)
    return _Points(numbers, counts, len(column), categories)


def _choose_categories(codes: NDArray[Any], n_codes: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Choose the most frequent categories; return their codes and how many rows they have."""
    counts = np.bincount(codes.astype(np.intp), minlength=n_codes)
    frequent = np.argsort(-counts, kind="stable")[:MAX_CATEGORIES]
    return frequent.astype(codes.dtype), counts[frequent]


def _choose_numbers(present: NDArray[Any], groups: NDArray[np.integer[Any]]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Choose values, one each of groups that are evenly spaced; return them and how many rows are nearest to each."""
    ordered = np.sort(present)
    _, starts, counts = np.unique(np.sort(groups), return_index=True, return_counts=True)
    places = np.unique(np.linspace(0, len(starts) - 1, min(len(starts), MAX_POINTS)).round().astype(np.intp))
    middles = ordered[starts[places] + (counts[places] - 1) // 2]  # a value that occurs, in the middle of its group
    nearest = np.searchsorted((places[1:] + places[:-1]) / 2, np.arange(len(starts)))
    return middles, np.bincount(nearest, weights=counts, minlength=len(places))


def _make_curve(target: _Target, predictions: Floats, points: _Points, scale: float) -> EffectCurve:
    """Describe the predictions of all rows, an array of shape (n_points, n_rows)."""
    means = predictions.mean(axis=1)
    level = predictions - predictions.mean(axis=0) + predictions.mean()
    low, high = np.quantile(level, SPREAD, axis=1)
    if target.label is not None:  # rows that are certain leave no room
        low, high = np.maximum(low, 0.0), np.minimum(high, 1.0)
    if points.categories is None:
        direction = find_direction(means[points.numbers == points.numbers], scale)
    else:
        direction = "flat" if np.ptp(means) <= FLAT_SHARE * scale else "differs"
    return EffectCurve(target.label, target.quantity, means, low, high, direction)


def find_direction(means: Floats, scale: float) -> Direction:
    """Tell the direction of a curve; see the notes of ``compute_effects``.

    Parameters
    ----------
    means : float64 array of shape (n_points,)
        The curve, in the order of the values of a numeric feature.
    scale : float
        The standard deviation of the predictions.

    Examples
    --------
    >>> import numpy as np
    >>> [find_direction(np.array(means), 1.0) for means in ([1, 2, 1.9, 3], [3, 1], [1, 3, 1], [1, 3, 1, 3], [1, 1.1])]
    ['rises', 'falls', 'rises then falls', 'mixed', 'flat']
    """
    width = np.ptp(means) if len(means) else 0.0
    if width <= FLAT_SHARE * scale:
        return "flat"

    def rises(part: Floats) -> bool:
        """Check that no point is much below an earlier one."""
        return bool((np.maximum.accumulate(part) - part).max() <= WIGGLE_SHARE * width)

    peak, valley = np.argmax(means), np.argmin(means)
    if rises(means):
        return "rises"
    if rises(-means):
        return "falls"
    if rises(means[: peak + 1]) and rises(-means[peak:]):
        return "rises then falls"
    if rises(-means[: valley + 1]) and rises(means[valley:]):
        return "falls then rises"
    return "mixed"


def read_numbers(effect: FeatureEffect) -> Floats:
    """Read the values of a numeric feature for an axis: missing ones, and those too large to be drawn, are NaN."""
    numbers = np.array([np.nan if value is None else value for value in effect.values], dtype=np.float64)
    return np.where(np.abs(numbers) <= MAX_DRAWN, numbers, np.nan)


def choose_scale(effect: FeatureEffect) -> Literal["linear", "log", "sqrt"]:
    """Choose the scale of an axis for the values of a numeric feature: not linear if a few values are far above.

    Examples
    --------
    >>> import numpy as np
    >>> def choose(*values):
    ...     return choose_scale(FeatureEffect(0, "", "number", values, np.full(len(values), 1 / len(values)), ()))
    >>> choose(1, 2, 3, 4), choose(1, 2, 3, 400), choose(0, 0, 1, 2, 400)
    ('linear', 'log', 'sqrt')
    """
    numbers = read_numbers(effect)
    is_known = ~np.isnan(numbers)
    known, counted = numbers[is_known], np.cumsum(effect.shares[is_known])
    if len(known) < FEW_POINTS or known[0] < 0:
        return "linear"
    middle = known[min(np.searchsorted(counted, counted[-1] / 2), len(known) - 1)]
    if known[-1] - middle <= SKEWED * (middle - known[0]):
        return "linear"
    return "log" if known[0] > 0 else "sqrt"
