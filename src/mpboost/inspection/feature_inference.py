"""Feature inference: what is lost without each feature, with confidence intervals and p-values."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from numbers import Real
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import ndtr
from sklearn.base import clone, is_regressor

from mpboost._arrays import Floats, Positions
from mpboost._compat import Interval, validate_params
from mpboost._threads import make_threads
from mpboost._wording import count, list_names, suggest_name
from mpboost.boosting.callbacks import Callback
from mpboost.boosting.run import BoostingRun
from mpboost.data.checks import TrainingData
from mpboost.data.tables import SparseTable
from mpboost.data.targets import spread_targets
from mpboost.datasets.dataset import BinnedDataset
from mpboost.estimators.base import MinipatchBooster
from mpboost.estimators.frames import make_frame
from mpboost.estimators.inputs import check_table, check_training_data
from mpboost.estimators.patch_base import PatchBooster
from mpboost.estimators.settings import draw_seed
from mpboost.inspection.copy_contrasts import Design, compute_contrasts
from mpboost.inspection.shown_tables import write_html_table, write_text_table
from mpboost.sampling.sizes import Size, count_patch_features, count_patch_rows

Measure = Literal["share of right votes", "R^2"]

#: Learners that must be on each side of a comparison, for a row on average.
MIN_LEARNERS = 30
#: Columns of a minipatch with max_features="auto": half as many as features, so that a quarter of the features are in
#: it, within these limits. With fewer, interactions are rarely seen; with more, a feature hides behind others.
MIN_COLUMNS, MAX_COLUMNS = 4, 100
#: How often the variance over rows counts. Rows that learners were trained on are judged by other learners, so what a
#: noise feature tells by chance is shared by all rows, which doubles the variance of its mean (it is a degenerate
#: U-statistic); for useful features 1 would do. Simulations, docs/inference.md, are nearest to the level in between.
ROWS_FACTOR = 1.5
#: Adjusted p-values below this are called clear.
LEVEL = 0.05
#: Features that the ``repr`` shows.
MAX_SHOWN = 20


@dataclass(frozen=True)
class FeatureInference:
    """What is lost without each feature, as returned by ``infer_features``: one entry per feature, or group.

    Attributes
    ----------
    features : tuple of str
        Names of the features, or "feature 0" and so on; names of the groups if there are groups.
    importance : float64 array of shape (n_features,)
        What the ensemble loses if a shuffled copy takes the place of the feature: in the share of right votes for
        classes, in R^2 for numbers. Of a feature that tells nothing it is 0, up to chance, so it can be negative.
    standard_error : float64 array of shape (n_features,)
        Standard error of the importance: because rows are few, and because learners are few.
    low, high : float64 array of shape (n_features,)
        Confidence interval of the importance, by the normal distribution.
    p_value : float64 array of shape (n_features,)
        One-sided: how likely such an importance, or a greater one, is for a feature that tells nothing.
    adjusted_p_value : float64 array of shape (n_features,)
        The same by Holm's method, for all features at once: if those below 0.05 are called useful, the chance that
        there is any useless one among them is about 5 %, if useless means independent of the target and of all other
        features.
    coverage : float
        Chance that an interval is meant to have to cover.
    measure : {"share of right votes", "R^2"}
        What the importance is a loss of.
    n_learners, n_samples : int
        Number of learners and of rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mpboost import MPBoostClassifier, infer_features
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> found = infer_features(MPBoostClassifier(n_estimators=500, random_state=0), X, y)
    >>> sorted(found.features[k] for k in found.rank()[:2])
    ['petal length (cm)', 'petal width (cm)']
    """

    features: tuple[str, ...]
    importance: Floats
    standard_error: Floats
    low: Floats
    high: Floats
    p_value: Floats
    adjusted_p_value: Floats
    coverage: float
    measure: Measure
    n_learners: int
    n_samples: int

    @property
    def loss(self) -> str:
        """What the importance is, in words."""
        return f"loss in {'' if self.measure == 'R^2' else 'the '}{self.measure}"

    def __len__(self) -> int:
        """Return the number of features."""
        return len(self.features)

    def rank(self) -> NDArray[np.intp]:
        """Rank the features: the smallest p-value first, ties by importance.

        Returns
        -------
        order : int array of shape (n_features,)
            Positions of the features.
        """
        return np.lexsort((-self.importance, self.p_value))

    def to_frame(self) -> Any:
        """Make a data frame: of pandas, or of polars if pandas is not installed.

        Returns
        -------
        frame : pandas.DataFrame or polars.DataFrame
            A row for each feature, in the order of the table.
        """
        names = ("importance", "standard_error", "low", "high", "p_value", "adjusted_p_value")
        columns = {"feature": list(self.features), **{name: getattr(self, name) for name in names}}
        return make_frame(columns, "to_frame")

    def __repr__(self) -> str:
        return self.__str__()

    def __str__(self) -> str:
        return "\n".join([self._word_heading(), *write_text_table(*self._show(), align_first=str.ljust)])

    def _repr_html_(self) -> str:
        """Return a table for notebooks."""
        return f"<p>{escape(self._word_heading())}</p>{write_html_table(*self._show())}"

    def _word_heading(self) -> str:
        return (
            f"FeatureInference: {self.loss} without each feature; {count(self.n_samples, 'row')}, "
            f"{count(self.n_learners, 'learner')}"
        )

    def _show(self) -> tuple[list[str], list[list[str]], int]:
        """Return the headings, the cells of the first features, and the number of the others."""
        headings = ["feature", "importance", f"{100 * self.coverage:g} % interval", "p-value", "adjusted"]
        rows = [
            [
                self.features[k],
                f"{self.importance[k]:.4f}",
                f"{self.low[k]:.4f} to {self.high[k]:.4f}",
                format_p_value(self.p_value[k]),
                format_p_value(self.adjusted_p_value[k]),
            ]
            for k in self.rank()[:MAX_SHOWN].tolist()
        ]
        return headings, rows, len(self) - MAX_SHOWN


@validate_params(
    {
        "estimator": "no_validation",
        "X": "no_validation",
        "y": "no_validation",
        "groups": [dict, None],
        "coverage": [Interval(Real, 0, 1, closed="neither")],
    },
    prefer_skip_nested_validation=True,
)
def infer_features(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    groups: Mapping[str, Sequence[Any]] | None = None,
    coverage: float = 0.95,
) -> FeatureInference:
    """Test for each feature whether it helps, and estimate how much is lost without it, from one fit.

    Each feature gets a copy whose rows are shuffled, so that it tells nothing. One ensemble is fitted to the table and
    the copies. For each row and feature, learners that saw the feature but not its copy are compared with learners that
    saw the copy but not the feature; learners that saw the row do not count. The mean over all rows is the importance.

    Parameters
    ----------
    estimator : MPBoostClassifier or MPBoostRegressor
        Its parameters are used, except those listed in the notes. It is not changed, and need not be fitted. The more
        ``n_estimators``, the narrower the intervals.
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        The table: numbers and categories, with or without missing values.
    y : array-like of shape (n_samples,)
        Labels of classes, or numbers.
    groups : dict of str to list of str or int, default=None
        Groups of features to test together, by names or columns; None tests every feature by itself. Features that say
        the same share their importance, and may all look weak: put them into a group. Features may be in no group or in
        several.
    coverage : float, default=0.95
        Chance of the confidence intervals to cover.

    Returns
    -------
    inference : FeatureInference
        Importance, interval and p-values of each feature, or group.

    Notes
    -----
    **Set-up.** For learners that can be compared, rows and features are drawn uniformly
    (``adaptive_observations=False``, ``adaptive_features=False``), the fit is not stopped by a score
    (``stopping=None``), and there are no ``callbacks``. So ``class_weight`` and rules of your own for rows or features
    (``weighting``, ``importance``, ``feature_update``) are not used. "auto" takes the first size that a fit would try
    for rows, and a quarter of the features, but at least about 2 and at most about 50, and as many copies. Gradient
    boosting is refused, because its trees depend on each other.

    **The null hypothesis** is that the feature is independent of the target and of all other features together. Then it
    and its copy are exchangeable, and the test holds, whatever the learners are: docs/inference.md has simulations. A
    feature that tells nothing of its own but goes along with a useful one is not null in this sense. It is found
    useful, because it helps learners that do not have the other.

    **Standard errors** add up two variances: that of the mean over learners, and that of the mean over rows. The latter
    counts 1.5 times, because learners that judge a row were trained on the other rows. The intervals are about the loss
    of an ensemble like this one, with minipatches of these sizes.

    References
    ----------
    L. Gan, L. Zheng and G. I. Allen, "Model-Agnostic Confidence Intervals for Feature Importance: A Fast and Powerful
    Approach Using Minipatch Ensembles", 2022.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from mpboost import MPBoostRegressor, infer_features
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> found = infer_features(MPBoostRegressor(n_estimators=500, random_state=0), X, y)
    >>> [found.features[k] for k in found.rank()[:2]]
    ['bmi', 's5']
    >>> blood = infer_features(
    ...     MPBoostRegressor(n_estimators=500, random_state=0),
    ...     X,
    ...     y,
    ...     groups={"blood": ["s1", "s2", "s3", "s4", "s5", "s6"], "sex": ["sex"]},
    ... )
    >>> bool(blood.p_value[0] < 0.001)
    True
    """
    _check_estimator(estimator)
    if isinstance(X, BinnedDataset):
        raise TypeError("infer_features needs the table itself, not a BinnedDataset: shuffled copies are added to it.")
    estimator._validate_params()
    data = check_training_data(
        estimator, X, y, None, categorical_features=estimator.categorical_features, max_bins=estimator.max_bins
    )
    targets = spread_targets(data.y)
    if is_regressor(estimator) and (targets == targets[0]).all():
        raise ValueError("All numbers in y are the same: there is nothing that features could tell.")
    units = _read_groups(groups, _name_features(data))
    seed = draw_seed(estimator.random_state)
    table = _add_copies(data, seed)
    recorder = _PatchRecorder()
    model = _set_up(estimator, data, recorder, seed)
    with warnings.catch_warnings():  # a model that is no better than a constant is what the p-values are for
        warnings.filterwarnings("ignore", "This model is no better than a constant", UserWarning)
        model.fit(table, y)
    design = recorder.make_design(units, data)
    _check_design(design, list(units), model)
    contrasts = compute_contrasts(
        design,
        model._ensemble,
        check_table(model, table),
        model._targets,
        model._outputs,
        make_threads(model.n_jobs),
        getattr(model, "_colours", None),
    )
    of_rows = np.maximum(contrasts.of_rows - contrasts.of_cells, 0.0)
    errors = np.sqrt(ROWS_FACTOR * of_rows + contrasts.of_learners)
    margin = NormalDist().inv_cdf(0.5 + coverage / 2) * errors
    # An error of 0 means that all learners said the same, as with two rows: that is no evidence.
    p_values = np.where(errors > 0, ndtr(-contrasts.means / np.where(errors > 0, errors, 1.0)), 1.0)
    return FeatureInference(
        tuple(units),
        contrasts.means,
        errors,
        contrasts.means - margin,
        contrasts.means + margin,
        p_values,
        adjust_p_values(p_values),
        float(coverage),
        "share of right votes" if hasattr(model, "classes_") else "R^2",
        design.n_learners,
        data.table.n_rows,
    )


def adjust_p_values(p_values: Floats) -> Floats:
    """Adjust p-values for their number by Holm's method.

    Examples
    --------
    >>> import numpy as np
    >>> adjust_p_values(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.06, 0.06])
    """
    order = np.argsort(p_values, kind="stable")
    steps = p_values[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def format_p_value(value: float) -> str:
    """Format a p-value.

    Examples
    --------
    >>> format_p_value(0.0312), format_p_value(1e-9)
    ('0.0312', '< 0.0001')
    """
    return "< 0.0001" if value < 1e-4 else f"{value:.4f}"


class _PatchRecorder(Callback):
    """Records the rows and features of all minipatches."""

    def on_fit_begin(self, run: BoostingRun) -> None:
        self._rows: list[NDArray[np.int32]] = []
        self._columns: list[Positions] = []

    def on_iteration_end(self, run: BoostingRun) -> bool | None:
        self._rows.append(run.rows.astype(np.int32))
        self._columns.append(run.features.copy())
        return None

    def make_design(self, units: Mapping[str, Positions], data: TrainingData) -> Design:
        """Tell which learners saw which rows, and which features or copies, whose columns follow all features."""
        n_features = data.known["n_features_in_"]
        by_column = _mark(self._columns, 2 * n_features).T.tocsr()
        members = _mark(list(units.values()), n_features)
        return Design(
            has_feature=(members @ by_column[:n_features]).astype(bool).astype(np.int32),
            has_copy=(members @ by_column[n_features:]).astype(bool).astype(np.int32),
            has_row=_mark(self._rows, data.table.n_rows).tocsc(),
        )


def _mark(lists: Sequence[NDArray[Any]], n_columns: int) -> sparse.csr_array:
    """Make a sparse array with a row for each list of columns, 1 in these columns."""
    ends = np.cumsum([0, *map(len, lists)])
    return sparse.csr_array((np.ones(ends[-1], dtype=np.int32), np.concatenate(lists), ends), (len(lists), n_columns))


def _check_estimator(estimator: Any) -> None:
    if isinstance(estimator, PatchBooster):
        return
    if isinstance(estimator, MinipatchBooster):
        instead = "MPBoostClassifier" if hasattr(estimator, "predict_proba") else "MPBoostRegressor"
        raise TypeError(
            f"{type(estimator).__name__} cannot be used for feature inference: each of its trees depends on those "
            f"before it, so there are none without a feature. Pass an {instead}()."
        )
    raise TypeError(
        f"estimator must be an MPBoostClassifier or MPBoostRegressor, not {type(estimator).__name__}. For a pipeline, "
        "pass the estimator inside it, and the data after all earlier steps."
    )


def _name_features(data: TrainingData) -> list[str]:
    names = data.known["feature_names_in_"]
    return [f"feature {k}" for k in range(data.known["n_features_in_"])] if names is None else list(map(str, names))


def _read_groups(groups: Mapping[str, Sequence[Any]] | None, names: list[str]) -> dict[str, Positions]:
    """Return the columns of each group; without groups, of each feature."""
    if groups is None:
        return {name: np.array([k]) for k, name in enumerate(names)}
    if not groups:
        raise ValueError("groups is empty: pass a dict of names to lists of features, or None for single features.")
    units = {str(name): np.unique(_read_group(name, members, names)) for name, members in groups.items()}
    if len(units) < len(groups):
        raise ValueError("Two groups have the same name.")
    return units


def _read_group(group: Any, members: Any, names: list[str]) -> list[int]:
    listed = [members] if isinstance(members, str | int | np.integer) else list(members)
    if not listed:
        raise ValueError(f"Group {group!r} has no features: list names or columns.")
    columns = []
    for member in listed:
        if isinstance(member, str):
            if member not in names:
                raise ValueError(
                    f"Group {group!r} has the feature {member!r}, which X does not have{suggest_name(member, names)}"
                )
            columns.append(names.index(member))
        elif isinstance(member, int | np.integer) and not isinstance(member, bool):
            if not 0 <= member < len(names):
                raise ValueError(f"Group {group!r} has the column {member}; columns are from 0 to {len(names) - 1}.")
            columns.append(int(member))
        else:
            raise TypeError(f"Group {group!r} must list names or columns of features, not {member!r}.")
    return columns


def _add_copies(data: TrainingData, seed: int) -> Any:
    """Put shuffled copies beside the features: all in the same order, so that groups stay together."""
    order = _pair_rows(data.table.n_rows, seed)
    if isinstance(data.table, SparseTable):
        matrix = sparse.csr_array(data.table.matrix)
        return sparse.hstack([matrix, matrix[order]], format="csr")
    array = data.table.to_array()
    return np.hstack([array, array[order]])


def _pair_rows(n_rows: int, seed: int) -> Positions:
    """Draw an order in which rows change places in pairs; with an odd number, one stays.

    Such an order is its own inverse. So if a feature and its copy change places, the feature is a shuffled copy of the
    copy by the same order, and the two are exchangeable beside the copies of all others.
    """
    drawn = np.random.default_rng(seed).permutation(n_rows)
    first, second = drawn[: n_rows // 2], drawn[n_rows // 2 : n_rows // 2 * 2]
    order = np.arange(n_rows)
    order[first], order[second] = second, first
    return order


def _set_up(estimator: PatchBooster, data: TrainingData, recorder: Callback, seed: int) -> PatchBooster:
    """Clone an estimator, with parameters that make its learners comparable."""
    n_samples, n_features = data.table.n_rows, data.known["n_features_in_"]
    is_categorical = data.known["is_categorical_"]
    n_rows = count_patch_rows(estimator.max_samples, n_samples, estimator._auto_sizes.rows)
    if n_rows == n_samples:
        raise ValueError(
            f"max_samples={estimator.max_samples!r} puts all rows into every minipatch, so there are no learners that "
            "did not see a row: choose a smaller number, or 'auto'."
        )
    return clone(estimator).set_params(
        **_list_replaced(estimator),
        max_samples=n_rows,
        max_features=_count_columns(estimator.max_features, n_features),
        categorical_features=None if is_categorical is None else np.tile(is_categorical, 2),
        adaptive_observations=False,
        adaptive_features=False,
        stopping=None,
        warm_start=False,
        callbacks=[recorder],
        random_state=seed % (1 << 32),
    )


def _list_replaced(estimator: PatchBooster) -> dict[str, Any]:
    """List parameters that uniform draws have no use for, with their defaults: class weights, and rules of the user.

    Class weights would change which rows are drawn, and a weight of 0 leaves rows out. Rules about features would see
    the columns of copies.
    """
    plain = type(estimator)()
    may_be_rules = "weighting", "importance", "feature_update"
    replaced = [name for name in may_be_rules if not isinstance(getattr(estimator, name), str)]
    if hasattr(estimator, "class_weight"):
        replaced.append("class_weight")
    return {name: getattr(plain, name) for name in replaced}


def _count_columns(max_features: Size, n_features: int) -> int:
    """Compute how many columns, features and copies, a minipatch has: as many copies as features on average."""
    if max_features == "auto":
        return max(min(n_features, MIN_COLUMNS), min(n_features // 2, MAX_COLUMNS))
    n_drawn = count_patch_features(max_features, n_features)
    if n_drawn == n_features:
        raise ValueError(
            f"max_features={max_features!r} puts all features into every minipatch, so there are no learners without a "
            "feature: choose a smaller number, or 'auto'."
        )
    return 2 * n_drawn


def _check_design(design: Design, names: list[str], model: PatchBooster) -> None:
    """Raise an error if there are too few learners to compare for some feature."""
    counts = design.count_comparable()
    few = np.flatnonzero(counts < MIN_LEARNERS)
    if not len(few):
        return
    fewest = counts.min()
    advice = "put fewer features into a group, or choose a smaller max_features"
    if fewest > 0:
        needed = -(-int(1.2 * design.n_learners * MIN_LEARNERS / fewest) // 100) * 100
        advice = f"choose n_estimators={needed} or more" if needed < 100 * design.n_learners else advice
    raise ValueError(
        f"Too few learners had one of a feature and its shuffled copy without the other, {fewest:.0f} in place of "
        f"{MIN_LEARNERS} or more, for {list_names(names[k] for k in few)}. The ensemble has "
        f"{count(design.n_learners, 'learner')} with {count(model.max_features_, 'column')} each: {advice}."
    )
