"""Gradient boosting as a task: raw predictions, their derivatives, and the rows that no tree learns from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost.outputs.kinds import Outputs, Steps
from mpboost.sampling.observations import Draw
from mpboost.tasks.losses import Floats, Loss, Position, Singles, SoftmaxLoss, Step, find_mean
from mpboost.tasks.two_classes import State

ALL = slice(None)

#: A step that is longer, in the engine's units, leads nowhere, and soon beyond single precision.
MAX_STEP = 1e30


class Slopes(NamedTuple):
    """Derivatives of the loss at the rows, and the direction in which a tree is grown.

    Attributes
    ----------
    gradients, hessians : float32 arrays of shape (n_samples,) or (n_samples, n_outputs)
        Times the weights of rows.
    direction : float64 array of shape (n_outputs,) or None
        Of many outputs the combination, of -1 and +1, that the tree is grown for; all have values in its leaves.
    labels : uint16 array of shape (n_samples,) or None
        Classes, where outputs are their log odds.
    weights : float32 array of shape (n_samples,) or None
        What rows weigh.
    """

    gradients: Singles
    hessians: Singles
    direction: Floats | None = None
    labels: NDArray[np.uint16] | None = None
    weights: Singles | None = None

    def of(self, rows: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Give the derivatives of some rows, along the direction."""
        gradients = self.gradients[rows].astype(np.float64)
        if self.direction is None:
            return gradients, self.hessians[rows].astype(np.float64)
        gradients = gradients @ self.direction
        if self.labels is None:
            return gradients, self.hessians[rows].sum(axis=1, dtype=np.float64)
        # Two groups of classes are told apart: the variance of which one it is follows from its mean.
        weights = 1.0 if self.weights is None else self.weights[rows].astype(np.float64)
        means = gradients / weights + self.direction[self.labels[rows]]
        return gradients, weights * np.maximum(1.0 - means**2, 1e-16)

    def sum_leaves(
        self, leaves: NDArray[np.uint16], rows: NDArray[np.int64], weights: Floats | None, n_leaves: int
    ) -> Floats:
        """Add up the derivatives of some rows, times weights, per leaf: shape (n_leaves, n_outputs, 2)."""
        return _native.sum_rows(rows, weights, leaves, self.gradients, self.hessians, n_leaves)


@dataclass(eq=False)
class Predictor(Position):
    """One of the models that are averaged.

    Attributes
    ----------
    reserved : int64 array
        Rows that no tree of this model learns from: their weight is 0.
    place : slice
        Where its reserved rows are among those of all models.
    total : float
        What the quality of its predictions is a share of.
    train_score : float
        On the rows that it learns from.
    """

    reserved: NDArray[np.int64]
    place: slice
    total: float
    train_score: float = np.nan


class GradientTask:
    """Rows to learn from, and one model or a few that take turns.

    The out-of-patch score comes from rows that are reserved: with ``leaf_refit`` all others have a say in the values of
    leaves. Where there are several models each has reserved rows of its own, and the average of the models has learned
    from all rows. Without ``leaf_refit`` the score can be that of the trees that did not have a row in their
    minipatch, but it is too low: they make up for what those did that had it. (Of labels that are noise, they get 29 %
    right.)

    Parameters
    ----------
    loss : Loss
        What is made small.
    labels : array of shape (n_samples,)
        What is to be learned, as the problem codes it.
    sample_weights : float64 array of shape (n_samples,) or None
        Positive. They multiply the loss, and count in the scores.
    reserved : sequence of int64 arrays
        For each model the rows that it never learns from.
    keeps_patches : bool
        Whether what trees say about their own minipatches is kept apart, to judge all rows by the others.
    seed : int
        Together with the iteration, determines the direction of a tree.

    Attributes
    ----------
    judged : int64 array
        Rows that have an out-of-patch prediction.
    oop_losses : list of float
        Mean loss of these, after each iteration, in the engine's units.
    """

    def __init__(
        self,
        loss: Loss,
        labels: NDArray[Any],
        sample_weights: Floats | None,
        reserved: Sequence[NDArray[np.int64]],
        *,
        keeps_patches: bool,
        seed: int,
        threads: _native.Threads,
    ):
        self.loss = loss
        self.labels = labels
        self.sample_weights = sample_weights
        self.outputs: Outputs = Steps(loss.n_outputs)
        ends = np.cumsum([0, *map(len, reserved)]).tolist()
        places = map(slice, ends[:-1], ends[1:])
        self.predictors = [self._make_predictor(*each, threads) for each in zip(reserved, places, strict=True)]
        self.current = self.predictors[0]
        self.train_score = self.oop_score = self.oop_quality = np.nan
        self.oop_losses: list[float] = []
        self._seed = seed
        self.judged = np.arange(len(labels)) if keeps_patches else np.concatenate(reserved)
        self._in_patch = np.zeros_like(self.current.raw) if keeps_patches else None
        self._judged_labels = labels[self.judged]
        self._judged_weights = None if sample_weights is None else sample_weights[self.judged]
        self._oop_raw = np.tile(loss.baseline, (len(self.judged), 1))
        if loss.n_outputs == 1:
            self._oop_raw = self._oop_raw[:, 0]

    def _make_predictor(self, reserved: NDArray[np.int64], place: slice, threads: _native.Threads) -> Predictor:
        n_samples, n_outputs = len(self.labels), self.loss.n_outputs
        weights = None
        if len(reserved) or self.sample_weights is not None:
            weights = np.ones(n_samples, dtype=np.float32)
            if self.sample_weights is not None:
                weights[:] = np.maximum(self.sample_weights, np.finfo(np.float32).tiny)
            weights[reserved] = 0.0
        raw = np.tile(self.loss.start, (n_samples, 1)) if n_outputs > 1 else np.full(n_samples, self.loss.start[0])
        total = self.loss.find_total(weights)
        predictor = Predictor(raw, weights, np.empty_like(raw), np.empty_like(raw), reserved, place, total)
        self.loss.move(predictor, None, threads)
        return predictor

    @property
    def has_oop_score(self) -> bool:
        """Whether there are rows to judge out of patch."""
        return len(self.judged) > 0

    @property
    def n_learned(self) -> int:
        """How many rows the model learns from whose turn it is."""
        return len(self.labels) - len(self.current.reserved)

    @property
    def state(self) -> State:
        """Views of raw predictions."""
        raws = {f"raw_{k}": predictor.raw for k, predictor in enumerate(self.predictors)}
        return raws | {"oop_raw": self._oop_raw}

    @property
    def log_weights(self) -> Floats:
        """Logarithms of the sizes of gradients, over all models."""
        return np.log(self.find_weights())

    def find_weights(self) -> Floats:
        """Give the sizes of gradients, over all models."""
        sizes = sum(find_sizes(predictor.gradients) for predictor in self.predictors)
        return np.maximum(sizes, np.finfo(np.float64).tiny)

    def pose(self, iteration: int, threads: _native.Threads) -> Slopes:
        """Give the derivatives of the model whose turn it is; of many classes draw which half to tell from the rest."""
        self.current = self.predictors[(iteration - 1) % len(self.predictors)]
        direction = None
        if self.loss.n_outputs > 1:
            direction = np.full(self.loss.n_outputs, -1.0)
            draw = self.loss.n_outputs // 2, self._seed, iteration, _native.Purpose.COLOURS
            direction[_native.race(np.zeros(self.loss.n_outputs), *draw, threads)] = 1.0
        labels = self.loss.labels if isinstance(self.loss, SoftmaxLoss) else None
        now = self.current
        return Slopes(now.gradients, now.hessians, direction, labels, now.weights)

    def complete(self, rows: NDArray[np.int64], iteration: int, threads: _native.Threads) -> NDArray[np.int64]:
        """Leave the rows as they are: something can be learned from any."""
        return rows

    def fit_leaves(
        self,
        leaves: NDArray[np.uint16],
        sums: Floats,
        l2: float,
        threads: _native.Threads,
        *,
        rows: NDArray[np.int64] | slice = ALL,
        weights: Floats | None = None,
    ) -> Floats:
        """Find the values of leaves, (n_leaves, n_outputs), from rows, by default all, and sums of derivatives."""
        if self.loss.leaf_quantile is None:
            return self.loss.fit_leaves(sums, l2)
        now = self.current
        residuals = self.loss.labels[rows] - now.raw[rows]
        row_weights = None if now.weights is None else now.weights[rows]
        if weights is not None:
            row_weights = (weights if row_weights is None else weights * row_weights).astype(np.float32)
        quantiles = _native.leaf_quantiles(leaves, residuals, row_weights, self.loss.leaf_quantile, len(sums), threads)
        hessians = sums[..., 1]  # what rows weigh
        return np.asarray(quantiles[:, None] * hessians / np.maximum(hessians + l2, np.finfo(np.float64).tiny))

    def make_step(self, leaves: NDArray[np.uint16], values: Floats) -> Step:
        """Make a step from the values of leaves, (n_leaves, n_outputs)."""
        if not (np.abs(values) <= MAX_STEP).all():
            raise ValueError("Predictions grow beyond all bounds: choose a smaller learning_rate.")
        singles = np.ascontiguousarray(values, dtype=np.float32)
        return Step(leaves, singles[:, 0].copy() if self.loss.n_outputs == 1 else singles)

    def to_tree_values(self, step: Step) -> Floats:
        """Give the values that a step has in a tree: in the users' units, and shared by the models that take turns."""
        return step.values.astype(np.float64) * (self.loss.scale / len(self.predictors))

    def update(self, outputs: Step, rows: NDArray[np.int64], threads: _native.Threads) -> None:
        """Add a tree to the model whose turn it is; refresh derivatives and scores."""
        now = self.current
        quality = self.loss.move(now, outputs, threads)
        now.train_score = self.loss.score_training(quality, now.total)
        self.train_score = _mean([predictor.train_score for predictor in self.predictors])
        if not self.has_oop_score:
            self.oop_losses.append(np.nan)
            return
        if self._in_patch is None:
            self._oop_raw[now.place] = self.to_users(now.raw[now.reserved])
        else:
            self._in_patch[rows] += outputs.values[outputs.leaves[rows]]
            self._oop_raw[:] = self.to_users(now.raw - self._in_patch)
        judged = self._oop_raw, self._judged_labels
        self.oop_score = self.loss.find_score(*judged, self._judged_weights)
        loss = find_mean(self.loss.find_losses(*judged), self._judged_weights)
        self.oop_losses.append(loss)
        self.oop_quality = -loss

    def to_users(self, raw: Singles) -> Floats:
        """Turn raw predictions from the engine's units into the users'."""
        return self.loss.offset + self.loss.scale * raw.astype(np.float64)

    def weigh(self, state: State) -> Floats:
        """Give the logarithms of the sizes that gradients have in some state."""
        threads, sizes = _native.Threads(1), np.zeros(len(self.labels))
        for k, predictor in enumerate(self.predictors):
            raw = state[f"raw_{k}"].copy()
            then = Position(raw, predictor.weights, np.empty_like(raw), np.empty_like(raw))
            self.loss.move(then, None, threads)
            sizes += find_sizes(then.gradients)
        return np.log(np.maximum(sizes, np.finfo(np.float64).tiny))

    def spread_oop(self, state: State) -> Floats:
        """Give the raw predictions out of patch, in the users' units, for all rows; NaN where there are none."""
        shape = len(self.labels) if self.loss.n_outputs == 1 else (len(self.labels), self.loss.n_outputs)
        raw = np.full(shape, np.nan)
        raw[self.judged] = state["oop_raw"]
        return raw

    def score(self, totals: Floats, n_learners: int, labels: NDArray[Any], weights: Floats | None) -> float:
        """Score other rows."""
        return self.loss.find_score(self._add_baseline(totals), labels, weights)

    def find_quality(self, score: float, totals: Floats, labels: NDArray[Any], weights: Floats | None) -> float:
        """Find what training stops by on other rows: minus their mean loss."""
        return -find_mean(self.loss.find_losses(self._add_baseline(totals), labels), weights)

    def count_judgements(self, rows: NDArray[np.int64]) -> float:
        """Tell how often a reserved row is judged anew: when the turn comes to the model that never learns from it."""
        return 1 / len(self.predictors) if self.has_oop_score else 0.0

    def _add_baseline(self, totals: Floats) -> Floats:
        return totals + (self.loss.baseline if totals.ndim > 1 else self.loss.baseline[0])


def _mean(scores: list[float]) -> float:
    """Average the scores of the models that have one."""
    known = [score for score in scores if score == score]
    return sum(known) / len(known)


def find_sizes(gradients: Singles) -> Floats:
    """Find the length of the gradient of each row."""
    doubles = gradients.astype(np.float64)
    return np.abs(doubles) if doubles.ndim == 1 else np.sqrt((doubles**2).sum(axis=1))


class GradientSampler:
    """Draws the rows of minipatches by the size of their gradients, and weighs them so that sums stay unbiased.

    Parameters
    ----------
    task : GradientTask
        Has the gradients.
    n_drawn : int
        Draws for a minipatch; rows that are drawn twice weigh more.
    exploration : float
        Share of the uniform distribution among the draws.
    seed : int
        Together with the iteration, determines the draw.
    """

    def __init__(self, task: GradientTask, n_drawn: int, exploration: float, seed: int):
        self.n_drawn = n_drawn
        self._task = task
        self._exploration = exploration
        self._seed = seed
        self._weights = np.empty(0)

    @property
    def draws_all(self) -> bool:
        """Whether there is no row to judge out of patch."""
        return not self._task.has_oop_score

    def sample(self, iteration: int, threads: _native.Threads) -> Draw:
        """Draw rows for the model whose turn it is."""
        now = self._task.current
        rows, self._weights = _native.draw_by_gradient(
            now.gradients,
            now.hessians,
            now.weights,
            0.0,
            self._exploration,
            self.n_drawn,
            self._seed,
            iteration,
            threads,
        )
        return Draw(rows, rows[:0])

    def weigh(self, rows: NDArray[np.int64]) -> Floats:
        """Give what the rows of the last draw stand for."""
        return self._weights
