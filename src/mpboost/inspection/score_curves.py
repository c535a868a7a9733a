"""Display of scores over the iterations."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mpboost.inspection.checks import check_model
from mpboost.inspection.drawing import COLOURS, LINES, make_axes, tidy
from mpboost.inspection.stages import name_score, read_losses, read_scores, score_stages

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Styles of the known curves; other curves take those of OTHERS.
STYLES: dict[str, dict[str, Any]] = {
    "training": {"color": "#555555", "linestyle": ":"},
    "out-of-patch": {"color": COLOURS[0], "linestyle": "-"},
    "validation": {"color": COLOURS[2], "linestyle": "-."},
    "test": {"color": COLOURS[1], "linestyle": "--"},
}
OTHERS = [{"color": COLOURS[3 + i % 3], "linestyle": LINES[i % 4]} for i in range(12)]


class ScoreCurvesDisplay:
    """Plot of training, out-of-patch and other scores over the iterations; marks the best and the last iteration.

    Create it with ``from_estimator``. The limits of the score axis ignore the first fiftieth of the iterations.

    Parameters
    ----------
    curves : mapping of str to array of shape (n_iterations,)
        Scores after iterations 1, 2, ... by name of the data; lengths may differ.
    best_iteration, n_iter : int, default=None
        Iterations to mark: the best one, at which the model is cut, and the last one.
    score_name : str, default="score"
        Name of the score.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        The axes and the figure.
    lines_ : dict of str to Line2D
        The curves, by name.

    See Also
    --------
    ScoreBandsDisplay : Several runs of several settings.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> from mpboost import MPBoostClassifier, ScoreCurvesDisplay
    >>> X_train, X_test, y_train, y_test = train_test_split(*load_breast_cancer(return_X_y=True), random_state=0)
    >>> model = MPBoostClassifier(n_estimators=50, random_state=0).fit(X_train, y_train)
    >>> display = ScoreCurvesDisplay.from_estimator(model, X_test, y_test)
    >>> list(display.lines_)
    ['training', 'out-of-patch', 'test']
    """

    def __init__(
        self,
        curves: Mapping[str, ArrayLike],
        *,
        best_iteration: int | None = None,
        n_iter: int | None = None,
        score_name: str = "score",
    ):
        self.curves: dict[str, NDArray[np.float64]] = {
            name: np.asarray(scores, dtype=np.float64) for name, scores in curves.items()
        }
        if not self.curves or any(scores.ndim != 1 or not len(scores) for scores in self.curves.values()):
            raise ValueError("curves must contain at least one curve, each with at least one score.")
        self.best_iteration = best_iteration
        self.n_iter = n_iter
        self.score_name = score_name

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any = None,
        y: Any = None,
        *,
        losses: bool = False,
        stopped: Any = None,
        ax: "Axes | None" = None,
    ) -> Self:
        """Plot the curves of a fitted model.

        Parameters
        ----------
        model : estimator of mpboost
            A fitted model.
        X, y : array-like, default=None
            Other rows to score all iterations on: the curve "test".
        losses : bool, default=False
            Whether to plot losses instead of scores: those on out-of-patch and validation rows that gradient models
            stop by. X and y must be None then.
        stopped : estimator of mpboost, default=None
            Another model whose best and last iteration are marked. To see what comes after the stop, fit one model
            with ``stopping=None`` and another with a stopping rule and the same ``random_state``.
        ax : Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : ScoreCurvesDisplay
            The display, drawn.
        """
        check_model(model)
        curves = read_losses(model) if losses else read_scores(model)
        if losses and not curves:
            raise ValueError(
                "This model has no losses: only gradient models with out-of-patch or validation rows have them."
            )
        if losses and (X is not None or y is not None):
            raise ValueError("With losses=True, X and y must be None.")
        if X is not None or y is not None:
            curves["test"] = score_stages(model, X, y)
        marked = model if stopped is None else stopped
        check_model(marked)
        name = "loss" if losses else name_score(model)
        display = cls(curves, best_iteration=marked.best_iteration_, n_iter=marked.n_iter_, score_name=name)
        return display.plot(ax=ax)

    def plot(self, *, ax: "Axes | None" = None) -> Self:
        """Draw the plot.

        Parameters
        ----------
        ax : Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : ScoreCurvesDisplay
            The display itself.
        """
        axes = make_axes()[0] if ax is None else ax
        length = max(map(len, self.curves.values()))
        others = iter(OTHERS * len(self.curves))
        self.lines_ = {
            name: axes.plot(
                np.arange(1, len(scores) + 1),
                scores,
                label=name,
                linewidth=1.8,
                **(STYLES[name] if name in STYLES else next(others)),
            )[0]
            for name, scores in self.curves.items()
        }
        low, high = self._compute_limits(length)
        axes.set(xlim=(0, 1.01 * length), ylim=(low, high), xlabel="iteration", ylabel=self.score_name)
        tidy(axes)
        self._mark(axes, length)
        axes.legend(loc="best", framealpha=1)
        self.ax_, self.figure_ = axes, axes.figure
        return self

    def _compute_limits(self, length: int) -> tuple[float, float]:
        """Compute the limits of the score axis without the first few scores, which may be far below the others."""
        settled = [scores[min(length // 50, len(scores) - 1) :] for scores in self.curves.values()]
        low, high = min(map(np.nanmin, settled)), max(map(np.nanmax, settled))
        margin = 0.04 * (high - low) or 0.01
        return low - margin, high + margin

    def _mark(self, axes: "Axes", length: int) -> None:
        """Mark the best and the last iteration by lines, with labels above the axes, where there are no curves."""
        marks: dict[int, list[str]] = {}
        if self.best_iteration is not None:
            axes.axvline(self.best_iteration, color="black", linestyle="--", linewidth=1.2)
            marks[self.best_iteration] = [f"best iteration {self.best_iteration}"]
        if self.n_iter is not None:
            axes.axvline(self.n_iter, color="black", linewidth=1.2)
            axes.axvspan(self.n_iter, 1.01 * length, color="#999999", alpha=0.15, linewidth=0)
            marks.setdefault(self.n_iter, []).append(f"stop at {self.n_iter}")
        if not marks:
            return
        # Tick labels, since a title moves above them; one line each, so that they never overlap.
        words = [", ".join(texts) for texts in marks.values()]
        above = axes.secondary_xaxis("top")
        above.set_xticks(list(marks), [text + "\n" * (len(words) - 1 - i) for i, text in enumerate(words)])
        above.spines["top"].set_visible(False)
        for label, position in zip(above.get_xticklabels(), marks, strict=True):
            label.set_horizontalalignment("left" if position < length / 2 else "right")
            label.set_verticalalignment("bottom")
