"""The task of gradient boosting: raw predictions of one model, or of models that take turns, and derivatives."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost._arrays import Floats, Positions, Singles
from mpboost._shards import Shards, Taken, WholeTable, find_rows_here, join_rows, join_sums, take_rows_here
from mpboost.outputs.kinds import Steps
from mpboost.outputs.metrics import Metric
from mpboost.sampling.questions import Slopes
from mpboost.sampling.weights import LogWeights, count_effective
from mpboost.tasks.contract import TaskState
from mpboost.tasks.losses import ClassLoss, Loss, Position, SoftmaxLoss, Step
from mpboost.tasks.reserved import ReservedRows
from mpboost.tasks.running_score import RunningScore


@dataclass(eq=False)
class Predictor(Position):
    """One of the models that take turns; predictions are their average.

    Attributes
    ----------
    slopes : Slopes
        What trees of the model are asked: these arrays; with several outputs a direction is missing.
    total : float
        The loss's ``compute_total``: turns the quality that ``move`` returns into a score.
    train_score : float
        Score on the rows that it learns from.
    """

    slopes: Slopes
    total: float
    train_score: float = np.nan

    @property
    def n_learned(self) -> int:
        """Number of rows that it learns from; the others have weight 0."""
        return self.slopes.n_learned


#: Rows whose gradients are looked at together, and the least size of a gradient there.
ROWS_AT_ONCE, MIN_SIZE = 1 << 20, 1e-150


class GradientTask:
    """One model, or several that take turns: each tree is for the next one. Predictions are their average.

    Parameters
    ----------
    loss : Loss
        The loss to minimise.
    labels : array of shape (n_samples,)
        Labels, as the ``Problem`` codes them.
    sample_weights : float64 array of shape (n_samples,) or None
        Positive weights of rows, which multiply the loss.
    score_weights : float64 array of shape (n_samples,) or None
        Positive weights of rows in the scores and in the loss that training stops by.
    reserved : sequence of int64 arrays
        For each model, the rows that it never learns from.
    keeps_patches : bool
        Whether every row has an out-of-patch prediction, by the trees whose minipatch did not contain it.
    metric : Metric or None
        Computes the scores, and training stops by it; None for accuracy or R^2, and to stop by the loss.
    seed : int
        Determines the direction of a tree, together with the iteration.

    Attributes
    ----------
    predictors : list of Predictor
        The models.
    out_of_patch : ReservedRows
        Predictions for rows by models that never learned from them.
    """

    def __init__(
        self,
        loss: Loss,
        labels: NDArray[Any],
        sample_weights: Floats | None,
        score_weights: Floats | None,
        reserved: Sequence[Positions],
        *,
        keeps_patches: bool,
        metric: Metric | None,
        seed: int,
        threads: _native.Threads,
    ):
        self.shards: Shards = WholeTable(len(labels))
        self.loss = loss
        self.labels = labels
        self.sample_weights = sample_weights
        self.score_weights = score_weights
        self.outputs = Steps(loss.n_outputs)
        self.predictors = [self._make_predictor(rows, threads) for rows in reserved]
        self.out_of_patch = ReservedRows(
            loss,
            labels,
            score_weights,
            reserved,
            keeps_patches=keeps_patches,
            recalibrates=isinstance(loss, ClassLoss) and sample_weights is not score_weights,
            metric=metric,
        )
        self._raw_names = [f"raw_{k}" for k in range(len(reserved))]
        self._running = None if metric is None else RunningScore(metric, labels)
        self.train_score = np.nan
        self._seed = seed
        self._n_trees = 0

    def _make_predictor(self, reserved: Positions, threads: _native.Threads) -> Predictor:
        n_samples, n_outputs = len(self.labels), self.loss.n_outputs
        weights = None
        if len(reserved) or self.sample_weights is not None:
            weights = np.ones(n_samples, dtype=np.float32)
            if self.sample_weights is not None:
                weights[:] = np.maximum(self.sample_weights, np.finfo(np.float32).tiny)
            weights[reserved] = 0.0
        raw = np.tile(self.loss.start, (n_samples, 1)) if n_outputs > 1 else np.full(n_samples, self.loss.start[0])
        total = self.loss.compute_total(weights)
        gradients, hessians = np.empty_like(raw), np.empty_like(raw)
        labels = self.loss.labels if isinstance(self.loss, SoftmaxLoss) else None
        slopes = Slopes(gradients, hessians, raw, n_samples - len(reserved), None, labels, weights)
        predictor = Predictor(raw, weights, gradients, hessians, slopes, total)
        self.loss.move(predictor, None, threads)
        return predictor

    @property
    def n_rows_here(self) -> int:
        """The number of rows of the task, in this shard."""
        return len(self.labels)

    def list_row_arrays(self) -> list[NDArray[Any] | None]:
        """List the arrays that have an entry for each row."""
        of_models = (array for model in self.predictors for array in (model.raw, model.gradients, model.hessians))
        return [*self.list_given_arrays(), *of_models]

    def list_given_arrays(self) -> list[NDArray[Any] | None]:
        """List those of them that stay what they are: labels and weights."""
        of_models = (model.weights for model in self.predictors)
        return [self.labels, self.loss.labels, self.sample_weights, self.score_weights, *of_models]

    @property
    def oop_score(self) -> float:
        """Score of the rows that have an out-of-patch prediction."""
        return self.out_of_patch.score

    @property
    def oop_quality(self) -> float:
        """What training stops by: the metric out of patch, or minus the out-of-patch loss."""
        return self.out_of_patch.quality

    @property
    def best_score(self) -> float:
        """The best possible score: 1 for accuracy and R^2."""
        return 1.0 if self._running is None else self._running.metric.best

    @property
    def is_scored(self) -> bool:
        """Whether the last update computed the out-of-patch score and quality."""
        return self.out_of_patch.is_scored

    def compute_oop_score(self, state: TaskState, n_learners: int) -> float | None:
        """Compute the metric in a given state; None without a metric."""
        if self._running is None:
            return None
        return self.out_of_patch.compute_metric(state["oop_raw"])

    @property
    def state(self) -> TaskState:
        """Views of the raw predictions."""
        raws = [predictor.raw for predictor in self.predictors]
        return {**dict(zip(self._raw_names, raws, strict=True)), **self.out_of_patch.state}

    @property
    def changed(self) -> Iterable[str]:
        """The names of the arrays of ``state`` that the last update changed: not those of models that waited."""
        return self._raw_names[(self._n_trees - 1) % len(self._raw_names)], *self.out_of_patch.state

    @property
    def log_weights(self) -> Floats:
        """Logarithms of the sizes of gradients, summed over the models."""
        sizes = sum(compute_sizes(predictor.gradients) for predictor in self.predictors)
        return _native.log_of(np.maximum(sizes, np.finfo(np.float64).tiny))

    def pose(self, iterations: range, threads: _native.Threads) -> list[Slopes]:
        """Return the derivatives of the models whose turn it is; with many classes, draw the half to separate.

        The derivatives are the task's own arrays: those of a later tree of a round change with the trees before it.
        """
        return [self._pose(t, threads) for t in iterations]

    def _pose(self, iteration: int, threads: _native.Threads) -> Slopes:
        slopes, n_outputs = self.predictors[(iteration - 1) % len(self.predictors)].slopes, self.loss.n_outputs
        if n_outputs == 1:
            return slopes
        direction = np.full(n_outputs, -1.0)
        draw = n_outputs // 2, self._seed, [iteration], _native.Purpose.COLOURS
        direction[_native.race(np.zeros(n_outputs), *draw, threads)[0]] = 1.0
        return slopes._replace(direction=direction)

    def update(self, outputs: Step, rows: Positions, threads: _native.Threads) -> None:
        """Add a tree to the model whose turn it is; update derivatives and scores."""
        turn = self._n_trees % len(self.predictors)
        now = self.predictors[turn]
        sums = _native.RowSums(self.shards.first_row)
        quality_here = self.loss.move(now, outputs, threads, sums)
        if outputs.prepare_next is not None:
            outputs.prepare_next(threads)
        reserved = self.out_of_patch.get_rows(turn)
        quality, (judged, raw) = self.shards.exchange(
            lambda: (quality_here, sums, take_rows_here(self.shards, reserved, now.raw)), _join_steps
        )
        self.out_of_patch.update(turn, raw, judged, outputs, rows, threads)
        self._n_trees += 1
        if self._running is None:
            now.train_score = self.loss.score_training(quality, now.total)
            self.train_score = _average_known(self.predictors)
        elif self.is_scored:
            self.train_score = self._score_training(self._running)

    def _score_training(self, running: RunningScore) -> float:
        """Compute the metric of a sample of the training rows."""
        here = find_rows_here(self.shards, running.rows)

        def take() -> list[NDArray[Any]]:
            weights = [] if self.score_weights is None else [self.score_weights[here]]
            return [self.labels[here], *(predictor.raw[here] for predictor in self.predictors), *weights]

        def score(parts: Sequence[list[NDArray[Any]]]) -> float:
            labels, *raws = map(np.concatenate, zip(*parts, strict=True))
            weights = None if self.score_weights is None else raws.pop()
            raw = self.loss.offset + self.loss.scale * np.mean(raws, axis=0, dtype=np.float64)
            return running.metric.compute(self.loss.present(np.asarray(raw)), labels, weights)

        return self.shards.exchange(take, score)

    def count_effective(self, state: TaskState | None = None) -> float:
        """Compute the effective number of rows, 1 / sum(p²), in a given state, or now."""
        if state is not None:
            return count_effective(LogWeights(self.compute_log_weights(state)), self.shards)

        def add_up() -> tuple[_native.RowSums, _native.RowSums]:
            sums, squares, threads = (*(_native.RowSums(self.shards.first_row) for _ in range(2)), _native.Threads(1))
            for start in range(0, len(self.labels), ROWS_AT_ONCE):  # in little memory
                rows = slice(start, start + ROWS_AT_ONCE)
                sizes = sum(compute_sizes(predictor.gradients[rows]) for predictor in self.predictors)
                sizes = np.maximum(sizes, MIN_SIZE)
                _native.sum_values(sizes, threads, sums)
                _native.sum_values(sizes * sizes, threads, squares)
            return sums, squares

        def join(parts: Sequence[tuple[_native.RowSums, _native.RowSums]]) -> list[float]:
            return [float(join_sums(sums)[0]) for sums in zip(*parts, strict=True)]

        total, squares = self.shards.exchange(add_up, join)
        return total * total / squares

    def compute_log_weights(self, state: TaskState) -> Floats:
        """Compute the logarithms of the sizes of gradients in a given state."""
        threads, sizes = _native.Threads(1), np.zeros(len(self.labels))
        for k, predictor in enumerate(self.predictors):
            raw = state[f"raw_{k}"].copy()
            then = Position(raw, predictor.weights, np.empty_like(raw), np.empty_like(raw))
            self.loss.move(then, None, threads)
            sizes += compute_sizes(then.gradients)
        return _native.log_of(np.maximum(sizes, np.finfo(np.float64).tiny))

    def spread_oop(self, state: TaskState) -> Floats:
        """Return out-of-patch raw predictions in the users' units for all rows; NaN for rows that have none."""
        shape = len(self.labels) if self.loss.n_outputs == 1 else (len(self.labels), self.loss.n_outputs)
        raw = np.full(shape, np.nan)
        raw[self.out_of_patch.rows] = state["oop_raw"]
        return raw

    def count_oop_learners(self, state: TaskState, n_learners: int) -> NDArray[np.int32]:
        """Count, for each row, the trees that never learned from it and predict it out of patch."""
        return self.out_of_patch.count_learners(state, n_learners, len(self.labels))

    def score(self, totals: Floats, n_learners: int, labels: NDArray[Any], weights: Floats | None) -> float:
        """Compute the score of other rows."""
        return self.out_of_patch.compute_score(self._add_baseline(totals), labels, weights)

    def compute_quality(self, score: float, totals: Floats, labels: NDArray[Any], weights: Floats | None) -> float:
        """Compute what training stops by on validation rows: the metric, or minus their mean loss."""
        if self._running is not None:
            return score
        return -self.out_of_patch.compute_loss(self._add_baseline(totals), labels, weights)

    def has_oop_score(self, n_drawn: int) -> bool:
        """Check whether any row has an out-of-patch prediction, whatever the size of minipatches."""
        return len(self.out_of_patch) > 0

    def count_judgements(self, rows: Positions) -> float:
        """Compute how often a reserved row gets a new prediction: each time its model has its turn."""
        return 1 / len(self.predictors) if len(self.out_of_patch) else 0.0

    def _add_baseline(self, totals: Floats) -> Floats:
        return totals + (self.loss.baseline if totals.ndim > 1 else self.loss.baseline[0])


def _join_steps(parts: Sequence[tuple[float, _native.RowSums, Taken]]) -> tuple[float, Taken]:
    """Join the qualities of a step, numbers or sums of several shards, and raw predictions for reserved rows."""
    if len(parts) == 1:
        return parts[0][0], parts[0][2]
    _, sums, raws = zip(*parts, strict=True)
    return float(join_sums(sums)[0]), join_rows(raws)


def _average_known(predictors: Sequence[Predictor]) -> float:
    """Average the training scores of the models that have one; NaN if none has."""
    known = [predictor.train_score for predictor in predictors if predictor.train_score == predictor.train_score]
    return sum(known) / len(known) if known else np.nan


def compute_sizes(gradients: Singles) -> Floats:
    """Compute the length of the gradient of each row."""
    doubles = gradients.astype(np.float64)
    return np.abs(doubles) if doubles.ndim == 1 else np.sqrt((doubles**2).sum(axis=1))
