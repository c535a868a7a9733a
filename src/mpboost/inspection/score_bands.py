"""Display of the scores of several runs and settings."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mpboost.inspection.checks import check_model
from mpboost.inspection.drawing import make_axes, pick_styles, tidy
from mpboost.inspection.stages import name_score, score_stages

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ScoreBandsDisplay:
    """Plot of the mean score of several runs of each setting, with a band from the worst to the best run.

    Parameters
    ----------
    scores : mapping of str to array of shape (n_runs, n_iterations)
        Scores after iterations 1, 2, ... of each run, by name of the setting.
    score_name : str, default="score"
        Name of the score.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        The axes and the figure.
    lines_ : dict of str to Line2D
        The means, by name.
    bands_ : dict of str to PolyCollection
        The bands, by name.

    See Also
    --------
    ScoreCurvesDisplay : One run, with its best and its last iteration.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mpboost import MPBoostClassifier, ScoreBandsDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> models = {
    ...     f"m = {m}": [
    ...         MPBoostClassifier(n_estimators=20, stopping=None, max_features=m, random_state=seed).fit(X, y)
    ...         for seed in range(3)
    ...     ]
    ...     for m in (3, 10)
    ... }
    >>> display = ScoreBandsDisplay.from_estimators(models)
    >>> display.scores["m = 3"].shape
    (3, 20)
    """

    def __init__(self, scores: Mapping[str, ArrayLike], *, score_name: str = "score"):
        self.scores: dict[str, NDArray[np.float64]] = {
            name: np.asarray(runs, dtype=np.float64) for name, runs in scores.items()
        }
        if not self.scores or any(runs.ndim != 2 or not runs.size for runs in self.scores.values()):
            raise ValueError("scores must contain, for each setting, an array of shape (n_runs, n_iterations).")
        self.score_name = score_name

    @classmethod
    def from_estimators(
        cls,
        models: Mapping[str, Iterable[Any]],
        X: Any = None,
        y: Any = None,
        *,
        ax: "Axes | None" = None,
    ) -> Self:
        """Plot the scores of fitted models.

        Parameters
        ----------
        models : mapping of str to iterable of estimators of mpboost
            Several fitted models per setting, such as several seeds. Each setting is cut to its shortest run: fit with
            ``stopping=None``.
        X, y : array-like, default=None
            Rows to score on; None takes the out-of-patch scores.
        ax : Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : ScoreBandsDisplay
            The display, drawn.
        """
        scores, name = {}, "score"
        for setting, runs in models.items():
            curves = []
            for model in runs:
                check_model(model)
                is_oop = X is None and y is None
                curves.append(model.oop_scores_ if is_oop else score_stages(model, X, y))
                name = f"{'out-of-patch' if is_oop else 'test'} {name_score(model)}"
            length = min(map(len, curves), default=0)
            scores[setting] = [curve[:length] for curve in curves]
        return cls(scores, score_name=name).plot(ax=ax)

    def plot(self, *, as_error: bool = False, ax: "Axes | None" = None) -> Self:
        """Draw the plot.

        Parameters
        ----------
        as_error : bool, default=False
            Whether to plot one minus the score on a logarithmic axis: shows differences of accuracies near 1.
        ax : Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : ScoreBandsDisplay
            The display itself.
        """
        axes = make_axes()[0] if ax is None else ax
        self.lines_, self.bands_ = {}, {}
        for (name, scores), style in zip(self.scores.items(), pick_styles(len(self.scores)), strict=True):
            runs = 1 - scores if as_error else scores
            t = np.arange(1, runs.shape[1] + 1)
            self.lines_[name] = axes.plot(t, runs.mean(axis=0), label=name, linewidth=1.8, **style)[0]
            self.bands_[name] = axes.fill_between(
                t, runs.min(axis=0), runs.max(axis=0), color=style["color"], alpha=0.18, linewidth=0
            )
        length = max(runs.shape[1] for runs in self.scores.values())
        axes.set(xlim=(0, length), xlabel="iteration", ylabel=f"1 - {self.score_name}" if as_error else self.score_name)
        if as_error:
            from matplotlib.ticker import LogLocator

            axes.set_yscale("log", subs=[])
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.yaxis.set_major_formatter("{x:g}")
        tidy(axes)
        counts = sorted({len(runs) for runs in self.scores.values()})
        repeats = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        title = f"mean and range of {repeats} runs"
        axes.legend(loc="best", framealpha=1, title=title, alignment="left")
        self.ax_, self.figure_ = axes, axes.figure
        return self
