"""Whether probabilities can be believed."""

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mpboost.inspection.checks import check_predicts
from mpboost.inspection.drawing import COLOURS, make_axes, tidy
from mpboost.inspection.judgement import compute_probabilities, require_judgement
from mpboost.inspection.probability_bins import bin_probabilities

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class OOPCalibrationDisplay:
    """How often what had some probability came true, for training rows as judged by learners that never saw them.

    Make one by ``from_estimator``. On the diagonal probabilities are what they say. Bars are 95 % confidence intervals
    (Wilson's); above, how many rows had such probabilities. The few slopes of the calibration of votes were fitted to
    the same rows, which is all that could flatter it.

    Parameters
    ----------
    probabilities : array of shape (n_rows,)
        Of an event, for each row.
    outcomes : bool array of shape (n_rows,)
        Whether it came true.
    n_bins : int, default=10
        Probabilities are grouped into so many bins of the same width.
    event_name, outcome_name : str, default="event", "share of rows where it came true"
        What the probabilities and the outcomes are of.

    Attributes
    ----------
    counts : int array of shape (n_bins,)
        Rows in each bin.
    mean_probabilities, shares : float64 arrays of shape (n_bins,)
        Mean probability, and how often it came true, in each bin; NaN where there are no rows.
    calibration_error : float
        Mean distance of the two, over the rows.
    n_rows : int
        Rows that were judged.
    ax_, figure_ : Axes, Figure
        Where it is drawn.
    counts_ax_ : Axes
        Where the numbers of rows are, above.
    line_ : ErrorbarContainer
        The curve.
    bars_ : BarContainer
        The numbers of rows.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mpboost import MPBoostClassifier, OOPCalibrationDisplay
    >>> model = MPBoostClassifier(n_estimators=100, random_state=0).fit(*load_breast_cancer(return_X_y=True))
    >>> display = OOPCalibrationDisplay.from_estimator(model)
    >>> display.calibration_error < 0.1
    True
    """

    def __init__(
        self,
        probabilities: ArrayLike,
        outcomes: ArrayLike,
        *,
        n_bins: int = 10,
        event_name: str = "event",
        outcome_name: str = "share of rows where it came true",
    ):
        p, is_true = np.asarray(probabilities, dtype=np.float64), np.asarray(outcomes, dtype=bool)
        if p.ndim != 1 or p.shape != is_true.shape or not len(p) or not np.all((p >= 0) & (p <= 1)):
            raise ValueError("probabilities must be numbers between 0 and 1, at least one, and outcomes as many.")
        if n_bins < 1:
            raise ValueError(f"n_bins={n_bins} must be at least 1.")
        self.n_rows = len(p)
        self._bins = bin_probabilities(p, is_true, n_bins)
        self.counts, self.mean_probabilities, self.shares = self._bins.counts, self._bins.means, self._bins.shares
        self.calibration_error = self._bins.error
        self.event_name = event_name
        self.outcome_name = outcome_name

    @classmethod
    def from_estimator(cls, model: Any, *, pos_label: Any = None, n_bins: int = 10, ax: "Axes | None" = None) -> Self:
        """Draw the calibration of a fitted classifier; no data are needed.

        Parameters
        ----------
        model : MPBoostClassifier or MPGradientBoostingClassifier
            A fitted model. Gradient models judge the rows that they reserved.
        pos_label : label, default=None
            The class whose probability is looked at. None takes the second of two classes; of more, whichever class is
            predicted for a row.
        n_bins : int, default=10
            Probabilities are grouped into so many bins of the same width.
        ax : Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : OOPCalibrationDisplay
            Drawn.
        """
        check_predicts("classes", model, cls.__name__)
        judgement = require_judgement(model)
        rows, shares = compute_probabilities(model, judgement)
        if pos_label is None and len(model.classes_) > 2:
            probabilities, outcomes = shares[rows, judgement.predicted], judgement.is_right
            names = "the predicted class", "share of rows where it is right"
        else:
            code = 1 if pos_label is None else _look_up_code(model.classes_, pos_label)
            probabilities, outcomes = shares[:, code], judgement.given == code
            names = f"class {model.classes_[code]}", f"share of rows of class {model.classes_[code]}"
        display = cls(probabilities, outcomes, n_bins=n_bins, event_name=names[0], outcome_name=names[1])
        return display.plot(ax=ax)

    def plot(self, *, ax: "Axes | None" = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : OOPCalibrationDisplay
            Itself.
        """
        axes = make_axes(size=(5.4, 6.4))[0] if ax is None else ax
        axes.plot([0, 1], [0, 1], color="black", linestyle="--", linewidth=1)
        filled = self.counts > 0
        low, high = self._bins.low, self._bins.high
        self.line_ = axes.errorbar(
            self.mean_probabilities[filled],
            self.shares[filled],
            # Rounding may put an end of an interval on the wrong side.
            np.maximum([self.shares - low, high - self.shares], 0.0)[:, filled],
            color=COLOURS[0],
            marker="o",
            markersize=4,
            capsize=2,
            elinewidth=1,
        )
        axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        # Below, not in a legend: intervals may be anywhere inside.
        summary = f"out-of-patch, {self.n_rows:,} rows, calibration error {self.calibration_error:.3f}"
        axes.set(xlabel=f"probability of {self.event_name}\n{summary}", ylabel=self.outcome_name)
        tidy(axes)
        # Inside the same place, so that it goes along with any axes; a title makes way for it.
        self.counts_ax_ = axes.inset_axes((0.0, 1.03, 1.0, 0.18), sharex=axes)
        edges = np.linspace(0, 1, len(self.counts) + 1)
        self.bars_ = self.counts_ax_.bar(edges[:-1], self.counts, np.diff(edges), align="edge", color=COLOURS[0])
        for bar in self.bars_:
            bar.set(alpha=0.6, edgecolor="white")
        self.counts_ax_.set(yscale="log", ylabel="rows", ylim=(0.5, None))
        self.counts_ax_.tick_params(labelbottom=False, which="both")
        tidy(self.counts_ax_)
        self.ax_, self.figure_ = axes, axes.figure
        return self


def _look_up_code(classes: NDArray[Any], label: Any) -> int:
    codes = np.flatnonzero(classes == label)
    if not len(codes):
        raise ValueError(f"pos_label={label!r} is not among the classes {classes.tolist()[:20]}.")
    return int(codes[0])
