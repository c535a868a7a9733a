"""Display of contributions of features: to the prediction for one row, or for many rows."""

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from mpboost._wording import count
from mpboost.inspection.contributions import Contributions, compute_explained, spread_dots
from mpboost.inspection.drawing import load_pyplot, make_axes, shorten, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Default number of features.
N_FEATURES = 10
#: Colours of what raises and what lowers the output; of high, low and unknown values.
RAISES, LOWERS, UNKNOWN = "#D55E00", "#0072B2", "#8a8f94"
VALUE_COLOURS = ("#0072B2", "#7a5195", "#D55E00")


class ContributionsDisplay:
    """Plot of contributions of features to predictions (Shapley values).

    Create it with ``from_estimator``. For one row it is a waterfall: from the expected output at the bottom, each bar
    moves to the right or to the left by what a feature contributes, up to the output of the row. For many rows it has a
    line of dots for each feature, one for each row: to the right if the feature raises the output there, and with a
    colour for the value, from blue for the lowest to orange for the highest; missing values and categories are grey.

    Parameters
    ----------
    contributions : Contributions
        What is drawn; one row makes a waterfall.
    n_features : int, default=10
        The most features to show; those with the largest contributions. The others are added up in a waterfall.

    Attributes
    ----------
    ax_ : Axes
        The axes.
    figure_ : Figure
        The figure.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mpboost import ContributionsDisplay, MPBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = MPBoostClassifier(n_estimators=50, random_state=0).fit(X, y)
    >>> display = ContributionsDisplay.from_estimator(model, X, row=3)
    >>> display.ax_.get_xlabel()
    'share of votes for 1'
    """

    def __init__(self, contributions: Contributions, *, n_features: int = N_FEATURES):
        if not isinstance(contributions, Contributions) or not len(contributions):
            raise ValueError("contributions must be of one or more rows: use from_estimator.")
        if n_features < 1:
            raise ValueError(f"n_features={n_features} must be at least 1.")
        self.contributions = contributions
        self.n_features = n_features

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        *,
        row: int | None = None,
        class_label: Any = None,
        background: Any = None,
        n_features: int = N_FEATURES,
        max_rows: int = 1000,
        ax: "Axes | None" = None,
    ) -> Self:
        """Plot contributions of features to the predictions of a fitted model.

        Parameters
        ----------
        model : estimator of mpboost
            A fitted model of native trees.
        X : array-like, data frame, sparse matrix or BinnedDataset of shape (n_samples, n_features)
            Rows to explain.
        row : int, default=None
            The row to explain, by its position; None for all rows.
        class_label : object, default=None
            The class whose output is explained. None for the second of two classes, or, of more, for the class that a
            single row has the highest output of.
        background : array-like, data frame or sparse matrix, default=None
            See ``predict_contributions``.
        n_features : int, default=10
            The most features to show.
        max_rows : int, default=1000
            If there are more rows, this many of them are explained.
        ax : Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : ContributionsDisplay
            The display, drawn.
        """
        explained = compute_explained(
            model, X, row=row, class_label=class_label, background=background, max_rows=max_rows
        )
        return cls(explained, n_features=n_features).plot(ax=ax)

    def plot(self, *, ax: "Axes | None" = None) -> Self:
        """Draw the plot.

        Parameters
        ----------
        ax : Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : ContributionsDisplay
            The display itself.
        """
        load_pyplot()
        is_single = len(self.contributions) == 1
        n_lines = min(self.n_features, self.contributions.values.shape[1]) + is_single
        axes = make_axes(size=(7.4, 1.3 + 0.36 * n_lines))[0] if ax is None else ax
        tidy(axes)
        axes.grid(visible=False, axis="y")
        (self._draw_waterfall if is_single else self._draw_dots)(axes)
        self.ax_, self.figure_ = axes, axes.figure
        return self

    def _draw_waterfall(self, axes: "Axes") -> None:
        drawn = self.contributions
        values, ranked = drawn.values[0], drawn.rank_features()
        shown, rest = ranked[: self.n_features], ranked[self.n_features :]
        names = [f"{shorten(drawn.feature_names[j], 30)} = {shorten(drawn.show(0, j), 16)}" for j in shown]
        steps = [float(values[j]) for j in shown]
        if len(rest):
            names.append(f"{count(len(rest), 'other feature')}")
            steps.append(float(values[rest].sum()))
        expected, output = float(drawn.expected[0]), float(drawn.expected[0] + values.sum())
        if abs(output) < 1e-12 * (abs(expected) + np.abs(values).sum()):  # what is left by rounding
            output = 0.0
        ends = output - np.concatenate([[0.0], np.cumsum(steps)])  # from the top, the output, down to what is expected
        low, high = min(ends.min(), expected), max(ends.max(), expected)
        width = (high - low) or 1.0
        for place, step in enumerate(steps):
            colour = RAISES if step > 0 else LOWERS
            axes.barh(-place, step, left=ends[place + 1], color=colour, height=0.66)
            axes.vlines(ends[place + 1], -place - 1.33, -place + 0.33, color="#b5b9bd", linewidth=0.8)
            end = max(ends[place], ends[place + 1])
            axes.text(end + 0.012 * width, -place, f"{step:+.3g}", va="center", color=colour, fontsize="small")
        axes.axvline(expected, color="#555555", linewidth=0.9, linestyle=":", zorder=0)
        axes.set_yticks(-np.arange(len(names)), names)
        axes.set(xlim=(low - 0.05 * width, high + 0.14 * width), ylim=(-len(steps) + 0.4, 0.6), xlabel=drawn.quantity)
        axes.set_title(f"{output:.3g}, expected {expected:.3g}", fontsize="medium")

    def _draw_dots(self, axes: "Axes") -> None:
        from matplotlib.colors import LinearSegmentedColormap

        drawn = self.contributions
        shown = drawn.rank_features()[: self.n_features]
        colours = LinearSegmentedColormap.from_list("values", VALUE_COLOURS)
        width = float(np.ptp(drawn.values[:, shown])) or 1.0
        axes.axvline(0.0, color="#555555", linewidth=0.9, zorder=0)
        for place, feature in enumerate(shown):
            x, ranks = drawn.values[:, feature], drawn.rank_values(feature)
            y = -place + 0.38 * spread_dots(x, width)
            axes.axhline(-place, color="#e4e5e3", linewidth=0.8, zorder=0)
            is_known = ~np.isnan(ranks)
            axes.scatter(x[~is_known], y[~is_known], s=7, c=UNKNOWN, linewidth=0)
            dots = axes.scatter(x[is_known], y[is_known], s=7, c=ranks[is_known], cmap=colours, vmin=0, vmax=1, lw=0)
        axes.set_yticks(-np.arange(len(shown)), [shorten(drawn.feature_names[j], 36) for j in shown])
        axes.set(ylim=(-len(shown) + 0.4, 0.6), xlabel=f"contribution to the {drawn.quantity}")
        axes.set_title(f"{len(drawn):,} rows, expected {float(drawn.expected.mean()):.3g}", fontsize="medium")
        bar = axes.figure.colorbar(dots, ax=axes, pad=0.02, aspect=30)
        bar.set_ticks([0.0, 1.0], labels=["low", "high"])
        bar.set_label("value of the feature", labelpad=-14)
        bar.outline.set_visible(False)
