"""Out-of-patch predictions of gradient boosting, by rows that a model never learns from."""

from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost._arrays import Floats, Positions, Singles
from mpboost.outputs.calibration import compute_calibrated_loss
from mpboost.outputs.metrics import Metric, to_codes
from mpboost.tasks.contract import TaskState
from mpboost.tasks.losses import Loss, LossSums, Step, sum_weights
from mpboost.tasks.running_score import is_due

#: What only updates and scores need.
OF_SCORES = (
    *("raw", "losses", "_in_patch", "_in_patch_counts", "_labels", "_weights", "_of_models"),
    *("_metric", "_sums", "_to_score"),
)


class _RowsOfModel(NamedTuple):
    """The rows whose predictions change with a model: their place among all that are judged, and what they have."""

    place: slice
    rows: Positions
    labels: NDArray[Any]
    weights: Floats | None


class ReservedRows:
    """The rows that have an out-of-patch prediction, their predictions, score and loss.

    With ``leaf_refit`` the values of leaves come from all rows but the reserved ones, so only the reserved rows have an
    out-of-patch prediction. If several models take turns, each has its own reserved rows. Without ``leaf_refit`` every
    row can be predicted by the trees whose minipatch did not contain it. But that score is too low, since these trees
    correct what the trees with the row did. (For labels that are pure noise, 29 % of the predictions are right.)

    Parameters
    ----------
    loss : Loss
        Computes the score and the loss of predictions.
    labels : array of shape (n_samples,)
        Labels, as the ``Problem`` codes them.
    score_weights : float64 array of shape (n_samples,) or None
        Weights of rows in the score and in the loss.
    reserved : sequence of int64 arrays
        For each model, the rows that it never learns from.
    keeps_patches : bool
        Whether to sum the outputs of trees for their own minipatches, to predict all rows by the other trees.
    recalibrates : bool
        Whether the loss is that of recalibrated log odds: training has class weights, which shift them.
    metric : Metric or None
        Computes the score; None for that of the loss.

    Attributes
    ----------
    reserved : sequence of int64 arrays
        For each model, the rows that it never learns from.
    rows : int64 array
        The rows that have an out-of-patch prediction.
    raw : float64 array of shape (n_judged,) or (n_judged, n_outputs)
        Raw predictions for these rows, in the users' units.
    score, quality : float
        Score of these predictions, and what training stops by: the metric, or minus the mean loss. NaN if there are
        none.
    losses : list of float
        Their mean loss after each tree, in the engine's units.
    recalibrates : bool
        As the parameter.
    is_scored : bool
        Whether the last update computed all of these: some take long, and are computed every few trees.
    """

    def __init__(
        self,
        loss: Loss,
        labels: NDArray[Any],
        score_weights: Floats | None,
        reserved: Sequence[Positions],
        *,
        keeps_patches: bool,
        recalibrates: bool,
        metric: Metric | None,
    ):
        self._loss = loss
        self.recalibrates = recalibrates
        self._metric = metric
        self._n_updates = 0
        self.reserved = reserved
        ends = np.cumsum([0, *map(len, reserved)]).tolist()
        self.rows = np.arange(len(labels)) if keeps_patches else np.concatenate(reserved)
        self.raw = np.tile(loss.baseline, (len(self.rows), 1))
        shape: tuple[int, ...] = (len(labels), loss.n_outputs)
        if loss.n_outputs == 1:
            self.raw, shape = self.raw[:, 0], shape[:1]
        self._in_patch = np.zeros(shape, dtype=np.float32) if keeps_patches else None
        self._in_patch_counts = np.zeros(len(labels) if keeps_patches else 0, dtype=np.int32)
        self._labels = labels[self.rows]
        self._weights = None if score_weights is None else score_weights[self.rows]
        places = [slice(None)] if keeps_patches else [*map(slice, ends[:-1], ends[1:])]
        self._of_models = [*map(self._take, places)]
        self._total = sum_weights(self._weights, self._labels)
        self._offset = np.broadcast_to(np.asarray(loss.offset, dtype=np.float64), loss.start.shape).copy()
        # The losses of a model's rows change in its turn only: the sums of the others are kept.
        adds_up = len(self.rows) > 0 and metric is None and not recalibrates
        self._sums = [self._measure(some, self.raw[some.place]) for some in self._of_models] if adds_up else []
        self._to_score = loss.make_score(self._labels, self._weights) if adds_up else None
        self.score = self.quality = np.nan
        self.losses: list[float] = []
        self.is_scored = True

    def _take(self, place: slice) -> _RowsOfModel:
        weights = None if self._weights is None else self._weights[place]
        return _RowsOfModel(place, self.rows[place], self._labels[place], weights)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def state(self) -> TaskState:
        """Views of the raw predictions and, with ``keeps_patches``, of the number of trees with each row."""
        counts = {} if self._in_patch is None else {"in_patch_counts": self._in_patch_counts}
        return {"oop_raw": self.raw} | counts

    def count_learners(self, state: TaskState, n_learners: int, n_samples: int) -> NDArray[np.int32]:
        """Count, for each row, the trees of the model that reserved it, or those whose minipatch did not contain it."""
        if "in_patch_counts" in state:
            return np.asarray(n_learners - state["in_patch_counts"], dtype=np.int32)
        counts = np.zeros(n_samples, dtype=np.int32)
        for k, rows in enumerate(self.reserved):
            counts[rows] = len(range(k, n_learners, len(self.reserved)))
        return counts

    def without_scoring(self) -> Self:
        """Return the same rows, which can count learners, without what only updates and scores need."""
        bare = copy(self)
        vars(bare).update(dict.fromkeys(OF_SCORES))
        return bare

    def get_rows(self, model: int) -> Positions:
        """Return the rows whose raw predictions change with those of a model."""
        return self._of_models[model].rows

    def update(
        self, model: int, raw: Singles, judged: Positions, step: Step, rows: Positions, threads: _native.Threads
    ) -> None:
        """Update predictions, score and loss after a step of a model.

        ``judged`` are the places in ``raw`` of the model's raw predictions for ``get_rows(model)``; ``rows`` are those
        of the step's minipatch.
        """
        self._n_updates += 1
        self.is_scored = (self._metric is None and not self.recalibrates) or is_due(self._n_updates)
        if not len(self.rows):
            self.losses.append(np.nan)
            return
        out = self.raw[self._of_models[model].place]
        if self._in_patch is None:
            _native.to_users_units(raw, judged, self._offset, self._loss.scale, out)
        else:
            self._in_patch[rows] += step.values[step.leaves[rows]]
            self._in_patch_counts[rows] += 1
            out[:] = self._loss.offset + self._loss.scale * (raw[judged] - self._in_patch).astype(np.float64)
        if not self.is_scored:
            self.losses.append(self.losses[-1])
            return
        loss, self.score = self._judge(model, out, threads)
        self.losses.append(loss)
        self.quality = -loss if self._metric is None else self.score

    def _judge(self, model: int, raw: Floats, threads: _native.Threads) -> tuple[float, float]:
        """Compute the mean loss and the score after a step of a model, given its new predictions."""
        if self._to_score is None:
            judged = self.raw, self._labels, self._weights
            return self.compute_loss(*judged), self.compute_score(*judged)
        self._sums[model] = self._measure(self._of_models[model], raw, threads)
        loss = quality = 0.0
        for sums in self._sums:  # one after the other, since Python's sum depends on its version
            loss, quality = loss + sums.loss, quality + sums.quality
        return loss / self._total, self._to_score(quality)

    def _measure(self, some: _RowsOfModel, raw: Floats, threads: _native.Threads | None = None) -> LossSums:
        return self._loss.measure(raw, some.labels, some.weights, threads)

    def compute_metric(self, raw: Floats) -> float:
        """Compute the score of raw predictions for these rows."""
        return self.compute_score(raw, self._labels, self._weights)

    def compute_score(self, raw: Floats, labels: NDArray[Any], weights: Floats | None) -> float:
        """Compute the score of raw predictions in the users' units."""
        if self._metric is None:
            return self._loss.compute_score(raw, labels, weights)
        with np.errstate(over="ignore"):  # infinity is right: steps may have been far too large
            return self._metric.compute(self._loss.present(raw), labels, weights)

    def compute_loss(self, raw: Floats, labels: NDArray[Any], weights: Floats | None) -> float:
        """Compute the mean loss of raw predictions in the users' units, which training stops by without a metric."""
        if self.recalibrates:
            return compute_calibrated_loss(raw, to_codes(labels), weights)
        return self._loss.compute_loss(raw, labels, weights)
