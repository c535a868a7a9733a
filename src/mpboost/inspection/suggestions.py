"""Suggest which rows to label next: those that stand for many of which the model is unsure."""

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost._arrays import Floats
from mpboost._compat import Interval, validate_params
from mpboost._threads import make_threads
from mpboost.boosting.ensembles import TreeEnsemble
from mpboost.boosting.explaining import find_leaves
from mpboost.data.tables import Table
from mpboost.datasets.dataset import BinnedDataset
from mpboost.estimators.base import MinipatchBooster
from mpboost.estimators.inputs import check_table
from mpboost.inspection.checks import check_model
from mpboost.inspection.row_table import RowTable

#: Diverse rows are chosen among at most so many, or so many for each suggested row, if that is more.
MAX_CANDIDATES, CANDIDATES_PER_ROW = 5000, 10

#: Learners by which rows are compared, at most, evenly spaced over the model.
MAX_COMPARED_LEARNERS = 100

#: Parts of equal size that the outputs of other learners than trees are cut into, if these are numbers.
N_PARTS = 8

#: Rows whose learners are looked at one by one at a time, to limit memory.
BATCH_ROWS = 1 << 14

#: Candidates are drawn, and rows that are equally good put in order, at random, but always in the same way.
SEED = 0


class SuggestedRows(RowTable):
    """Rows to label next, the best first: a table of three columns, ``suggested.row`` or ``suggested["row"]``.

    It is also a dict of arrays of the same length. ``suggest_rows`` makes it.

    Attributes
    ----------
    row : intp array of shape (n_rows,)
        Positions in the pool.
    uncertainty : float64 array of shape (n_rows,)
        How unsure the model is. For classes 1 - (the probability of the likeliest class - that of the second), between
        0 and 1; for numbers the standard deviation of predictions, in units of the target.
    predicted : array of shape (n_rows,)
        What the model predicts.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mpboost import MPBoostClassifier, suggest_rows
    >>> X, y = load_iris(return_X_y=True)
    >>> suggested = suggest_rows(MPBoostClassifier(random_state=0).fit(X[::10], y[::10]), X, 3)
    >>> len(suggested), list(suggested.to_frame().columns)
    (3, ['row', 'uncertainty', 'predicted'])
    """

    _order = "the best to label first"


@validate_params(
    {
        "model": "no_validation",
        "X_pool": "no_validation",
        "n_rows": [Interval(Integral, 1, None, closed="left")],
        "diverse": ["boolean"],
    },
    prefer_skip_nested_validation=True,
)
def suggest_rows(model: Any, X_pool: Any, n_rows: int, *, diverse: bool = True) -> SuggestedRows:
    """Suggest which rows of a pool without labels to label next, the best first: active learning.

    These are rows that stand for many of which the model is unsure, and that differ from each other. Label them, add
    them to the training rows, fit again, and ask again with the rest of the pool. The result depends on the model and
    the pool alone.

    Parameters
    ----------
    model : estimator of mpboost
        A fitted or loaded model. A gradient model for numbers needs ``n_models_`` of 2 or more, which is the default
        for up to 5000 rows, and for up to 50 000 if the table is not wide.
    X_pool : array-like, data frame, sparse matrix or BinnedDataset of shape (n_pool, n_features)
        Rows whose labels are unknown, with the features that the model was fitted with.
    n_rows : int
        Number of rows to suggest, at most those of the pool. With ``diverse``, time grows with its square beyond 500
        rows: 100 rows take some tenths of a second, 1000 rows some seconds.
    diverse : bool, default=True
        Whether suggested rows should stand for many others, and differ from each other. False ranks by uncertainty
        alone, known as margin sampling, so that many of the rows may teach the same.

    Returns
    -------
    suggested : SuggestedRows
        A table; ``suggested.to_frame()`` is a data frame. Its columns are ``row``, positions in the pool;
        ``uncertainty``; ``predicted``.

    See Also
    --------
    find_label_issues : Finds labels that are probably wrong.

    Notes
    -----
    **Uncertainty.** Of classes it is 1 - (the probability of the likeliest class - that of the second). Of numbers it
    is the standard deviation of what single learners predict or, of a gradient model, the models that took turns.

    **Diversity.** A row teaches about the rows that are in the same leaf. In each tree, the leaf of a row has the sum
    of the uncertainties of its rows in the pool; divided by c (c + 1), with c - 1 the rows of this leaf that are
    suggested already, as the variance of a mean falls with each further row. The mean over the trees is the value of
    the row, for classes multiplied by its own uncertainty: a label that the model is sure of is no news. Rows are
    chosen one by one, each with the largest value. Other learners than trees have groups of rows for which they put
    out the same class, or a number in the same eighth. Of more than 5000 rows (or ten for each suggested row), so many
    are drawn as candidates, in proportion to their uncertainty; what each of them adds to the sums of its leaves is its
    uncertainty divided by the probability that it is drawn, so that sums are right on average.

    **Limits.** Rows are chosen for what this model does not know: training rows are no longer a sample of the pool. So
    the out-of-patch score and ``predict_interval`` tell about the hard rows, not about the pool: keep some rows
    that were drawn at random to test on. A class or a region that the model is sure about, but wrong, is not found:
    begin with rows drawn at random.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from mpboost import MPBoostClassifier, suggest_rows
    >>> X, y = load_digits(return_X_y=True)
    >>> known, pool, test = np.arange(30), np.arange(30, 1000), np.arange(1000, 1797)
    >>> for _ in range(6):
    ...     model = MPBoostClassifier(n_estimators=100, random_state=0).fit(X[known], y[known])
    ...     suggested = pool[suggest_rows(model, X[pool], 20).row]
    ...     known, pool = np.append(known, suggested), np.setdiff1d(pool, suggested)
    >>> active = model.fit(X[known], y[known]).score(X[test], y[test])
    >>> at_random = model.fit(X[:150], y[:150]).score(X[test], y[test])
    >>> len(known), bool(active > at_random + 0.03)
    (150, True)
    """
    check_model(model)
    table, threads = check_table(model, X_pool), make_threads(model.n_jobs)
    if n_rows > table.n_rows:
        raise ValueError(f"n_rows={n_rows} is more than the {table.n_rows} rows of X_pool: suggest at most these.")
    totals = model._ensemble.total(table, model._outputs, threads)
    if hasattr(model, "classes_"):
        judged = model._read_totals(totals, len(model._ensemble))
        uncertainty, predicted = _compare_best(model._to_probabilities(judged)), model._to_labels(judged)
    else:
        predicted = model._to_values(totals, len(model._ensemble))
        uncertainty = _compute_spread(model, table, predicted, threads)
    rng = np.random.default_rng(SEED)
    if diverse:
        candidates, masses = _draw(uncertainty, max(MAX_CANDIDATES, CANDIDATES_PER_ROW * n_rows), rng)
        traits = _list_traits(model, table.take_rows(candidates), threads)
        news = uncertainty if hasattr(model, "classes_") else np.ones(table.n_rows)
        rows = candidates[_choose_diverse(masses, news[candidates], traits, n_rows)]
    else:
        rows = np.lexsort((rng.permutation(table.n_rows), -uncertainty))[:n_rows]
    if isinstance(X_pool, BinnedDataset):
        X_pool.check_intact()
    return SuggestedRows(row=rows, uncertainty=uncertainty[rows], predicted=predicted[rows])


def _compare_best(probabilities: Floats) -> Floats:
    """Compute how near the second class comes to the likeliest: 1 minus the difference of their probabilities."""
    second, best = np.partition(probabilities, -2, axis=1)[:, -2:].T
    return np.asarray(1.0 - (best - second))


def _compute_spread(model: Any, table: Table, predicted: Floats, threads: _native.Threads) -> Floats:
    """Compute the standard deviation of the predictions of single learners, or of models that took turns."""
    ensemble, outputs = model._ensemble, model._outputs
    if not hasattr(model, "n_models_"):
        spread = np.empty(table.n_rows)
        for k, rows in enumerate(table.split_rows(BATCH_ROWS)):
            batch = slice(k * BATCH_ROWS, (k + 1) * BATCH_ROWS)
            squares = sum((out - predicted[batch]) ** 2 for out in ensemble.each(rows, outputs, threads))
            spread[batch] = np.sqrt(squares / len(ensemble))
        return spread
    n_models = model.n_models_
    if n_models == 1:
        raise ValueError(
            f"This {type(model).__name__} is a single model, which cannot disagree with itself: fit with n_models=5 "
            "and oop_size=0.2, or use MPBoostRegressor."
        )
    # Trees are divided by the number of models, so that all of them add up to the mean.
    parts = [ensemble.take(range(k, len(ensemble), n_models)) for k in range(n_models)]
    totals = (n_models * part.total(table, outputs, threads) for part in parts)
    return np.std([model._to_values(total, len(ensemble)) for total in totals], axis=0)


def _draw(uncertainty: Floats, n_drawn: int, rng: np.random.Generator) -> tuple[NDArray[np.intp], Floats]:
    """Draw rows in proportion to their uncertainty, without replacement: rows race, and the first ones win.

    Also compute the uncertainty that each drawn row stands for, its own and that of rows like it that were not drawn:
    its own, divided by the probability to be faster than the first loser. Its sum over any part of the pool is right on
    average (Horvitz and Thompson).
    """
    rates = np.maximum(uncertainty, 1e-300)
    times = rng.standard_exponential(len(rates)) / rates
    order = np.argsort(times)
    drawn = order[:n_drawn]
    if len(drawn) == len(order):
        return drawn, uncertainty[drawn]
    with np.errstate(over="ignore"):  # rows that are sure to win, if almost all others have no uncertainty
        return drawn, rates[drawn] / -np.expm1(-rates[drawn] * times[order[n_drawn]])


def _list_traits(model: MinipatchBooster, table: Table, threads: _native.Threads) -> NDArray[np.integer[Any]]:
    """List what learners make of each row, as codes, (n_rows, n_learners): leaves of trees, or else outputs."""
    ensemble = model._ensemble
    n_compared = min(len(ensemble), MAX_COMPARED_LEARNERS)
    compared = ensemble.take(np.arange(n_compared) * len(ensemble) // n_compared)
    if isinstance(compared, TreeEnsemble):
        return find_leaves(compared, table, threads)
    outputs = compared.each(table, model._outputs, threads)
    return np.column_stack([_cut(out) if out.dtype.kind == "f" else out for out in outputs])


def _cut(values: Floats) -> NDArray[np.intp]:
    """Cut numbers into parts of equal size."""
    return np.searchsorted(np.quantile(values, np.arange(1, N_PARTS) / N_PARTS), values)


def _choose_diverse(masses: Floats, news: Floats, traits: NDArray[np.integer[Any]], n_rows: int) -> NDArray[np.intp]:
    """Choose rows one by one: those that share many traits with unsure rows, but few with rows chosen before.

    Masses are the uncertainty that rows stand for. How much news the label of a row itself would be is a factor.
    """
    ends = np.cumsum(np.ptp(traits, axis=0) + 1, dtype=np.int64)
    groups = traits - traits.min(axis=0) + np.append(0, ends[:-1])  # each trait of each learner has a number
    unsure = np.bincount(groups.ravel(), np.repeat(masses, groups.shape[1]))
    counts = np.ones(len(unsure))
    chosen = np.empty(n_rows, dtype=np.intp)
    is_left = np.ones(len(masses), dtype=bool)
    for k in range(n_rows):
        values = news * np.mean((unsure / (counts * (counts + 1.0)))[groups], axis=1)
        chosen[k] = np.argmax(np.where(is_left, values, -1.0))
        is_left[chosen[k]] = False
        counts[groups[chosen[k]]] += 1.0
    return chosen
