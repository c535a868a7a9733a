"""Display of the effects of features."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from mpboost._arrays import Floats
from mpboost.inspection.drawing import load_pyplot, make_axes, pick_styles, shorten, tidy
from mpboost.inspection.effects import EffectCurve, FeatureEffect, choose_scale, compute_effects, read_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Default number of features, and of axes in a row.
N_FEATURES, N_COLUMNS = 9, 3
#: Up to so many points are marked.
N_MARKED = 12
#: Height of the longest mark of where rows are, as a share of the axes.
RUG_HEIGHT = 0.1


class EffectsDisplay:
    """Plot of the effects of features: which way each of them pushes the prediction, one axes per feature.

    Create it with ``from_estimator``. A curve is the mean prediction with the feature at each value in all rows
    (partial dependence). The band shows how 80 % of the single rows move around it: a wide band tells that the
    effect depends on other features. Marks at the bottom show where the rows are; dots of categories are larger the
    more rows they have. All axes have the same scale of predictions. See ``compute_effects`` for how to read effects
    of correlated features.

    Parameters
    ----------
    effects : sequence of FeatureEffect
        What ``compute_effects`` returned.

    Attributes
    ----------
    ax_ : array of Axes
        One for each feature.
    figure_ : Figure
        The figure.
    lines_ : list of list of Line2D
        For each feature, the curves; of a categorical feature, the dots.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mpboost import EffectsDisplay, MPBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = MPBoostClassifier(n_estimators=50, random_state=0).fit(X, y)
    >>> display = EffectsDisplay.from_estimator(model, X, ["worst area", "symmetry error"])
    >>> [axes.get_title() for axes in display.ax_]
    ['worst area: falls', 'symmetry error: flat']
    """

    def __init__(self, effects: Sequence[FeatureEffect]):
        self.effects = list(effects)
        if not self.effects or not all(isinstance(effect, FeatureEffect) for effect in self.effects):
            raise ValueError("effects must be a list of one or more FeatureEffect, from compute_effects.")

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        features: Any = None,
        *,
        n_features: int = N_FEATURES,
        max_rows: int = 1000,
        ax: "Axes | Sequence[Axes] | None" = None,
    ) -> Self:
        """Plot the effects of features on the predictions of a fitted model.

        Parameters
        ----------
        model : estimator of mpboost
            A fitted model.
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Rows to average over.
        features : str, int, or list of str or int, default=None
            Names or columns of features; None takes those with the highest q.
        n_features : int, default=9
            How many features to take if ``features`` is None.
        max_rows : int, default=1000
            The most rows to average over; see ``compute_effects``.
        ax : Axes or sequence of Axes, default=None
            Where to draw, one for each feature; None makes a figure.

        Returns
        -------
        display : EffectsDisplay
            The display, drawn.
        """
        return cls(compute_effects(model, X, features, n_features=n_features, max_rows=max_rows)).plot(ax=ax)

    def plot(self, *, ax: "Axes | Sequence[Axes] | None" = None) -> Self:
        """Draw the plot.

        Parameters
        ----------
        ax : Axes or sequence of Axes, default=None
            Where to draw, one for each feature; None makes a figure.

        Returns
        -------
        display : EffectsDisplay
            The display itself.
        """
        load_pyplot()
        all_axes = self._make_axes() if ax is None else np.atleast_1d(np.asarray(ax, dtype=object)).ravel()
        if len(all_axes) != len(self.effects):
            raise ValueError(f"There are {len(all_axes)} axes for {len(self.effects)} features: pass one for each.")
        limits = self._find_limits()
        self.lines_ = []
        for axes, effect in zip(all_axes, self.effects, strict=True):
            draw = _draw_categories if effect.kind == "category" else _draw_numbers
            self.lines_.append(draw(axes, effect, limits))
            tidy(axes)
            is_alone = len(effect.curves) == 1
            axes.set_title(f"{shorten(effect.name, 28)}: {effect.curves[0].direction}" if is_alone else effect.name)
            axes.title.set_fontsize("medium")
        self.ax_, self.figure_ = all_axes, all_axes[0].figure
        if len(self.effects[0].curves) > 1:
            self._add_legend(is_own=ax is None)
        return self

    def _make_axes(self) -> Any:
        n_columns = min(N_COLUMNS, len(self.effects))
        n_rows = -(-len(self.effects) // n_columns)
        return make_axes(len(self.effects), (3.6 * n_columns, 0.4 + 2.7 * n_rows), n_rows)

    def _find_limits(self) -> tuple[float, float]:
        """Compute the limits of predictions that all axes share."""
        drawn = [values for effect in self.effects for curve in effect.curves for values in _list_drawn(effect, curve)]
        low, high = min(values.min() for values in drawn), max(values.max() for values in drawn)
        room = 0.06 * (high - low) or 0.01
        return low - room, high + room

    def _add_legend(self, *, is_own: bool) -> None:
        """Name the classes: above a figure of our own, else in the first axes."""
        names = [shorten(curve.quantity, 40) for curve in self.effects[0].curves]
        if is_own:
            self.figure_.legend(self.lines_[0], names, loc="outside upper center", ncols=len(names), frameon=False)
        else:
            self.ax_[0].legend(self.lines_[0], names)


def _list_drawn(effect: FeatureEffect, curve: EffectCurve) -> list[Floats]:
    """List the arrays that are drawn for a curve; bands of several classes would cover each other."""
    return [curve.means] if len(effect.curves) > 1 else [curve.means, curve.low, curve.high]


def _draw_numbers(axes: "Axes", effect: FeatureEffect, limits: tuple[float, float]) -> list[Any]:
    """Draw curves over the values; missing values are a mark beside them, infinite ones are left out."""
    numbers = read_numbers(effect)
    is_drawn = ~np.isnan(numbers)
    x = numbers[is_drawn]
    scale = choose_scale(effect)
    if scale == "sqrt":
        axes.set_xscale("function", functions=(lambda value: np.sqrt(np.maximum(value, 0.0)), np.square))
    else:
        axes.set_xscale(scale)
    lines = []
    for curve, style in zip(effect.curves, pick_styles(len(effect.curves)), strict=True):
        mark = "o" if len(x) <= N_MARKED else None
        lines += axes.plot(x, curve.means[is_drawn], marker=mark, markersize=3.5, linewidth=1.8, **style)
        if len(effect.curves) == 1:
            axes.fill_between(x, curve.low[is_drawn], curve.high[is_drawn], color=style["color"], alpha=0.15, lw=0)
    if scale == "sqrt":
        axes.set_xlim(left=0.0)
    low, high = limits
    axes.set(ylim=limits, ylabel=_name_axis(effect))
    ticks = axes.get_yticks()
    axes.set_yticks(ticks[(ticks >= low) & (ticks <= high)])
    axes.set_ylim(low - 1.2 * RUG_HEIGHT * (high - low), high)  # room for the marks below the curves
    # Roots of shares: few rows are visible beside many.
    heights = RUG_HEIGHT * np.sqrt(effect.shares[is_drawn] / max(effect.shares.max(), 1e-9))
    to_axes = axes.get_xaxis_transform()
    axes.vlines(x, 0.0, heights, transform=to_axes, color="black", alpha=0.45, linewidth=1.2, clip_on=False)
    if effect.values[-1] is None:
        _draw_missing(axes, effect)
    return lines


def _draw_missing(axes: "Axes", effect: FeatureEffect) -> None:
    """Draw missing values, the last point, at the right end of the axes, beyond all values."""
    axes.autoscale_view()
    to_axes = axes.get_xaxis_transform()
    low, high = axes.get_xlim()
    transform = axes.xaxis.get_transform()
    start, end = transform.transform(np.array([low, high]))
    place, new_end = transform.inverted().transform(np.array([end + 0.07 * (end - start), end + 0.16 * (end - start)]))
    axes.set_xlim(low, new_end)
    for curve, style in zip(effect.curves, pick_styles(len(effect.curves)), strict=True):
        axes.plot(place, curve.means[-1], marker="D", markersize=5, color=style["color"])
        if len(effect.curves) == 1:
            axes.vlines(place, curve.low[-1], curve.high[-1], color=style["color"], alpha=0.35, linewidth=3)
    axes.text(place, 0.02, "missing", transform=to_axes, ha="center", va="bottom", rotation=90, fontsize="x-small")


def _draw_categories(axes: "Axes", effect: FeatureEffect, limits: tuple[float, float]) -> list[Any]:
    """Draw a row of dots for each category, in the order of the first curve, the highest at the top."""
    order = np.argsort(effect.curves[0].means, kind="stable")
    places = np.arange(len(order))
    sizes = 14 + 70 * effect.shares[order] / max(effect.shares.max(), 1e-9)
    lines = []
    for curve, style in zip(effect.curves, pick_styles(len(effect.curves)), strict=True):
        means = curve.means[order]
        if len(effect.curves) == 1:
            axes.hlines(places, curve.low[order], curve.high[order], color=style["color"], alpha=0.2, linewidth=5)
        lines += axes.plot(means, places, linestyle="none", marker="o", markersize=1, color=style["color"])
        axes.scatter(means, places, sizes, color=style["color"], zorder=3)
    names = ["missing" if effect.values[k] is None else shorten(effect.values[k], 16) for k in order]
    axes.set_yticks(places, names, fontsize="small" if len(names) <= 10 else "xx-small")
    axes.set(xlim=limits, ylim=(-0.7, len(places) - 0.3), xlabel=_name_axis(effect))
    return lines


def _name_axis(effect: FeatureEffect) -> str:
    return shorten(effect.curves[0].quantity, 30) if len(effect.curves) == 1 else "probability"
