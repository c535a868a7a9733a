"""Numbers: the mean of what learners predict, and how rows that it misses gain weight."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost.outputs.kinds import Outputs, Values
from mpboost.tasks.two_classes import State, StopsByScore

ResidualWeighting = Literal["linear", "square", "exponential", "threshold"]

#: Residuals count up to so many times their median: one outlier must not own p.
MAX_RESIDUAL = 3.0


def weigh_residuals(weighting: ResidualWeighting, residuals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weigh rows by the size of their residuals, as multiples of its median.

    "linear", "square" and "exponential" are the losses of AdaBoost.R2, soft weights that grow with the residual up to
    a limit. "threshold" is hard, as in AdaBoost.RT: all that counts is whether a residual is above the median.

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
    """Numbers to predict, and the sums of the predictions so far.

    Parameters
    ----------
    labels : float64 array of shape (n_samples,)
        The numbers.
    weighting : str
        How p follows from residuals.
    exploration : float
        Share of the uniform distribution in p.
    adaptive : bool
        Whether the weights follow the residuals; if not they stay equal.
    sample_weights : float64 array of shape (n_samples,), default=None
        Positive. They multiply p, and count in the scores.

    Attributes
    ----------
    sums : float64 array of shape (n_samples,)
        F times the number of learners.
    oop_sums : float64 array of shape (n_samples,)
        The sums of learners that were not trained on the row.
    oop_counts : int32 array of shape (n_samples,)
        How many learners these are.
    """

    def __init__(
        self,
        labels: NDArray[np.float64],
        *,
        weighting: ResidualWeighting,
        exploration: float,
        adaptive: bool,
        sample_weights: NDArray[np.float64] | None = None,
    ):
        n_samples = len(labels)
        self.labels = labels
        self.sample_weights = sample_weights
        self.outputs: Outputs = Values()
        self.sums = np.zeros(n_samples)
        self.oop_sums = np.zeros(n_samples)
        self.oop_counts = np.zeros(n_samples, dtype=np.int32)
        self.log_weights = np.zeros(n_samples) if sample_weights is None else np.log(sample_weights)
        self.train_score = np.nan
        self.oop_score = np.nan
        self._log_sample_weights = None if sample_weights is None else np.log(sample_weights)
        self._mean = float(np.average(labels, weights=sample_weights))
        self._weighting: ResidualWeighting = weighting
        self._exploration = exploration
        self._adaptive = adaptive
        self._n_learners = np.zeros(1, dtype=np.int64)

    @property
    def state(self) -> State:
        """Views of the sums, and the number of learners."""
        return {
            "sums": self.sums,
            "oop_sums": self.oop_sums,
            "oop_counts": self.oop_counts,
            "n_learners": self._n_learners,
        }

    def pose(self, iteration: int, threads: _native.Threads) -> NDArray[np.float64]:
        """Give the numbers."""
        return self.labels

    def complete(self, rows: NDArray[np.int64], iteration: int, threads: _native.Threads) -> NDArray[np.int64]:
        """Leave the rows as they are: something can be learned from any."""
        return rows

    def update(self, outputs: NDArray[np.float64], rows: NDArray[np.int64], threads: _native.Threads) -> None:
        """Add a learner's predictions, given the rows that it was trained on; refresh weights and scores."""
        self._n_learners += 1
        self.sums += outputs
        outputs = outputs.copy()
        outputs[rows] = 0.0  # rather than taken off again, which would leave what rounding left
        self.oop_sums += outputs
        self.oop_counts += 1
        self.oop_counts[rows] -= 1
        self.train_score = self.score(self.sums, int(self._n_learners[0]), self.labels, self.sample_weights)
        oop = self.predict_oop(self.state, unseen=self._mean)  # no learner, no knowledge
        self.oop_score = find_r2(oop, self.labels, self.sample_weights)
        if self._adaptive:
            self.log_weights[:] = self.weigh(self.state)

    def weigh(self, state: State) -> NDArray[np.float64]:
        """Give the logarithms of the weights that the rows have in some state."""
        if not self._adaptive:
            return self.log_weights.copy()
        residuals = np.abs(self.labels - state["sums"] / state["n_learners"])
        scale = find_median(residuals, self.sample_weights) or np.average(residuals, weights=self.sample_weights) or 1.0
        with np.errstate(over="ignore"):  # infinity is right: it is cut off
            weights = weigh_residuals(self._weighting, residuals / scale)
        mean = np.average(weights, weights=self.sample_weights) or 1.0
        floor = max(self._exploration, np.finfo(np.float64).tiny)
        log_weights = np.log((1.0 - self._exploration) * weights / mean + floor)
        return log_weights if self._log_sample_weights is None else log_weights + self._log_sample_weights

    def predict_oop(self, state: State, unseen: float = np.nan) -> NDArray[np.float64]:
        """Give the mean of the learners that never saw the row, or something else where there are none."""
        predictions = np.full(len(self.labels), unseen)
        np.divide(state["oop_sums"], state["oop_counts"], out=predictions, where=state["oop_counts"] > 0)
        return predictions

    def score(
        self, totals: NDArray[Any], n_learners: int, labels: NDArray[Any], weights: NDArray[np.float64] | None
    ) -> float:
        """Give the R^2 on other rows."""
        return find_r2(totals / n_learners, labels, weights)


def find_r2(
    predictions: NDArray[np.float64], labels: NDArray[np.float64], weights: NDArray[np.float64] | None = None
) -> float:
    """Compute R^2; where all labels are the same, 1 if the predictions are right and 0 if not.

    Examples
    --------
    >>> import numpy as np
    >>> find_r2(np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 3.0]))
    0.5
    """
    if labels.min() == labels.max():  # the mean of equal numbers may be another one, by rounding
        return float(np.allclose(predictions, labels, rtol=1e-9, atol=0.0))
    # Sums of products, not dot products: these may depend on the number of threads.
    missed = np.average((labels - predictions) ** 2, weights=weights)
    spread = np.average((labels - np.average(labels, weights=weights)) ** 2, weights=weights)
    if spread == 0:
        return float(missed == 0)
    return 1.0 - float(missed) / float(spread)  # of NumPy the quotient would warn where it is infinite


def find_median(values: NDArray[np.float64], weights: NDArray[np.float64] | None = None) -> float:
    """Find the median; with weights, the lowest value that half of the weight does not exceed.

    Examples
    --------
    >>> import numpy as np
    >>> find_median(np.array([3.0, 1.0, 2.0])), find_median(np.array([3.0, 1.0]), np.array([1.0, 3.0]))
    (2.0, 1.0)
    """
    return float(np.median(values)) if weights is None else find_quantile(values, weights, 0.5)


def find_quantile(values: NDArray[np.float64], weights: NDArray[np.float64] | None, share: float) -> float:
    """Find the lowest value that a share of the weight does not exceed.

    Examples
    --------
    >>> import numpy as np
    >>> values = np.array([3.0, 1.0])
    >>> find_quantile(values, None, 0.5), find_quantile(values, np.array([3.0, 1.0]), 0.5)
    (1.0, 3.0)
    """
    if weights is None:
        return float(np.quantile(values, share, method="inverted_cdf"))
    order = np.argsort(values, kind="stable")
    sums = np.cumsum(weights[order])
    return float(values[order[np.searchsorted(sums, share * sums[-1])]])
