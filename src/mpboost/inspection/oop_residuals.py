"""Display of residuals: out-of-patch, or of new rows."""

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mpboost.inspection.checks import check_predicts
from mpboost.inspection.drawing import COLOURS, load_pyplot, make_axes, tidy
from mpboost.inspection.judgement import choose_judgement

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ResidualsKind = Literal["residual_vs_predicted", "actual_vs_predicted"]

#: Quantiles drawn along the predictions; maximum number of groups, and minimum number of rows per group.
QUANTILES = {"10 %": 0.1, "median": 0.5, "90 %": 0.9}
MAX_GROUPS, MIN_ROWS = 20, 30


class OOPResidualsDisplay:
    """Plot of residuals against predictions: out-of-patch, or of new rows.

    Create it with ``from_estimator``. Lines show the median and the 10 % and 90 % quantiles in groups of rows with
    similar predictions, computed from all rows: where the median is not near zero, predictions are biased.

    Parameters
    ----------
    targets, predictions : arrays of shape (n_rows,)
        The given and the predicted numbers.
    source : str, default="out-of-patch"
        Which rows these are.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    ax_, figure_ : Axes, Figure
        The axes and the figure.
    points_ : PathCollection
        The rows.
    line_ : Line2D
        The line of predictions without error.
    lines_ : dict of str to Line2D
        The quantiles, by name; empty if there are few rows.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from mpboost import MPBoostRegressor, OOPResidualsDisplay
    >>> model = MPBoostRegressor(n_estimators=50, random_state=0).fit(*load_diabetes(return_X_y=True))
    >>> display = OOPResidualsDisplay.from_estimator(model)
    >>> display.n_rows, list(display.lines_)
    (442, ['10 %', 'median', '90 %'])
    """

    def __init__(self, targets: ArrayLike, predictions: ArrayLike, *, source: str = "out-of-patch"):
        self.targets = np.asarray(targets, dtype=np.float64)
        self.predictions = np.asarray(predictions, dtype=np.float64)
        if self.targets.ndim != 1 or self.targets.shape != self.predictions.shape or not len(self.targets):
            raise ValueError("targets and predictions must be one-dimensional, not empty, and equally long.")
        self.n_rows = len(self.targets)
        self.source = source

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any = None,
        y: Any = None,
        *,
        kind: ResidualsKind = "residual_vs_predicted",
        max_points: int = 3000,
        ax: "Axes | None" = None,
    ) -> Self:
        """Plot the residuals of a fitted regressor.

        Parameters
        ----------
        model : MPBoostRegressor or MPGradientBoostingRegressor
            A fitted model.
        X, y : array-like, default=None
            New rows and their numbers; None takes the out-of-patch predictions of the training rows. Gradient models
            have them only for the rows that they reserved.
        kind : {"residual_vs_predicted", "actual_vs_predicted"}, default="residual_vs_predicted"
            What to plot against the predictions: residuals, or the given numbers.
        max_points : int, default=3000
            Maximum number of rows to draw; if there are more, a random sample, always the same.
        ax : Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : OOPResidualsDisplay
            The display, drawn.
        """
        check_predicts("numbers", model, cls.__name__, instead="OOPConfusionDisplay")
        judgement = choose_judgement(model, X, y)
        display = cls(judgement.given, judgement.predicted, source=judgement.source)
        return display.plot(kind=kind, max_points=max_points, ax=ax)

    def plot(
        self, *, kind: ResidualsKind = "residual_vs_predicted", max_points: int = 3000, ax: "Axes | None" = None
    ) -> Self:
        """Draw the plot.

        Parameters
        ----------
        kind : {"residual_vs_predicted", "actual_vs_predicted"}, default="residual_vs_predicted"
            What to plot against the predictions: residuals, or the given numbers.
        max_points : int, default=3000
            Maximum number of rows to draw; if there are more, a random sample, always the same.
        ax : Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : OOPResidualsDisplay
            The display itself.
        """
        names = {"residual_vs_predicted": "residual, actual minus predicted", "actual_vs_predicted": "actual"}
        if kind not in names:
            raise ValueError(f"kind={kind!r} must be 'residual_vs_predicted' or 'actual_vs_predicted'.")
        load_pyplot()
        axes = make_axes()[0] if ax is None else ax
        is_residual = kind == "residual_vs_predicted"
        heights = self.targets - self.predictions if is_residual else self.targets
        shown: Any = slice(None)
        if self.n_rows > max_points:
            shown = np.random.default_rng(0).choice(self.n_rows, max_points, replace=False)
        label = f"{self.n_rows:,} rows" if self.n_rows <= max_points else f"{max_points:,} of {self.n_rows:,} rows"
        self.points_ = axes.scatter(
            self.predictions[shown], heights[shown], 9, COLOURS[5], alpha=0.5, linewidths=0, label=label
        )
        low, high = self.predictions.min(), self.predictions.max()
        right = [0, 0] if is_residual else [low, high]
        self.line_ = axes.plot([low, high], right, color="black", linewidth=1, label="no error")[0]
        self.lines_ = self._draw_quantiles(axes, heights)
        axes.set(xlabel=f"prediction ({self.source})", ylabel=names[kind])
        tidy(axes)
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
        self.ax_, self.figure_ = axes, axes.figure
        return self

    def _draw_quantiles(self, axes: "Axes", heights: NDArray[np.float64]) -> dict[str, Any]:
        """Draw quantiles of groups of rows with similar predictions."""
        n_groups = min(MAX_GROUPS, self.n_rows // MIN_ROWS)
        if n_groups < 2:
            return {}
        groups = np.array_split(np.argsort(self.predictions, kind="stable"), n_groups)
        x = [np.median(self.predictions[group]) for group in groups]
        quantiles = np.array([np.quantile(heights[group], list(QUANTILES.values())) for group in groups])
        styles = [("--", 1.4), ("-", 2.2), ("--", 1.4)]
        return {
            name: axes.plot(x, y, color=COLOURS[4], linestyle=dash, linewidth=width, label=name)[0]
            for name, y, (dash, width) in zip(QUANTILES, quantiles.T, styles, strict=True)
        }
