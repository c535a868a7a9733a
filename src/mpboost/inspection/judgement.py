"""Predictions of rows by learners that never saw them: out-of-patch, or of new rows; for all that judges a model."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpboost.data.checks import check_targets
from mpboost.estimators.base import MinipatchBooster
from mpboost.estimators.inputs import complete_targets
from mpboost.estimators.out_of_patch import find_judged_rows, present, read_outputs
from mpboost.estimators.predictions import ClassPredictions
from mpboost.outputs.difficulty import judge_residuals, judge_shares, judge_votes
from mpboost.outputs.predictions import Predictions
from mpboost.outputs.statistics import pick_rows

#: Rows that are judged at a time, so that they stay in the cache.
BATCH_ROWS = 1 << 14

#: A table of numbers is taken for the training table with changes if at most this share of the targets differs.
MAX_CHANGED = 0.1


@dataclass(frozen=True)
class Judgement:
    """Rows with their targets, and the predictions of learners that were not trained on them.

    Attributes
    ----------
    rows : int64 array of shape (n_judged,)
        Positions in the table, ascending.
    given, predicted : arrays of shape (n_judged,)
        Codes of classes, or numbers.
    n_learners : int32 array of shape (n_judged,)
        Number of learners that judged each row; at least 1.
    difficulty : float64 array of shape (n_judged,)
        How hard each row is: from 0 to 1.
    weights : float64 array of shape (n_judged,) or None
        Weights of the rows, if they are known.
    is_out_of_patch : bool
        Whether these are training rows, judged out of patch; otherwise the whole model judged them.
    is_training : bool
        Whether these are the training rows: if they are not judged out of patch, all scores are too good.
    take : callable
        Makes the predictions of some of the rows, given their places among the judged rows.
    """

    rows: NDArray[np.int64]
    given: NDArray[Any]
    predicted: NDArray[Any]
    n_learners: NDArray[np.int32]
    difficulty: NDArray[np.float64]
    weights: NDArray[np.float64] | None
    is_out_of_patch: bool
    is_training: bool
    take: Callable[[NDArray[np.int64]], Predictions] = field(repr=False)

    @property
    def is_right(self) -> NDArray[np.bool_]:
        """Whether the predicted class is the given class."""
        return self.given == self.predicted

    @property
    def source(self) -> str:
        """Which rows these are, for people."""
        return "out-of-patch" if self.is_out_of_patch else "training rows" if self.is_training else "new rows"

    def sample(self, n_most: int) -> "Judgement":
        """Return the judgement of at most so many rows: all of them, or a sample, always the same."""
        n_rows = len(self.rows)
        return self if n_rows <= n_most else self.select(pick_rows(n_rows, max(1, n_most)))

    def select(self, places: NDArray[np.int64]) -> "Judgement":
        """Return the judgement of some of the rows, given their places among the judged rows."""
        names = ("rows", "given", "predicted", "n_learners", "difficulty")
        chosen = {name: getattr(self, name)[places] for name in names}
        weights = None if self.weights is None else self.weights[places]
        return replace(self, **chosen, weights=weights, take=lambda inner: self.take(places[inner]))


def judge(model: MinipatchBooster) -> Judgement | None:
    """Return the out-of-patch predictions of a fitted model; None if it has none.

    Ties between classes are broken as in ``predict``. Rows that no learner can judge are left out.
    """
    rows = np.flatnonzero(getattr(model, "oop_counts_", ()))  # models of very many rows do not have them
    if not len(rows):
        return None

    def take(places: NDArray[np.int64]) -> Predictions:
        return present(model, read_outputs(model, rows[places]))

    given = model._targets[rows]
    return Judgement(
        rows,
        given.astype(np.int64) if hasattr(model, "classes_") else given,
        _predict_in_batches(take, len(rows)),
        model.oop_counts_[rows],
        model.observation_difficulty_[rows],
        None,
        True,
        True,
        take,
    )


def require_judgement(model: MinipatchBooster) -> Judgement:
    """Return the out-of-patch predictions of a model; raise an error if it has none."""
    find_judged_rows(model)
    judgement = judge(model)
    assert judgement is not None
    return judgement


def judge_table(model: MinipatchBooster, X: Any, y: Any, sample_weight: Any = None) -> Judgement:
    """Predict the rows of a table once, and compare them with their targets.

    Rows of weight 0 are left out; of the training table, also those that had weight 0 in the fit.
    """
    y, weights = check_targets(model, *complete_targets(X, y, sample_weight))
    given = _look_up_codes(model, y)
    # One pass over the trees: classes, decisions and probabilities all come from what it adds up to.
    outputs: NDArray[Any]
    outputs = model._judge(X) if isinstance(model, ClassPredictions) else model.predict(X)
    if len(outputs) != len(given):
        raise ValueError(f"X has {len(outputs)} rows, but y has {len(given)}.")
    is_training = _are_training_rows(model, given, outputs)
    counts = np.ones(len(given), dtype=bool) if weights is None else weights > 0
    if is_training:
        counts &= find_trained_rows(model)
    rows = np.flatnonzero(counts)
    _refuse_unknown(model, y[rows], given[rows])
    given, outputs = given[rows], outputs[rows]

    def take(places: NDArray[np.int64]) -> Predictions:
        return present(model, outputs[places])

    predicted = _predict_in_batches(take, len(rows))
    return Judgement(
        rows,
        given,
        predicted,
        np.full(len(rows), model.best_iteration_, dtype=np.int32),
        _compute_difficulty(model, given, outputs, take),
        None if weights is None else weights[rows],
        False,
        is_training,
        take,
    )


def find_trained_rows(model: MinipatchBooster) -> NDArray[np.bool_]:
    """Return which rows of the training table counted in the fit: those whose weight was not 0."""
    # The probability of an easy row may be too small for a float, that is, 0.
    return (model.observation_probabilities_ > 0) | ~np.isnan(model.observation_difficulty_)


def choose_judgement(model: MinipatchBooster, X: Any, y: Any) -> Judgement:
    """Judge a table, or, without one, the training rows out of patch; raise an error if neither is possible."""
    if X is None and y is None:
        return require_judgement(model)
    if X is None or y is None:
        raise ValueError("Pass both X and y, or neither.")
    return judge_table(model, X, y)


def encode_targets(model: MinipatchBooster, y: NDArray[Any]) -> NDArray[Any]:
    """Turn labels into codes of classes; numbers are returned unchanged. Unknown labels are an error."""
    codes = _look_up_codes(model, y)
    _refuse_unknown(model, y, codes)
    return codes


def _look_up_codes(model: MinipatchBooster, y: NDArray[Any]) -> NDArray[Any]:
    """Turn labels into codes of classes, -1 for unknown ones; numbers are returned unchanged."""
    if not hasattr(model, "classes_"):
        return y
    known = {label: code for code, label in enumerate(model.classes_.tolist())}
    try:
        distinct, inverse = np.unique(y, return_inverse=True)
    except TypeError:  # numbers beside text cannot be sorted
        distinct, inverse = y, np.arange(len(y))
    return np.array([known.get(label, -1) for label in distinct.tolist()], dtype=np.int64)[inverse]


def _refuse_unknown(model: MinipatchBooster, y: NDArray[Any], codes: NDArray[Any]) -> None:
    if not hasattr(model, "classes_") or not (codes < 0).any():
        return
    unknown = list(dict.fromkeys(y[codes < 0].tolist()))
    raise ValueError(
        f"y has labels that the model does not know: {_list_some(unknown)}. It was trained on "
        f"{_list_some(model.classes_.tolist())}."
    )


def _list_some(labels: list[Any]) -> str:
    return ", ".join(map(repr, labels[:5])) + (", ..." if len(labels) > 5 else "")


def compute_probabilities(
    model: MinipatchBooster, judgement: Judgement, max_probabilities: int | None = None
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Compute the out-of-patch probabilities of the classes, for all judged rows or for a random sample of them.

    Parameters
    ----------
    model : fitted classifier
        The model that made the judgement.
    judgement : Judgement
        The rows.
    max_probabilities : int, default=None
        Maximum of rows times classes: if there are more, a sample of rows is drawn, always the same. None takes all.

    Returns
    -------
    places : int64 array of shape (n_rows,)
        Positions among the judged rows, ascending.
    probabilities : float64 array of shape (n_rows, n_classes)
        The probabilities of the classes.
    """
    places, n_classes = np.arange(len(judgement.rows)), len(model.classes_)
    if max_probabilities is not None and len(places) > (n_most := max(1, max_probabilities // n_classes)):
        places = np.sort(np.random.default_rng(0).choice(places, n_most, replace=False))
    return places, judgement.take(places).estimate()


def compute_own_and_predicted(
    model: MinipatchBooster, judgement: Judgement
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute the out-of-patch probabilities of the given and of the predicted class of each judged row."""
    own, predicted = np.empty(len(judgement.rows)), np.empty(len(judgement.rows))
    for start in range(0, len(own), BATCH_ROWS):
        batch = slice(start, start + BATCH_ROWS)
        probabilities = judgement.take(np.arange(len(own))[batch]).estimate()
        for out, codes in ((own, judgement.given), (predicted, judgement.predicted)):
            out[batch] = np.take_along_axis(probabilities, codes[batch, None], axis=1)[:, 0]
    return own, predicted


def decode_targets(model: MinipatchBooster, targets: NDArray[Any]) -> NDArray[Any]:
    """Turn codes of classes into labels; numbers are returned unchanged."""
    decoded: NDArray[Any] = model.classes_[targets] if hasattr(model, "classes_") else targets
    return decoded


def _predict_in_batches(take: Callable[[NDArray[np.int64]], Predictions], n_rows: int) -> NDArray[Any]:
    places = np.arange(n_rows)
    batches = [take(places[start : start + BATCH_ROWS]).predict() for start in range(0, n_rows, BATCH_ROWS)]
    return np.concatenate(batches)


def _compute_difficulty(
    model: MinipatchBooster,
    given: NDArray[Any],
    outputs: NDArray[Any],
    take: Callable[[NDArray[np.int64]], Predictions],
) -> NDArray[np.float64]:
    if not hasattr(model, "classes_"):
        return judge_residuals(given - outputs)
    codes = given.astype(np.uint16)
    if hasattr(model, "_ranks"):
        return judge_votes(outputs, codes)
    places = np.arange(len(codes))
    batches = [places[start : start + BATCH_ROWS] for start in range(0, len(codes), BATCH_ROWS)]
    return np.concatenate([judge_shares(take(batch).estimate(), codes[batch]) for batch in batches])


def _are_training_rows(model: MinipatchBooster, given: NDArray[Any], outputs: NDArray[Any]) -> bool:
    """Check whether rows are those that the model was trained on, as far as it can tell; warn if only targets differ.

    The targets tell it, in their order. Other rows may have the same targets: for models that vote, the votes must
    agree as well.
    """
    if not hasattr(model, "_targets"):  # of very many rows they are not kept
        return False
    counts = find_trained_rows(model)  # the targets of others are not known
    if len(given) != len(counts):
        return False
    n_changed, n_all = np.count_nonzero(given[counts] != model._targets[counts]), np.count_nonzero(counts)
    if hasattr(model, "_ranks"):
        # The whole model gives a training row at least the votes that it has out of patch.
        rows = np.flatnonzero(model.oop_counts_)
        is_known = bool((outputs[rows] >= read_outputs(model, rows)).all())
        is_known &= len(rows) > 0 or n_changed == 0
    else:
        is_known = bool(n_changed <= (0 if hasattr(model, "classes_") else MAX_CHANGED * n_all))
    if is_known and n_changed:
        warnings.warn(
            f"This seems to be the training table, but {n_changed} of {n_all} targets differ from training. It counts "
            "as new data; scores of rows that the model was trained on are too good. Fit the model again.",
            stacklevel=4,
        )
    return is_known and not n_changed
