"""Display of the training rows, by how hard they are."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from scipy.sparse import issparse
from scipy.spatial.distance import cdist

from mpboost.estimators.base import MinipatchBooster
from mpboost.inspection.checks import check_image_shape, check_model
from mpboost.inspection.drawing import COLOURS, MARKERS, load_pyplot, make_axes, shorten
from mpboost.inspection.judgement import decode_targets, require_judgement
from mpboost.inspection.projection import open_table, project, read_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Area of a row of mean weight, in square points; largest area, to which all are scaled down if needed; smallest area.
AREA, LARGEST, SMALLEST = 8.0, 120.0, 0.6
#: Longer side of a thumbnail in points; maximum number of characters of a note.
THUMBNAIL, NOTE_LENGTH = 36, 16
#: Height of a note in inches, with an image and without.
IMAGE_HEIGHT, NOTE_HEIGHT = 1.0, 0.45
#: If there are too many rows to draw, this share of the drawn ones are the hardest.
HARD_SHARE = 0.2


class ObservationsDisplay:
    """Scatter plot of the training rows before and after training; after it, hard rows are drawn larger.

    Create it with ``from_estimator``. The area of a row is proportional to its weight, but at least a dot.

    Parameters
    ----------
    positions : array of shape (n_points, 2)
        Coordinates of the rows.
    weights : array of shape (n_points,)
        Relative sizes after training.
    targets : array of shape (n_points,)
        Labels, each with its own colour and marker; or numbers, shown on a colour scale.
    rows : array of shape (n_points,)
        Row numbers.
    is_class : bool, default=True
        Whether targets are labels.
    hardest : array of int, default=()
        Indices of the points to annotate.
    images : sequence of arrays, default=None
        Thumbnails of these points.
    axis_names : (str, str), default=("", "")
        Names of the axes.
    size_name : str, default="weight"
        Name of the weights.

    Attributes
    ----------
    ax_, figure_ : Axes or array of Axes, Figure
        The axes and the figure; an array of two axes for before and after training.
    points_ : list of PathCollection
        The points, one entry per class and axes.
    notes_ : list of AnnotationBbox
        The annotations of the hardest rows.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from mpboost import MPBoostClassifier, ObservationsDisplay
    >>> X, y = load_digits(n_class=2, return_X_y=True)
    >>> model = MPBoostClassifier(n_estimators=50, random_state=0).fit(X, y)
    >>> display = ObservationsDisplay.from_estimator(model, X, image_shape=(8, 8), n_hardest=4)
    >>> [axes.get_title() for axes in display.ax_]
    ['before training', 'after training (area: probability)']
    """

    def __init__(
        self,
        positions: ArrayLike,
        weights: ArrayLike,
        targets: ArrayLike,
        rows: ArrayLike,
        *,
        is_class: bool = True,
        hardest: ArrayLike = (),
        images: Sequence[NDArray[Any]] | None = None,
        axis_names: Sequence[str] = ("", ""),
        size_name: str = "weight",
    ):
        self.positions = np.asarray(positions, dtype=np.float64)
        self.weights = np.asarray(weights, dtype=np.float64)
        self.targets = np.asarray(targets)
        self.rows = np.asarray(rows)
        self.is_class = is_class
        self.hardest = np.asarray(hardest, dtype=np.intp)
        self.images = images
        self.axis_names = tuple(axis_names)
        self.size_name = size_name
        n_points = len(self.rows)
        if self.positions.shape != (n_points, 2) or not len(self.weights) == len(self.targets) == n_points:
            raise ValueError("positions must have shape (n_points, 2), and weights, targets and rows the same length.")

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        *,
        embedding: ArrayLike | None = None,
        size: Literal["probability", "difficulty"] = "probability",
        n_hardest: int = 6,
        image_shape: Sequence[int] | None = None,
        max_points: int = 3000,
        ax: "Axes | Sequence[Axes] | None" = None,
    ) -> Self:
        """Plot the training rows of a fitted model.

        Parameters
        ----------
        model : estimator of mpboost
            A fitted model.
        X : array-like of shape (n_samples, n_features)
            The table that it was fitted on.
        embedding : array of shape (n_samples, 2), default=None
            Coordinates of the rows. None takes the first two principal components of the rows that are drawn: of raw
            pixels if ``image_shape`` is given, else of features scaled to unit variance; missing values are replaced
            by the mean.
        size : {"probability", "difficulty"}, default="probability"
            What the size of a row shows: ``observation_probabilities_``, or ``observation_difficulty_``; rows without
            an out-of-patch prediction have no difficulty and are left out.
        n_hardest : int, default=6
            How many rows to annotate with their number and label: the largest ones, ties by difficulty.
        image_shape : (int, int), default=None
            Rows and columns of pixels, if each feature is a pixel: annotations show images.
        max_points : int, default=3000
            Maximum number of rows to draw. If there are more, a fifth of those drawn are the hardest, and the rest is
            a random sample, always the same.
        ax : Axes or sequence of two Axes, default=None
            Where to draw: one for the rows after training, two for before and after. None makes a figure of two.

        Returns
        -------
        display : ObservationsDisplay
            The display, drawn.
        """
        load_pyplot()
        check_model(model)
        table = open_table(X)
        n_rows = model.n_samples_
        if table.shape[0] != n_rows:
            raise ValueError(f"X has {table.shape[0]} rows, but the model was fitted on {n_rows}: pass its training X.")
        if image_shape is not None:
            image_shape = check_image_shape(image_shape, model.n_features_in_)
        weights = _read_sizes(model, size)
        ranked = _rank_rows(weights, model.observation_difficulty_)
        rows = _choose_rows(ranked, max_points)
        if embedding is None:
            positions = project(read_rows(table, rows), is_image=image_shape is not None)
        else:
            positions = np.asarray(embedding, dtype=np.float64)
            if positions.shape != (n_rows, 2):
                raise ValueError(f"embedding must have shape ({n_rows}, 2), not {positions.shape}.")
            positions = positions[rows]
        hardest = np.searchsorted(rows, ranked[:n_hardest])
        images = None
        if image_shape is not None:
            pixels = read_rows(table, rows[hardest])
            images = [row.reshape(image_shape) for row in (pixels.toarray() if issparse(pixels) else pixels)]
        display = cls(
            positions,
            weights[rows],
            decode_targets(model, model._targets[rows]),
            rows,
            is_class=hasattr(model, "classes_"),
            hardest=hardest,
            images=images,
            axis_names=("first principal component", "second principal component") if embedding is None else ("", ""),
            size_name=size,
        )
        return display.plot(ax=ax)

    def plot(self, *, ax: "Axes | Sequence[Axes] | None" = None) -> Self:
        """Draw the plot.

        Parameters
        ----------
        ax : Axes or sequence of two Axes, default=None
            Where to draw: one for the rows after training, two for before and after. None makes a figure of two.

        Returns
        -------
        display : ObservationsDisplay
            The display itself.
        """
        note_height = NOTE_HEIGHT if self.images is None else IMAGE_HEIGHT
        height = max(4.8, 0.5 + note_height * ((len(self.hardest) + 1) // 2))
        panels = make_axes(2, (11.0, height)) if ax is None else np.ravel(np.asarray(ax))
        if len(panels) > 2:
            raise ValueError(f"ax must be one or two axes, not {len(panels)}.")
        moments = [(f"after training (area: {self.size_name})", self.weights)]
        if len(panels) == 2:
            moments.insert(0, ("before training", np.ones(len(self.weights))))
        self.points_: list[Any] = []
        self.notes_: list[Any] = []
        for axes, (title, weights) in zip(panels, moments, strict=True):
            self._draw_points(axes, weights)
            axes.set(title=title, xticks=[], yticks=[], xlabel=self.axis_names[0], ylabel=self.axis_names[1])
            self._set_limits(axes)
        self._annotate(panels[-1])
        self._add_key(panels)
        self.ax_, self.figure_ = panels if len(panels) == 2 else panels[0], panels[0].figure
        return self

    def _draw_points(self, axes: "Axes", weights: NDArray[np.float64]) -> None:
        # Large points first, so that they do not hide small ones.
        order = np.argsort(-weights, kind="stable")
        unit = min(AREA / (weights.mean() or 1.0), LARGEST / (weights.max() or 1.0))
        areas = np.maximum(unit * weights, SMALLEST)
        look: dict[str, Any] = {"alpha": 0.6, "linewidths": 0.4, "edgecolors": "white"}
        if not self.is_class:
            x, y = self.positions[order].T
            self.points_.append(axes.scatter(x, y, areas[order], self.targets[order], cmap="viridis", **look))
            return
        for i, label in enumerate(np.unique(self.targets)):
            own = order[self.targets[order] == label]
            x, y = self.positions[own].T
            style: dict[str, Any] = {"color": COLOURS[i % len(COLOURS)], "marker": MARKERS[i % len(MARKERS)]}
            self.points_.append(axes.scatter(x, y, areas[own], label=str(label), **style, **look))

    def _set_limits(self, axes: "Axes") -> None:
        """Leave space for annotations on both sides, in both panels, so that these can be compared."""
        (left, low), (right, high) = self.positions.min(axis=0), self.positions.max(axis=0)
        width, height = (right - left) or 1.0, (high - low) or 1.0
        side = 0.28 * width if len(self.hardest) else 0.05 * width
        axes.set(xlim=(left - side, right + side), ylim=(low - 0.06 * height, high + 0.06 * height))

    def _annotate(self, axes: "Axes") -> None:
        """Annotate the hardest rows in two columns, left and right of all points."""
        from matplotlib.offsetbox import AnnotationBbox

        points = self.positions[self.hardest]
        n_left = len(points) // 2
        columns = (0.01, n_left), (0.99, len(points) - n_left)
        places = [(x, (i + 0.5) / n) for x, n in columns for i in range(n)]  # as fractions of the axes
        if not places:
            return
        # The assignment of points to places with the shortest total length has no crossing lines.
        pairs = linear_sum_assignment(cdist(axes.transLimits.transform(points), places))
        for which, place in zip(*pairs, strict=True):
            note = AnnotationBbox(
                self._write_note(which),
                points[which],
                xybox=places[place],
                boxcoords="axes fraction",
                box_alignment=(float(places[place][0] > 0.5), 0.5),
                arrowprops={"arrowstyle": "-", "linewidth": 0.7, "color": "#333333"},
                bboxprops={"edgecolor": "#999999", "linewidth": 0.6},
                pad=0.2,
            )
            self.notes_.append(axes.add_artist(note))

    def _write_note(self, which: int) -> Any:
        """Write the row number and the target of a row, below its image if there is one."""
        from matplotlib.offsetbox import OffsetImage, TextArea, VPacker

        point = self.hardest[which]
        target = f"label {self.targets[point]}" if self.is_class else f"y = {self.targets[point]:,.6g}"
        words = TextArea(f"row {self.rows[point]}\n{shorten(target, NOTE_LENGTH)}", textprops={"fontsize": 8})
        if self.images is None:
            return words
        image = self.images[which]
        thumbnail = OffsetImage(image, zoom=THUMBNAIL / max(image.shape), cmap="gray_r")
        return VPacker(children=[thumbnail, words], align="center", pad=0, sep=2)

    def _add_key(self, panels: NDArray[Any]) -> None:
        """Add a legend or a colour bar beside the panels."""
        figure, axes = panels[0].figure, panels[-1]
        if not self.is_class:
            figure.colorbar(self.points_[-1], ax=list(panels), label="target", shrink=0.8)
            return
        n_classes = len(self.points_) // len(panels)
        key = axes.legend(
            loc="upper left",
            bbox_to_anchor=(1.0, 1.0),
            frameon=False,
            title="class",
            ncols=1 + (n_classes - 1) // 16,
        )
        for handle in key.legend_handles:
            handle.set_sizes([40.0])


def _read_sizes(model: MinipatchBooster, size: str) -> NDArray[np.float64]:
    """Read the sizes of rows; NaN for rows without one."""
    if size == "probability":
        return np.asarray(model.observation_probabilities_)
    if size != "difficulty":
        raise ValueError(f"size={size!r} must be 'probability' or 'difficulty'.")
    rows = require_judgement(model).rows
    difficulty = np.full(len(model.observation_difficulty_), np.nan)
    difficulty[rows] = model.observation_difficulty_[rows]
    return difficulty


def _rank_rows(weights: NDArray[np.float64], difficulty: NDArray[np.float64]) -> NDArray[np.intp]:
    """Rank the rows that have a weight, the hardest first; difficulty breaks ties of p."""
    ranked = np.lexsort((-difficulty, -weights))
    return ranked[: np.count_nonzero(~np.isnan(weights))]


def _choose_rows(ranked: NDArray[np.intp], max_points: int) -> NDArray[np.intp]:
    """Choose the rows to draw, in ascending order: all, or the hardest and a sample of the rest."""
    if len(ranked) > max_points:
        n_hard = int(HARD_SHARE * max_points)
        rest = np.random.default_rng(0).choice(ranked[n_hard:], max_points - n_hard, replace=False)
        ranked = np.concatenate([ranked[:n_hard], rest])
    return np.sort(ranked)
