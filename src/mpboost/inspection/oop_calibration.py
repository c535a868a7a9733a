"""Display of the calibration of probabilities: out-of-patch, or of new rows."""

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mpboost.inspection.checks import check_predicts
from mpboost.inspection.drawing import COLOURS, count_rows, make_axes, tidy
from mpboost.inspection.judgement import choose_judgement, compute_probabilities
from mpboost.inspection.probability_bins import bin_probabilities

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class OOPCalibrationDisplay:
    """Calibration plot of out-of-patch probabilities, or of new rows: predicted probability against observed share.

    Create it with ``from_estimator``. On the diagonal, probabilities are right. Error bars are 95 % confidence
    intervals (Wilson's); the bars above count the rows. The few slopes of the vote calibration were fitted out of
    patch on the training rows: only this can make the plot of these rows look slightly too good.

    Parameters
    ----------
    probabilities : array of shape (n_rows,)
        Predicted probability of an event, for each row.
    outcomes : bool array of shape (n_rows,)
        Whether the event happened.
    n_bins : int, default=10
        Number of bins of equal width.
    event_name, outcome_name : str, default="event", "share of rows where it came true"
        Names of the event and of the observed share, for the axes.
    source : str, default="out-of-patch"
        Which rows the probabilities are of.

    Attributes
    ----------
    counts : int array of shape (n_bins,)
        Rows in each bin.
    mean_probabilities, shares : float64 arrays of shape (n_bins,)
        Mean probability and observed share in each bin; NaN in bins without rows.
    calibration_error : float
        Mean difference between the two, over the rows.
    n_rows : int
        Number of rows.
    ax_, figure_ : Axes, Figure
        The axes and the figure.
    counts_ax_ : Axes
        The axes of the row counts, above.
    line_ : ErrorbarContainer
        The curve.
    bars_ : BarContainer
        The row counts.

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
        source: str = "out-of-patch",
    ):
        p, is_true = np.asarray(probabilities, dtype=np.float64), np.asarray(outcomes, dtype=bool)
        if p.ndim != 1 or p.shape != is_true.shape or not len(p) or not np.all((p >= 0) & (p <= 1)):
            raise ValueError("probabilities must be between 0 and 1 and not empty, and outcomes of the same length.")
        if n_bins < 1:
            raise ValueError(f"n_bins={n_bins} must be at least 1.")
        self.n_rows = len(p)
        self._bins = bin_probabilities(p, is_true, n_bins)
        self.counts, self.mean_probabilities, self.shares = self._bins.counts, self._bins.means, self._bins.shares
        self.calibration_error = self._bins.error
        self.event_name = event_name
        self.outcome_name = outcome_name
        self.source = source

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any = None,
        y: Any = None,
        *,
        pos_label: Any = None,
        n_bins: int = 10,
        ax: "Axes | None" = None,
    ) -> Self:
        """Plot the calibration of a fitted classifier.

        Parameters
        ----------
        model : MPBoostClassifier or MPGradientBoostingClassifier
            A fitted model.
        X, y : array-like, default=None
            New rows and their labels; None takes the out-of-patch predictions of the training rows. Gradient models
            have them only for the rows that they reserved.
        pos_label : label, default=None
            The class whose probability is shown. None takes the second of two classes; with more classes, the
            predicted class of each row.
        n_bins : int, default=10
            Number of bins of equal width.
        ax : Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : OOPCalibrationDisplay
            The display, drawn.
        """
        check_predicts("classes", model, cls.__name__)
        judgement = choose_judgement(model, X, y)
        rows, shares = compute_probabilities(model, judgement)
        if pos_label is None and len(model.classes_) > 2:
            probabilities, outcomes = shares[rows, judgement.predicted], judgement.is_right
            names = "the predicted class", "share of rows where it is right"
        else:
            code = 1 if pos_label is None else _look_up_code(model.classes_, pos_label)
            probabilities, outcomes = shares[:, code], judgement.given == code
            names = f"class {model.classes_[code]}", f"share of rows of class {model.classes_[code]}"
        display = cls(
            probabilities,
            outcomes,
            n_bins=n_bins,
            event_name=names[0],
            outcome_name=names[1],
            source=judgement.source,
        )
        return display.plot(ax=ax)

    def plot(self, *, ax: "Axes | None" = None) -> Self:
        """Draw the plot.

        Parameters
        ----------
        ax : Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : OOPCalibrationDisplay
            The display itself.
        """
        axes = make_axes(size=(5.4, 6.4))[0] if ax is None else ax
        axes.plot([0, 1], [0, 1], color="black", linestyle="--", linewidth=1)
        filled = self.counts > 0
        low, high = self._bins.low, self._bins.high
        self.line_ = axes.errorbar(
            self.mean_probabilities[filled],
            self.shares[filled],
            # Rounding may make the length of a bar negative.
            np.maximum([self.shares - low, high - self.shares], 0.0)[:, filled],
            color=COLOURS[0],
            marker="o",
            markersize=4,
            capsize=2,
            elinewidth=1,
        )
        axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        # Not in a legend, which could cover intervals.
        summary = f"{count_rows(self.n_rows, self.source)}, calibration error {self.calibration_error:.3f}"
        axes.set(xlabel=f"probability of {self.event_name}\n{summary}", ylabel=self.outcome_name)
        tidy(axes)
        # An inset, so that it works with any axes; a title moves above it.
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
