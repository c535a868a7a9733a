"""The task of numbers: predictions are means over learners; rows with large residuals get more weight."""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost._arrays import Floats, Positions
from mpboost._shards import Shards, WholeTable, find_rows_here, join_sums
from mpboost.outputs.kinds import Values
from mpboost.outputs.metrics import Metric
from mpboost.outputs.predictions import NumberPredictions
from mpboost.outputs.statistics import add_up, compute_mean, compute_r2
from mpboost.rules import MarginWeighting, weigh_margins
from mpboost.sampling.questions import Labels
from mpboost.sampling.weights import LogWeights
from mpboost.tasks.contract import NOT_ABOUT_ROWS, StopsByScore, TaskState
from mpboost.tasks.weightings import RowRule

ResidualWeighting = Literal["linear", "square", "exponential", "threshold"]

#: The most rows that the median residual is computed from: of more, a sample that is always the same.
MAX_MEDIAN_ROWS = 100_000

#: The largest residual, as a multiple of the median one, that a user's rule sees: its square is still a weight.
MAX_MULTIPLE = 1e6


class ValueTask(StopsByScore):
    """Predicts numbers by the mean over learners, and sums their predictions.

    Parameters
    ----------
    labels : float64 array of shape (n_samples,)
        The numbers.
    weighting : str, MarginWeighting or RowRule
        How weights are computed from residuals, as multiples of their median. "linear", "square" and "exponential" are
        the losses of AdaBoost.R2: weights grow with the residual up to a limit, so that one outlier cannot dominate p.
        "threshold" is as in AdaBoost.RT: the weight is 1 if the residual is above the median, else 0. Or a user's rule.
    exploration : float
        Share of the uniform distribution in p.
    adaptive : bool
        Whether weights depend on residuals; if not, they stay equal.
    sample_weights : float64 array of shape (n_samples,), default=None
        Positive weights of rows, which multiply p and count in the scores.
    metric : Metric, default=None
        Computes the scores; None for R^2.

    Attributes
    ----------
    sums : float64 array of shape (n_samples,)
        F times the number of learners: the sum of predictions.
    oop_sums : float64 array of shape (n_samples,)
        The sum over learners that were not trained on the row.
    oop_counts : int32 array of shape (n_samples,)
        The number of these learners.
    """

    def __init__(
        self,
        labels: Floats,
        *,
        weighting: ResidualWeighting | MarginWeighting | RowRule,
        exploration: float,
        adaptive: bool,
        sample_weights: Floats | None = None,
        metric: Metric | None = None,
    ):
        n_samples = len(labels)
        self.shards: Shards = WholeTable(n_samples)
        self.labels = labels
        self.sample_weights = self.score_weights = sample_weights
        self.outputs = Values()
        self.sums = np.zeros(n_samples)
        self.oop_sums = np.zeros(n_samples)
        self.oop_counts = np.zeros(n_samples, dtype=np.int32)
        self._use_metric(metric)
        self._log_sample_weights = None if sample_weights is None else _native.log_of(sample_weights)
        self.log_weights = self._start_log_weights()
        self._mean = compute_mean(labels, sample_weights)
        self._spread = _compute_spread(labels, self._mean, sample_weights)
        self._least_error = 0.0 if self._spread > 0 else compute_least_error(labels, sample_weights)
        self._total_weight = float(n_samples if sample_weights is None else add_up(sample_weights))
        self._median_rows = _native.sample_rows(0, n_samples, n_samples, MAX_MEDIAN_ROWS)
        self._median_weights = None if sample_weights is None else _to_whole(sample_weights[self._median_rows])
        self._weighting: ResidualWeighting | MarginWeighting | RowRule = weighting
        self._exploration = exploration
        self._adaptive = adaptive
        self._n_learners = np.zeros(1, dtype=np.int64)
        if self._adaptive and isinstance(weighting, RowRule):  # others need residuals
            self._write_log_weights(self.state, self.log_weights, _native.Threads(1))

    @property
    def state(self) -> TaskState:
        """Views of the sums, and of the number of learners."""
        return {
            "sums": self.sums,
            "oop_sums": self.oop_sums,
            "oop_counts": self.oop_counts,
            "n_learners": self._n_learners,
        }

    def list_row_arrays(self) -> list[NDArray[Any] | None]:
        """List the arrays that have an entry for each row."""
        about_rows = (array for name, array in self.state.items() if name not in NOT_ABOUT_ROWS)
        return [*self.list_given_arrays(), self.log_weights, *about_rows]

    def list_given_arrays(self) -> list[NDArray[Any] | None]:
        """List those of them that stay what they are: labels and weights."""
        return [self.labels, self.sample_weights, self._log_sample_weights]

    def pose(self, iterations: range, threads: _native.Threads) -> list[Labels[np.float64]]:
        """Return the numbers to predict."""
        return [Labels(self.labels, self.weigh(), self.sample_weights, are_classes=False)] * len(iterations)

    def update(self, outputs: Floats, rows: Positions, threads: _native.Threads) -> None:
        """Add the predictions of a learner, given the rows of its minipatch; update weights and scores."""
        self._n_learners += 1
        n_learners = int(self._n_learners[0])
        sums = _native.RowSums(self.shards.first_row)
        _native.add_values(
            outputs,
            find_rows_here(self.shards, rows),
            self.labels,
            self.sample_weights,
            self.sums,
            self.oop_sums,
            self.oop_counts,
            n_learners,
            self._mean,  # predicts rows that all learners saw
            threads,
            sums,
        )
        errors = self.shards.exchange(lambda: sums, join_sums).tolist()
        if self._running is not None:
            self._update_scores(n_learners)
        elif self._spread > 0:
            means = (error / self._total_weight for error in errors)
            self.train_score, self.oop_score = (1.0 - mean / self._spread for mean in means)
        else:  # all numbers are the same
            self.train_score, self.oop_score = (float(error <= self._least_error) for error in errors)
        if self._adaptive:
            self._write_log_weights(self.state, self.log_weights, threads)

    def weigh(self, state: TaskState | None = None) -> LogWeights:
        """Return the weights that define p in a given state, or now."""
        return LogWeights(self.log_weights if state is None else self.compute_log_weights(state))

    def compute_log_weights(self, state: TaskState) -> Floats:
        """Compute the logarithms of the weights of the rows in a given state."""
        log_weights = self._start_log_weights()
        if self._adaptive:
            self._write_log_weights(state, log_weights, _native.Threads(1))
        return log_weights

    def _start_log_weights(self) -> Floats:
        """Return the logarithms of weights before the first iteration."""
        given = self._log_sample_weights
        return np.zeros(len(self.labels)) if given is None else given.copy()

    def _write_log_weights(self, state: TaskState, log_weights: Floats, threads: _native.Threads) -> None:
        weighting, residuals = self._weighting, (self.labels, state["sums"], int(state["n_learners"][0]))
        if isinstance(weighting, str):
            given = weighting, self._compute_scale(residuals, threads), *residuals, self.sample_weights, log_weights
            mean = self._average(partial(_native.weigh_residuals, *given, threads))
        elif isinstance(weighting, RowRule):
            mean = self._average(partial(self._convert, self._weigh_by(weighting, state), log_weights, threads))
        else:
            n_learners, scale = residuals[2], self._compute_scale(residuals, threads)
            with np.errstate(over="ignore"):
                multiples = (self.labels - state["sums"] / n_learners) / scale
            np.clip(multiples, -MAX_MULTIPLE, MAX_MULTIPLE, out=multiples)
            logs = weigh_margins(weighting, multiples, n_learners)
            mean = self._average(partial(self._convert, logs, log_weights, threads))
        _native.to_log_weights(log_weights, mean, self._exploration, self._log_sample_weights, threads)

    def _compute_scale(self, residuals: tuple[Floats, Floats, int], threads: _native.Threads) -> float:
        """Compute the unit of residuals: their median or, if it is 0, their mean."""
        here = find_rows_here(self.shards, self._median_rows)
        scale: float = self.shards.exchange(
            lambda: _native.find_residuals(*residuals, here),
            lambda parts: _native.median_residual(np.concatenate(parts), self._median_weights),
        )
        if scale == 0.0:
            scale = self._average(lambda sums: _native.sum_residuals(*residuals, self.sample_weights, threads, sums))
        return scale

    def _weigh_by(self, rule: RowRule, state: TaskState) -> Floats:
        """Compute the logarithms of weights in a given state by a rule about all rows."""
        n_learners = int(state["n_learners"][0])
        predictions = state["sums"] / n_learners if n_learners else np.full(len(self.labels), self._mean)
        seen = self.labels, predictions, self.labels - predictions, self.sample_weights
        return rule.weigh(n_learners, *seen, lambda: self.predict_oop(state))

    def _convert(self, logs: Floats, weights: Floats, threads: _native.Threads, sums: _native.RowSums) -> None:
        """Write weights, of which the largest is 1, given their logarithms, and sum them."""
        weights[...] = _native.exp_of(logs - logs.max())
        counted = weights if self.sample_weights is None else weights * self.sample_weights
        _native.sum_values(counted, threads, sums)

    def list_unsent(self) -> list[object]:
        """List what a copy of the task for another shard is without: what only the shard itself can use."""
        return [*super().list_unsent(), *([] if isinstance(self._weighting, str) else [self._weighting])]

    def _average(self, add: Callable[[_native.RowSums], object]) -> float:
        """Compute a mean over all rows to divide by; 1 if it is 0. ``add`` adds up the rows of this shard."""
        sums = _native.RowSums(self.shards.first_row)
        add(sums)
        total: float = self.shards.exchange(lambda: sums, lambda parts: float(join_sums(parts)[0]))
        return total / self._total_weight or 1.0

    def predict_oop(self, state: TaskState, unseen: float = np.nan) -> Floats:
        """Compute the mean over the learners that never saw the row; ``unseen`` if there are none."""
        predictions = np.full(len(self.labels), unseen)
        np.divide(state["oop_sums"], state["oop_counts"], out=predictions, where=state["oop_counts"] > 0)
        return predictions

    def count_oop_learners(self, state: TaskState, n_learners: int) -> NDArray[np.int32]:
        """Count, for each row, the learners that never saw it."""
        return state["oop_counts"].copy()

    def present_training(self, rows: Positions) -> NumberPredictions:
        """Return the predictions of the ensemble for some training rows."""
        return NumberPredictions(self.sums[rows] / self._n_learners)

    def present_oop(self, state: TaskState, n_learners: int, rows: Positions) -> tuple[Positions, NumberPredictions]:
        """Return those of some rows that have an out-of-patch prediction in a given state, and these predictions."""
        rows = rows[state["oop_counts"][rows] > 0]
        return rows, NumberPredictions(state["oop_sums"][rows] / state["oop_counts"][rows])

    def score(self, totals: NDArray[Any], n_learners: int, labels: NDArray[Any], weights: Floats | None) -> float:
        """Compute the score of other rows, given the totals of predictions."""
        predictions = totals / n_learners
        if self._running is not None:
            return self._running.metric.compute(NumberPredictions(predictions), labels, weights)
        return compute_r2(predictions, labels, weights)


def _compute_spread(labels: Floats, mean: float, weights: Floats | None) -> float:
    """Compute the variance of the labels; 0 if all are the same, whatever the mean is rounded to."""
    if labels.min() == labels.max():
        return 0.0
    return compute_mean((labels - mean) ** 2, weights)


def compute_least_error(labels: Floats, weights: Floats | None) -> float:
    """Compute the largest sum of squared errors that still counts as none, if all numbers are the same."""
    squares = labels * labels
    return 1e-18 * add_up(squares if weights is None else squares * weights)


def _to_whole(weights: Floats) -> Positions:
    """Round weights to whole numbers of up to 2^31, whose sums are exact in any order."""
    return np.rint(weights * (2.0**31 / weights.max())).astype(np.int64)
