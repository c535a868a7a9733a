"""Display of ROC and precision-recall curves."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from mpboost.inspection.checks import check_predicts
from mpboost.inspection.drawing import count_rows, make_axes, pick_styles, shorten, tidy
from mpboost.inspection.judgement import choose_judgement
from mpboost.inspection.ranking import RankingCurve, pick_worst, trace_curve, trace_curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CurveKind = Literal["roc", "precision_recall"]

#: Maximum number of characters of the name of a class.
NAME_LENGTH = 16


class RankingCurvesDisplay:
    """ROC or precision-recall curves: how well a model ranks rows by the probability of a class.

    Create it with ``from_estimator`` or ``from_predictions``. With two classes there is one curve, of the second class;
    with more, one for each class against the rest.

    Parameters
    ----------
    curves : sequence of RankingCurve
        The curves of some classes.
    source : str, default=""
        Which rows the curves are from.

    Attributes
    ----------
    curves : list of RankingCurve
        The curves; each has ``roc_auc`` and ``average_precision``.
    ax_, figure_ : Axes, Figure
        The axes and the figure.
    lines_ : dict of str to Line2D
        The curves, by class.
    chance_ : Line2D
        The curve of a model that knows nothing. A precision-recall plot has it only if there is one curve.

    See Also
    --------
    evaluate : All scores of a model on a table.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mpboost import MPBoostClassifier, RankingCurvesDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MPBoostClassifier(n_estimators=100, random_state=0).fit(X[:400], y[:400])
    >>> display = RankingCurvesDisplay.from_estimator(model)  # out-of-patch
    >>> display.curves[0].roc_auc > 0.95
    True
    >>> display = RankingCurvesDisplay.from_estimator(model, X[400:], y[400:], kind="precision_recall")
    >>> list(display.lines_)
    ['1']
    """

    def __init__(self, curves: Sequence[RankingCurve], *, source: str = ""):
        self.curves = list(curves)
        if not self.curves:
            raise ValueError("There is no curve: rows of a class and rows of others are needed.")
        self.source = source

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any = None,
        y: Any = None,
        *,
        kind: CurveKind = "roc",
        max_curves: int = 6,
        ax: "Axes | None" = None,
    ) -> Self:
        """Plot the curves of a fitted classifier.

        Parameters
        ----------
        model : MPBoostClassifier or MPGradientBoostingClassifier
            A fitted model.
        X, y : array-like, default=None
            New rows and their labels; None takes the out-of-patch predictions of the training rows.
        kind : {"roc", "precision_recall"}, default="roc"
            Which curves to plot.
        max_curves : int, default=6
            Maximum number of curves; if there are more classes, those that are ranked worst.
        ax : Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : RankingCurvesDisplay
            The display, drawn.
        """
        check_predicts("classes", model, cls.__name__, instead="OOPResidualsDisplay")
        judgement = choose_judgement(model, X, y)
        curves = trace_curves(judgement, model.classes_, max_curves)
        return cls(curves, source=judgement.source).plot(kind=kind, ax=ax)

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        y_score: ArrayLike,
        *,
        classes: Sequence[Any] | None = None,
        kind: CurveKind = "roc",
        max_curves: int = 6,
        ax: "Axes | None" = None,
    ) -> Self:
        """Plot the curves of any predictions.

        Parameters
        ----------
        y : array-like of shape (n_rows,)
            The labels.
        y_score : array-like of shape (n_rows,) or (n_rows, n_classes)
            The probabilities of the second of two classes, or of each class; or any other numbers that rank rows.
        classes : sequence, default=None
            The classes, in the order of the columns; None takes the sorted labels.
        kind : {"roc", "precision_recall"}, default="roc"
            Which curves to plot.
        max_curves : int, default=6
            Maximum number of curves; if there are more classes, those that are ranked worst.
        ax : Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : RankingCurvesDisplay
            The display, drawn.
        """
        labels, scores = np.asarray(y), np.asarray(y_score, dtype=np.float64)
        names = np.unique(labels) if classes is None else np.asarray(classes)
        if scores.ndim == 1:
            scores = np.column_stack([-scores, scores])
        if scores.shape != (len(labels), len(names)):
            raise ValueError(
                f"y_score has {scores.shape[1]} columns and {len(scores)} rows, but there are {len(names)} classes and "
                f"{len(labels)} labels."
            )
        shown = [1] if len(names) == 2 else range(len(names))
        curves = [trace_curve(names[k], scores[:, k], labels == names[k]) for k in shown]
        return cls(pick_worst(curves, max_curves)).plot(kind=kind, ax=ax)

    def plot(self, *, kind: CurveKind = "roc", ax: "Axes | None" = None) -> Self:
        """Draw the plot.

        Parameters
        ----------
        kind : {"roc", "precision_recall"}, default="roc"
            Which curves to plot.
        ax : Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : RankingCurvesDisplay
            The display itself.
        """
        if kind not in ("roc", "precision_recall"):
            raise ValueError(f"kind={kind!r} must be 'roc' or 'precision_recall'.")
        axes = make_axes(size=(5.4, 5.2))[0] if ax is None else ax
        is_roc, is_single = kind == "roc", len(self.curves) == 1
        chance = [0.0, 1.0] if is_roc else [self.curves[0].share] * 2
        if is_roc or is_single:
            self.chance_ = axes.plot([0, 1], chance, color="black", linestyle=":", linewidth=1, label="chance")[0]
        self.lines_ = {}
        for curve, style in zip(self.curves, pick_styles(len(self.curves)), strict=True):
            label = f"{shorten(curve.name, NAME_LENGTH)}: " + (
                f"AUC {curve.roc_auc:.3f}" if is_roc else f"AP {curve.average_precision:.3f}"
            )
            if is_roc:
                line = axes.plot(curve.false_positive_rates, curve.true_positive_rates, label=label, **style)
            else:
                # Between two thresholds the precision is that of the next one, as average precision counts it.
                line = axes.step(curve.recalls, curve.precisions, where="pre", label=label, **style)
            self.lines_[curve.name] = line[0]
        names = ("share of other rows called (false positive rate)", "share of the class found (recall)")
        x_name, y_name = names if is_roc else (names[1], "share of those called that are right (precision)")
        source = f"\n{count_rows(self.curves[0].n_rows, self.source)}" if self.source else ""
        axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel=f"{x_name}{source}", ylabel=y_name)
        tidy(axes)
        title = None if is_single else "class against the rest"
        axes.legend(loc="lower right" if is_roc else "lower left", framealpha=1, title=title, alignment="left")
        self.ax_, self.figure_ = axes, axes.figure
        return self
