"""Display of what is lost without each feature, with confidence intervals."""

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from mpboost.inspection.drawing import COLOURS, load_pyplot, make_axes, shorten, tidy
from mpboost.inspection.feature_inference import LEVEL, FeatureInference, infer_features

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Default number of features to draw.
N_FEATURES = 20


class FeatureInferenceDisplay:
    """Plot of what is lost without each feature: a dot with its confidence interval, the most significant first.

    Filled dots are features whose adjusted p-value is below 0.05; all others are hollow.

    Parameters
    ----------
    inference : FeatureInference
        What ``infer_features`` returned.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        The axes and the figure.
    intervals_ : LineCollection
        The intervals, in the order of the plot.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mpboost import FeatureInferenceDisplay, MPBoostClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> display = FeatureInferenceDisplay.from_estimator(MPBoostClassifier(n_estimators=500, random_state=0), X, y)
    >>> display.ax_.get_xlabel()
    'loss in the share of right votes without the feature'
    """

    def __init__(self, inference: FeatureInference):
        if not isinstance(inference, FeatureInference):
            raise TypeError(f"inference must be a FeatureInference, from infer_features, not {inference!r}.")
        self.inference = inference

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, n_features: int = N_FEATURES, ax: "Axes | None" = None, **options: Any
    ) -> Self:
        """Infer which features help, and plot it.

        Parameters
        ----------
        estimator : MPBoostClassifier or MPBoostRegressor
            The estimator; see ``infer_features``.
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            The table.
        y : array-like of shape (n_samples,)
            Labels of classes, or numbers.
        n_features : int, default=20
            How many features to draw, the most significant ones.
        ax : Axes, default=None
            Where to draw; None makes a figure.
        **options : dict
            Other arguments of ``infer_features``.

        Returns
        -------
        display : FeatureInferenceDisplay
            The display, drawn.
        """
        return cls(infer_features(estimator, X, y, **options)).plot(n_features=n_features, ax=ax)

    def plot(self, *, n_features: int = N_FEATURES, ax: "Axes | None" = None) -> Self:
        """Draw the plot.

        Parameters
        ----------
        n_features : int, default=20
            How many features to draw, the most significant ones.
        ax : Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : FeatureInferenceDisplay
            The display itself.
        """
        load_pyplot()
        inference, drawn = self.inference, self.inference.rank()[:n_features]
        axes = make_axes(size=(7.0, 1.3 + 0.25 * len(drawn)))[0] if ax is None else ax
        places = np.arange(len(drawn))
        is_clear = inference.adjusted_p_value[drawn] < LEVEL
        axes.axvline(0.0, color="black", linewidth=0.9)
        self.intervals_ = axes.hlines(
            places, inference.low[drawn], inference.high[drawn], color=np.where(is_clear, COLOURS[0], COLOURS[6]), lw=2
        )
        for kind, face, words in (
            (is_clear, COLOURS[0], f"adjusted p-value below {LEVEL:g}"),
            (~is_clear, "white", f"{LEVEL:g} or above"),
        ):
            edge = COLOURS[0] if face == COLOURS[0] else COLOURS[6]
            axes.plot(
                inference.importance[drawn][kind],
                places[kind],
                "o",
                color=edge,
                markerfacecolor=face,
                markersize=5.5,
                label=words,
            )
        axes.set_yticks(places, [shorten(inference.features[k], 40) for k in drawn])
        axes.set_ylim(len(drawn) - 0.4, -0.6)
        axes.set_xlabel(f"{inference.loss} without the feature")
        axes.set_title(f"importance with {100 * inference.coverage:g} % intervals", fontsize="medium")
        tidy(axes)
        axes.grid(visible=False, axis="y")
        axes.legend(loc="lower right", framealpha=1)
        self.ax_, self.figure_ = axes, axes.figure
        return self
