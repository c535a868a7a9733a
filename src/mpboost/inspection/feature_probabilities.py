"""Display of the feature probabilities q."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mpboost.boosting.callbacks import FeatureProbabilityRecorder
from mpboost.estimators.base import MinipatchBooster
from mpboost.inspection.checks import check_image_shape, check_model
from mpboost.inspection.drawing import (
    COLOURS,
    load_pyplot,
    make_axes,
    pick_styles,
    read_history,
    tidy,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ProbabilitiesKind = Literal["bar", "image", "path"]

#: Default numbers of bars and of paths.
N_BARS, N_PATHS = 20, 8
#: Maximum numbers of images in a row, and in all.
ROW_IMAGES, MAX_IMAGES = 8, 32


class FeatureProbabilitiesDisplay:
    """Plot of the feature probabilities q: as ranked bars, as images, or as paths over the iterations.

    Create it with ``from_estimator``.

    Parameters
    ----------
    probabilities : mapping of int to array of shape (n_features,)
        q by iteration, in ascending order; the last one is q of the model.
    feature_names : sequence of str, default=None
        Names; None numbers the features from 0.
    image_shape : (int, int), default=None
        Rows and columns of pixels, if each feature is a pixel; needed for images.

    Attributes
    ----------
    ax_, figure_ : Axes or array of Axes, Figure
        The axes and the figure; an array of axes if there are several images.
    bars_ : BarContainer
        The bars of ``kind="bar"``.
    images_ : list of AxesImage
        The images of ``kind="image"``.
    lines_ : dict of str to Line2D
        The paths of ``kind="path"``, by feature name.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mpboost import FeatureProbabilitiesDisplay, MPBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = MPBoostClassifier(n_estimators=50, stopping=None, random_state=0).fit(X, y)
    >>> len(FeatureProbabilitiesDisplay.from_estimator(model).bars_)
    20
    >>> display = FeatureProbabilitiesDisplay.from_estimator(model, kind="path", n_features=5)
    >>> len(display.lines_)
    5
    """

    def __init__(
        self,
        probabilities: Mapping[int, ArrayLike],
        *,
        feature_names: Sequence[str] | None = None,
        image_shape: Sequence[int] | None = None,
    ):
        self.probabilities: dict[int, NDArray[np.float64]] = {
            t: np.asarray(q, dtype=np.float64) for t, q in probabilities.items()
        }
        lengths = {q.size if q.ndim == 1 else 0 for q in self.probabilities.values()}
        if len(lengths) != 1 or 0 in lengths:
            raise ValueError("probabilities must contain, for each iteration, one number per feature.")
        n_features = lengths.pop()
        names = range(n_features) if feature_names is None else feature_names
        if len(names) != n_features:
            raise ValueError(f"There are {len(names)} feature_names for {n_features} features.")
        self.feature_names = [f"feature {name}" if feature_names is None else str(name) for name in names]
        self.image_shape = None if image_shape is None else check_image_shape(image_shape, n_features)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        *,
        kind: ProbabilitiesKind = "bar",
        recorder: FeatureProbabilityRecorder | None = None,
        image_shape: Sequence[int] | None = None,
        n_features: int | None = None,
        ax: "Axes | Sequence[Axes] | None" = None,
    ) -> Self:
        """Plot the feature probabilities of a fitted model.

        Parameters
        ----------
        model : estimator of mpboost
            A fitted model.
        kind : {"bar", "image", "path"}, default="bar"
            Kind of plot; see ``plot``.
        recorder : FeatureProbabilityRecorder, default=None
            A recorder that was one of the ``callbacks`` of the fit: adds what it recorded before the best iteration.
            Without a recorder, paths come from ``history_``.
        image_shape : (int, int), default=None
            Rows and columns of pixels, if each feature is a pixel; needed for images.
        n_features : int, default=None
            How many bars or paths to draw; see ``plot``.
        ax : Axes or sequence of Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : FeatureProbabilitiesDisplay
            The display, drawn.
        """
        check_model(model)
        kept: Mapping[int, ArrayLike] = {}
        if recorder is not None:
            kept = recorder.probabilities_
        elif kind == "path":
            kept = _read_paths(model)
        if any(np.size(q) != model.n_features_in_ for q in kept.values()):
            raise ValueError("The recorder has another number of features than the model: it belongs to another fit.")
        probabilities = {t: q for t, q in sorted(kept.items()) if t < model.best_iteration_}
        probabilities[model.best_iteration_] = model.feature_probabilities_
        names = getattr(model, "feature_names_in_", None)
        display = cls(probabilities, feature_names=names, image_shape=image_shape)
        return display.plot(kind=kind, n_features=n_features, ax=ax)

    def plot(
        self,
        *,
        kind: ProbabilitiesKind = "bar",
        n_features: int | None = None,
        ax: "Axes | Sequence[Axes] | None" = None,
    ) -> Self:
        """Draw the plot.

        Parameters
        ----------
        kind : {"bar", "image", "path"}, default="bar"
            "bar" ranks the features by their final q; "image" draws one image per recorded iteration, one pixel per
            feature, all on one square-root scale, so that small probabilities are visible; "path" shows q of the most
            probable features over the recorded iterations.
        n_features : int, default=None
            How many features to show, those with the highest final q; None is 20 bars or 8 paths. Images show all.
        ax : Axes or sequence of Axes, default=None
            Where to draw; images need one per recorded iteration. None makes a figure.

        Returns
        -------
        display : FeatureProbabilitiesDisplay
            The display itself.
        """
        draw = {"bar": self._draw_bars, "image": self._draw_images, "path": self._draw_paths}.get(kind)
        if draw is None:
            raise ValueError(f"kind={kind!r} must be 'bar', 'image' or 'path'.")
        load_pyplot()
        draw(n_features, ax)
        return self

    def _rank(self, n_features: int) -> NDArray[np.intp]:
        """Select the features with the highest final q, in descending order."""
        return np.argsort(-self._last, kind="stable")[:n_features]

    @property
    def _last(self) -> NDArray[np.float64]:
        return list(self.probabilities.values())[-1]

    @property
    def _uniform(self) -> float:
        return 1 / len(self.feature_names)

    def _draw_bars(self, n_features: int | None, ax: Any) -> None:
        ranked = self._rank(n_features or N_BARS)
        axes = make_axes(size=(7.0, 1.1 + 0.22 * len(ranked)))[0] if ax is None else ax
        names = [self.feature_names[feature] for feature in ranked]
        positions = np.arange(len(ranked))  # not names: two features may have the same
        self.bars_ = axes.barh(positions, self._last[ranked], color=COLOURS[0], height=0.75)
        axes.set_yticks(positions, names)
        axes.set_ylim(len(ranked) - 0.4, -0.6)
        axes.axvline(self._uniform, color="black", linestyle="--", linewidth=1.2, label=f"uniform, {self._uniform:.3g}")
        axes.set_xlabel("probability q")
        tidy(axes)
        axes.grid(visible=False, axis="y")
        axes.legend(loc="lower right", framealpha=1)
        self.ax_, self.figure_ = axes, axes.figure

    def _draw_paths(self, n_features: int | None, ax: Any) -> None:
        if len(self.probabilities) < 2:
            raise ValueError("kind='path' needs probabilities of more than one iteration.")
        axes = make_axes(size=(8.0, 4.2))[0] if ax is None else ax
        ranked = self._rank(n_features or N_PATHS)
        t, paths = list(self.probabilities), np.array(list(self.probabilities.values()))
        self.lines_ = {}
        for feature, style in zip(ranked, pick_styles(len(ranked)), strict=True):
            name = self.feature_names[feature]
            self.lines_[name] = axes.plot(t, paths[:, feature], label=name, linewidth=1.6, **style)[0]
        axes.axhline(self._uniform, color="black", linewidth=0.8, label=f"uniform, {self._uniform:.3g}")
        axes.set(xlim=(t[0], t[-1]), xlabel="iteration", ylabel="probability q")
        axes.set_ylim(bottom=0)
        tidy(axes)
        # Beside the axes, in the order of the final q: inside it could cover lines.
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
        self.ax_, self.figure_ = axes, axes.figure

    def _draw_images(self, n_features: int | None, ax: Any) -> None:
        from matplotlib.colors import PowerNorm

        if self.image_shape is None:
            raise ValueError("kind='image' needs image_shape: the numbers of rows and columns of pixels.")
        n_images = len(self.probabilities)
        if n_images > MAX_IMAGES:
            raise ValueError(f"{n_images} images are too many, at most {MAX_IMAGES}: record fewer iterations.")
        panels = self._make_panels(n_images) if ax is None else np.ravel(np.asarray(ax))
        if len(panels) != n_images:
            raise ValueError(f"{n_images} images need as many axes, but ax has {len(panels)}.")
        largest = max(q.max() for q in self.probabilities.values())
        scale = PowerNorm(0.5, vmin=0, vmax=largest)
        self.images_ = []
        for axes, (t, q) in zip(panels, self.probabilities.items(), strict=True):
            self.images_.append(axes.imshow(q.reshape(self.image_shape), cmap="viridis", norm=scale))
            axes.set(xticks=[], yticks=[], title=f"t = {t}")
        figure = panels[0].figure
        ticks = [0, largest] if self._uniform > 0.5 * largest else [0, self._uniform, largest]
        names = [f"{tick:.2g}{', uniform' if tick == self._uniform else ''}" for tick in ticks]
        bar = figure.colorbar(self.images_[-1], ax=list(panels), label="probability q", shrink=0.8)
        bar.set_ticks(ticks, labels=names)
        self.ax_, self.figure_ = panels[0] if n_images == 1 else panels, figure

    def _make_panels(self, n_images: int) -> NDArray[Any]:
        assert self.image_shape is not None
        height, width = self.image_shape
        side, n_rows = 1.7 if n_images > 1 else 3.4, -(-n_images // ROW_IMAGES)
        size = 1.2 + side * -(-n_images // n_rows), n_rows * (0.4 + side * max(0.5, height / width))
        return make_axes(n_images, size, n_rows)


def _read_paths(model: MinipatchBooster) -> dict[int, NDArray[np.float32]]:
    """Read q at the iterations that the model recorded."""
    history = read_history(model)
    if history.feature_probabilities is None:
        raise ValueError(
            "This model has too many features to record q by itself: fit it with callbacks=[recorder], an instance of "
            "FeatureProbabilityRecorder, and pass recorder=recorder."
        )
    return dict(zip(history.iterations.tolist(), history.feature_probabilities, strict=True))
