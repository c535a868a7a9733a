"""Display of the effective numbers of observations and features."""

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from mpboost.inspection.drawing import COLOURS, make_axes, read_history, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: If some share is smaller than this, the axis is logarithmic.
SMALL_SHARE = 0.1


class EffectiveNumbersDisplay:
    """Plot of the effective numbers of observations and features over the iterations, as shares of all.

    Create it with ``from_estimator``. The effective numbers are 1 / sum(p²) and 1 / sum(q²): p, or q, is as
    concentrated as if so many were equally probable and the others never drawn. They fall when the model concentrates
    on hard observations and on useful features; near 1, it has collapsed on a single one.

    Parameters
    ----------
    iterations : array of shape (n_moments,)
        The recorded iterations.
    effective_observations, effective_features : arrays of shape (n_moments,)
        The effective numbers at these iterations.
    n_samples, n_features : int
        Total numbers of observations and features.
    best_iteration : int, default=None
        The best iteration, to be marked.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        The axes and the figure.
    lines_ : dict of str to Line2D
        The curves, "observations" and "features".

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mpboost import EffectiveNumbersDisplay, MPBoostClassifier
    >>> model = MPBoostClassifier(n_estimators=50, random_state=0).fit(*load_breast_cancer(return_X_y=True))
    >>> display = EffectiveNumbersDisplay.from_estimator(model)
    >>> list(display.lines_)
    ['observations', 'features']
    """

    def __init__(
        self,
        iterations: ArrayLike,
        effective_observations: ArrayLike,
        effective_features: ArrayLike,
        *,
        n_samples: int,
        n_features: int,
        best_iteration: int | None = None,
    ):
        self.iterations = np.asarray(iterations)
        self.effective_observations = np.asarray(effective_observations, dtype=np.float64)
        self.effective_features = np.asarray(effective_features, dtype=np.float64)
        shapes = {self.iterations.shape, self.effective_observations.shape, self.effective_features.shape}
        if len(shapes) > 1 or self.iterations.ndim != 1 or not self.iterations.size:
            raise ValueError("iterations and effective numbers must be one-dimensional, not empty, and equally long.")
        self.n_samples = n_samples
        self.n_features = n_features
        self.best_iteration = best_iteration

    @classmethod
    def from_estimator(cls, model: Any, *, ax: "Axes | None" = None) -> Self:
        """Plot the effective numbers of a fitted model; no data are needed.

        Parameters
        ----------
        model : estimator of mpboost
            A fitted model.
        ax : Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : EffectiveNumbersDisplay
            The display, drawn.
        """
        history = read_history(model)
        display = cls(
            history.iterations,
            history.effective_observations,
            history.effective_features,
            n_samples=model.n_samples_,
            n_features=model.n_features_in_,
            best_iteration=model.best_iteration_,
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
        display : EffectiveNumbersDisplay
            The display itself.
        """
        axes = make_axes(size=(9.0, 4.2))[0] if ax is None else ax
        numbers = {
            "observations": (self.effective_observations, self.n_samples, COLOURS[0], "-"),
            "features": (self.effective_features, self.n_features, COLOURS[4], "--"),
        }
        self.lines_, smallest = {}, 1.0
        for name, (effective, n_all, colour, dash) in numbers.items():
            label = f"{name}: {effective[-1]:,.0f} of {n_all:,} at the end"
            percent = 100 * effective / n_all
            smallest = min(smallest, effective.min() / n_all)
            line = axes.plot(self.iterations, percent, color=colour, linestyle=dash, marker=".", label=label)
            self.lines_[name] = line[0]
        if self.best_iteration is not None:
            label = f"best iteration {self.best_iteration}"
            axes.axvline(self.best_iteration, color="black", linestyle=":", linewidth=1.2, label=label)
        axes.set(xscale="log", xlabel="iteration", ylabel="effective share of all, in %")
        if smallest < SMALL_SHARE:
            axes.set(yscale="log", ylim=(None, 130))
        else:
            axes.set_ylim(0, 104)
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.yaxis.set_major_formatter("{x:g}")
        tidy(axes)
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
        self.ax_, self.figure_ = axes, axes.figure
        return self
