"""The task of numbers: predictions are means over learners; rows with large residuals get more weight."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost._arrays import Floats, Positions
from mpboost.outputs.kinds import Values
from mpboost.outputs.metrics import Metric
from mpboost.outputs.predictions import NumberPredictions
from mpboost.outputs.statistics import compute_mean, compute_median, compute_r2
from mpboost.sampling.questions import Labels
from mpboost.tasks.contract import StopsByScore, TaskState

ResidualWeighting = Literal["linear", "square", "exponential", "threshold"]

#: Residuals are cut at so many times their median: one outlier must not dominate p.
MAX_RESIDUAL = 3.0


def weigh_residuals(weighting: ResidualWeighting, residuals: Floats) -> Floats:
    """Compute weights of rows from the sizes of residuals, given as multiples of their median.

    "linear", "square" and "exponential" are the losses of AdaBoost.R2: weights grow with the residual up to a limit.
    "threshold" is as in AdaBoost.RT: the weight is 1 if the residual is above the median, else 0.

    Examples
    --------
    >>> import numpy as np
    >>> weigh_residuals("linear", np.array([0.0, 1.0, 2.0, 100.0]))
    array([0., 1., 2., 3.])
    >>> weigh_residuals("threshold", np.array([0.0, 1.0, 2.0, 100.0]))
    array([0., 0., 1., 1.])
    """
    if weighting == "threshold":
        return (residuals > 1.0).astype(np.float64)
    residuals = np.minimum(residuals, MAX_RESIDUAL)
    if weighting == "linear":
        return residuals
    return residuals**2 if weighting == "square" else -np.expm1(-residuals)


class ValueTask(StopsByScore):
    """Predicts numbers by the mean over learners, and sums their predictions.

    Parameters
    ----------
    labels : float64 array of shape (n_samples,)
        The numbers.
    weighting : str
        How weights are computed from residuals.
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
        weighting: ResidualWeighting,
        exploration: float,
        adaptive: bool,
        sample_weights: Floats | None = None,
        metric: Metric | None = None,
    ):
        n_samples = len(labels)
        self.labels = labels
        self.sample_weights = self.score_weights = sample_weights
        self.outputs = Values()
        self.sums = np.zeros(n_samples)
        self.oop_sums = np.zeros(n_samples)
        self.oop_counts = np.zeros(n_samples, dtype=np.int32)
        self.log_weights = np.zeros(n_samples) if sample_weights is None else np.log(sample_weights)
        self._use_metric(metric)
        self._log_sample_weights = None if sample_weights is None else np.log(sample_weights)
        self._mean = compute_mean(labels, sample_weights)
        self._weighting: ResidualWeighting = weighting
        self._exploration = exploration
        self._adaptive = adaptive
        self._n_learners = np.zeros(1, dtype=np.int64)

    @property
    def state(self) -> TaskState:
        """Views of the sums, and of the number of learners."""
        return {
            "sums": self.sums,
            "oop_sums": self.oop_sums,
            "oop_counts": self.oop_counts,
            "n_learners": self._n_learners,
        }

    def pose(self, iteration: int, threads: _native.Threads) -> Labels[np.float64]:
        """Return the numbers to predict."""
        return Labels(self.labels, self.log_weights, self.sample_weights, are_classes=False)

    def update(self, outputs: Floats, rows: Positions, threads: _native.Threads) -> None:
        """Add the predictions of a learner, given the rows of its minipatch; update weights and scores."""
        self._n_learners += 1
        self.sums += outputs
        outputs = outputs.copy()
        outputs[rows] = 0.0  # adding and subtracting again would leave rounding errors
        self.oop_sums += outputs
        self.oop_counts += 1
        self.oop_counts[rows] -= 1
        if self._running is None:
            self.train_score = self.score(self.sums, int(self._n_learners[0]), self.labels, self.score_weights)
            oop = self.predict_oop(self.state, unseen=self._mean)  # rows without a learner: the mean of the labels
            self.oop_score = compute_r2(oop, self.labels, self.score_weights)
        else:
            self._update_scores(int(self._n_learners[0]))
        if self._adaptive:
            self.log_weights[:] = self.compute_log_weights(self.state)

    def compute_log_weights(self, state: TaskState) -> Floats:
        """Compute the logarithms of the weights of the rows in a given state."""
        if not self._adaptive:
            return self.log_weights.copy()
        residuals = np.abs(self.labels - state["sums"] / state["n_learners"])
        scale = compute_median(residuals, self.sample_weights)
        scale = scale or np.average(residuals, weights=self.sample_weights) or 1.0
        with np.errstate(over="ignore"):  # infinity is right: weigh_residuals cuts it
            weights = weigh_residuals(self._weighting, residuals / scale)
        mean = np.average(weights, weights=self.sample_weights) or 1.0
        floor = max(self._exploration, np.finfo(np.float64).tiny)
        log_weights = np.log((1.0 - self._exploration) * weights / mean + floor)
        return log_weights if self._log_sample_weights is None else log_weights + self._log_sample_weights

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
