"""Display of the confusion matrix: out-of-patch, or of new rows."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from mpboost.inspection.checks import check_predicts
from mpboost.inspection.confusion import count_confusion
from mpboost.inspection.drawing import count_rows, make_axes, shorten
from mpboost.inspection.judgement import choose_judgement

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: With more classes, cells show counts without shares; with even more, no counts.
MAX_SHARES, MAX_COUNTS = 8, 40
#: Maximum number of characters of a name.
NAME_LENGTH = 16


class OOPConfusionDisplay:
    """Confusion matrix of out-of-patch predictions, or of new rows.

    Create it with ``from_estimator``. Colours show shares of the rows of a label on a cube-root scale, so that rare
    mistakes are visible; cells without rows are blank.

    Parameters
    ----------
    confusion_matrix : int array of shape (n_classes, n_classes)
        Counts: a row for each label, a column for each prediction.
    display_labels : sequence, default=None
        Names of the classes; None numbers them from 0.
    source : str, default="out-of-patch"
        Which rows the counts are from.

    Attributes
    ----------
    n_rows, accuracy : int, float
        Number of rows, and the share of correct predictions.
    ax_, figure_ : Axes, Figure
        The axes and the figure.
    im_ : AxesImage
        The cells.
    text_ : dict of (int, int) to Text
        The texts of the cells, by row and column.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mpboost import MPBoostClassifier, OOPConfusionDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MPBoostClassifier(n_estimators=50, random_state=0).fit(X, y)
    >>> OOPConfusionDisplay.from_estimator(model).confusion_matrix.sum(axis=1)
    array([50, 50, 50])
    """

    def __init__(
        self,
        confusion_matrix: ArrayLike,
        *,
        display_labels: Sequence[Any] | None = None,
        source: str = "out-of-patch",
    ):
        self.confusion_matrix = np.asarray(confusion_matrix)
        shape = self.confusion_matrix.shape
        if len(shape) != 2 or shape[0] != shape[1] or not self.confusion_matrix.any():
            raise ValueError("confusion_matrix must be square, with at least one count above 0.")
        labels = range(shape[0]) if display_labels is None else display_labels
        if len(labels) != shape[0]:
            raise ValueError(f"There are {len(labels)} display_labels for {shape[0]} classes.")
        self.display_labels = [shorten(label, NAME_LENGTH) for label in labels]
        self.source = source
        self.n_rows = int(self.confusion_matrix.sum())
        self.accuracy = float(np.trace(self.confusion_matrix) / self.n_rows)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any = None,
        y: Any = None,
        *,
        display_labels: Sequence[Any] | None = None,
        ax: "Axes | None" = None,
    ) -> Self:
        """Plot the confusion matrix of a fitted classifier.

        Parameters
        ----------
        model : MPBoostClassifier or MPGradientBoostingClassifier
            A fitted model.
        X, y : array-like, default=None
            New rows and their labels; None takes the out-of-patch predictions of the training rows. Gradient models
            have them only for the rows that they reserved.
        display_labels : sequence, default=None
            Names of the classes; None takes the labels.
        ax : Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : OOPConfusionDisplay
            The display, drawn.
        """
        check_predicts("classes", model, cls.__name__, instead="OOPResidualsDisplay")
        judgement = choose_judgement(model, X, y)
        matrix = count_confusion(judgement, len(model.classes_)).to_matrix()
        labels = model.classes_ if display_labels is None else display_labels
        return cls(matrix, display_labels=labels, source=judgement.source).plot(ax=ax)

    def plot(self, *, ax: "Axes | None" = None) -> Self:
        """Draw the plot.

        Parameters
        ----------
        ax : Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : OOPConfusionDisplay
            The display itself.
        """
        n_classes = len(self.display_labels)
        side = 2.2 + (0.8 * n_classes if n_classes <= MAX_SHARES else 0.32 * min(n_classes, MAX_COUNTS))
        room = 0.08 * max(map(len, self.display_labels))  # for the names
        axes = make_axes(size=(side + room + 1.0, side + room))[0] if ax is None else ax
        from matplotlib.colors import PowerNorm

        totals = self.confusion_matrix.sum(axis=1, keepdims=True)
        shares = self.confusion_matrix / np.maximum(totals, 1)
        self.im_ = axes.imshow(shares, cmap="Blues", norm=PowerNorm(1 / 3, vmin=0, vmax=1))
        self.text_ = {}
        for i, j in np.argwhere(self.confusion_matrix).tolist() if n_classes <= MAX_COUNTS else ():
            words = str(self.confusion_matrix[i, j])
            if n_classes <= MAX_SHARES:
                words = f"{self.confusion_matrix[i, j]:,}\n{100 * shares[i, j]:.1f} %"
            colour = "white" if shares[i, j] > 0.2 else "black"
            size = 9 if n_classes <= MAX_SHARES else 6.5
            self.text_[i, j] = axes.text(j, i, words, color=colour, fontsize=size, ha="center", va="center")
            self.text_[i, j].set_in_layout(False)  # measuring hundreds of texts would take seconds
        self._name_classes(axes)
        axes.set_ylabel("label")
        axes.set_xlabel(f"prediction\n{count_rows(self.n_rows, self.source)}, {100 * self.accuracy:.1f} % right")
        beside = axes.inset_axes((1.06, 0.0, 0.06, 1.0))  # as high as the matrix: below it is the number of rows
        axes.figure.colorbar(self.im_, cax=beside, label="share of the label's rows", ticks=[0, 0.01, 0.1, 0.5, 1])
        self.ax_, self.figure_ = axes, axes.figure
        return self

    def _name_classes(self, axes: "Axes") -> None:
        """Write the names of the classes, as many as fit; long names below are rotated."""
        step = -(-len(self.display_labels) // MAX_COUNTS)
        ticks, names = range(0, len(self.display_labels), step), self.display_labels[::step]
        is_long = max(map(len, names)) > (8 if len(names) <= MAX_SHARES else 3)
        axes.set_xticks(ticks, names, rotation=90 if is_long else 0)
        axes.set_yticks(ticks, names)
        axes.tick_params(length=0)
