"""Ways to test whether features help: each returns a p-value per feature."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.inspection import permutation_importance
from sklearn.model_selection import KFold

from mpboost import BoostingRun, Callback, MPBoostClassifier, MPBoostRegressor, infer_features

N_LEARNERS = 2000
#: Cross-fitting: folds, shuffles of each feature, and learners of each model.
N_FOLDS, N_REPEATS, N_FOLD_LEARNERS = 5, 3, 200

Test = Callable[[NDArray[Any], NDArray[Any], int], NDArray[np.float64]]


def compare_with_copies(X: NDArray[Any], y: NDArray[Any], seed: int) -> NDArray[np.float64]:
    """Compare learners with a feature with learners with its shuffled copy."""
    return infer_features(_make(y, n_estimators=N_LEARNERS, random_state=seed), X, y).p_value


def leave_out(X: NDArray[Any], y: NDArray[Any], seed: int) -> NDArray[np.float64]:
    """Compare all learners with those without the feature, as in LOCO-MP, without its remedy for vanishing variances.

    There are no copies, and the standard errors are those of rows only.
    """
    recorder, n_features = _Recorder(), X.shape[1]
    model = _make(
        y,
        n_estimators=N_LEARNERS,
        random_state=seed,
        max_samples=min(int(8 * len(X) ** 0.5), int(0.3 * len(X))),
        max_features=n_features // 4,
        adaptive_observations=False,
        adaptive_features=False,
        stopping=None,
        callbacks=[recorder],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(X, y)
    unseen, lacks = np.ones((N_LEARNERS, len(X))), np.ones((n_features, N_LEARNERS))
    for t, (rows, features) in enumerate(recorder.patches):
        unseen[t, rows], lacks[features, t] = 0.0, 0.0
    is_number = isinstance(model, MPBoostRegressor)
    found = _list_outputs(model, X)
    errors = found - y if is_number else (found != y).astype(float)
    ours = (unseen * errors).sum(axis=0) / unseen.sum(axis=0)
    without = (lacks @ (unseen * errors)) / (lacks @ unseen)
    losses = without**2 - ours**2 if is_number else without - ours
    return stats.norm.sf(losses.mean(axis=1) / (losses.std(axis=1, ddof=1) / np.sqrt(len(X))))


def cross_fit(X: NDArray[Any], y: NDArray[Any], seed: int) -> NDArray[np.float64]:
    """Shuffle features of held-out rows (scikit-learn's permutation importance); a t-test over five folds."""
    drops = []
    for train, held_out in KFold(N_FOLDS, shuffle=True, random_state=seed).split(X):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model = _make(y, n_estimators=N_FOLD_LEARNERS, stopping=None, random_state=seed).fit(X[train], y[train])
        found = permutation_importance(model, X[held_out], y[held_out], n_repeats=N_REPEATS, random_state=seed)
        drops.append(found.importances_mean)
    means, errors = np.mean(drops, axis=0), np.std(drops, axis=0, ddof=1) / np.sqrt(N_FOLDS)
    return np.where(errors > 0, stats.t.sf(means / np.where(errors > 0, errors, 1.0), N_FOLDS - 1), 1.0)


METHODS: dict[str, Test] = {
    "infer_features": compare_with_copies,
    "plain LOCO-MP": leave_out,
    "cross-fitted permutation": cross_fit,
}


def _make(y: NDArray[Any], **params: Any) -> Any:
    return (MPBoostRegressor if y.dtype.kind == "f" else MPBoostClassifier)(**params)


class _Recorder(Callback):
    """Records minipatches."""

    def __init__(self) -> None:
        self.patches: list[tuple[NDArray[Any], NDArray[Any]]] = []

    def on_iteration_end(self, run: BoostingRun) -> bool | None:
        """Record the last one."""
        self.patches.append((run.rows, run.features))
        return None


def _list_outputs(model: Any, X: NDArray[Any]) -> NDArray[Any]:
    """List what each learner says: differences of what the first t and t - 1 add up to."""
    if isinstance(model, MPBoostRegressor):
        totals = np.array([t * mean for t, mean in enumerate(model.staged_predict(X), 1)])
        return np.diff(totals, axis=0, prepend=0.0)
    totals = np.array(list(model.staged_decision_function(X))) / model.learning_rate_
    return (np.diff(totals, axis=0, prepend=0.0) > 0).astype(int)
