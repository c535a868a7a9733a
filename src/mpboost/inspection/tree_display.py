"""Display of one tree."""

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from mpboost._wording import format_number
from mpboost.estimators.decision_tree import DecisionTree, TreeNode
from mpboost.estimators.explained import ExplainedBooster
from mpboost.inspection.checks import check_model
from mpboost.inspection.drawing import load_pyplot, make_axes, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Colours of the boxes of splits and leaves, and of the lines between them.
SPLIT_COLOUR, LEAF_COLOUR, LINE_COLOUR = "#f6f7f7", "#e2eff8", "#8a8f94"
#: Inches that a leaf and a level take; letters of a line.
LEAF_WIDTH, LEVEL_HEIGHT, N_LETTERS = 1.15, 0.95, 18


class TreeDisplay:
    """Plot of one tree of a model.

    Create it with ``from_estimator``. Boxes are splits, with the condition for going left, and leaves, with what they
    say; n is the cover, the weight of the training rows that got there. Thicker lines have more of them.

    Parameters
    ----------
    tree : DecisionTree
        The tree.
    max_depth : int, default=4
        Levels of splits to draw; what is below is drawn as a box with the number of its leaves.

    Attributes
    ----------
    ax_ : Axes
        The axes.
    figure_ : Figure
        The figure.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mpboost import MPBoostClassifier, TreeDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = MPBoostClassifier(n_estimators=5, random_state=0).fit(X, y)
    >>> display = TreeDisplay.from_estimator(model, 0)
    >>> display.tree.depth > 1
    True
    """

    def __init__(self, tree: DecisionTree, *, max_depth: int = 4):
        if not isinstance(tree, DecisionTree):
            raise TypeError("tree must be a DecisionTree, as model.get_tree returns it.")
        if max_depth < 0:
            raise ValueError(f"max_depth={max_depth} must not be negative.")
        self.tree = tree
        self.max_depth = max_depth

    @classmethod
    def from_estimator(cls, model: Any, index: int = 0, *, max_depth: int = 4, ax: "Axes | None" = None) -> Self:
        """Plot a tree of a fitted model.

        Parameters
        ----------
        model : estimator of mpboost
            A fitted model of native trees.
        index : int, default=0
            Number of the tree, in the order of training.
        max_depth : int, default=4
            Levels of splits to draw.
        ax : Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : TreeDisplay
            The display, drawn.
        """
        check_model(model)
        assert isinstance(model, ExplainedBooster)
        return cls(model.get_tree(index), max_depth=max_depth).plot(ax=ax)

    def plot(self, *, ax: "Axes | None" = None) -> Self:
        """Draw the plot.

        Parameters
        ----------
        ax : Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : TreeDisplay
            The display itself.
        """
        load_pyplot()
        places = self._place_nodes()
        n_columns = 1 + max(x for x, _ in places.values())
        n_levels = 1 + max(-y for _, y in places.values())
        size = max(3.0, LEAF_WIDTH * n_columns), max(1.5, 0.3 + LEVEL_HEIGHT * n_levels)
        axes = make_axes(size=size)[0] if ax is None else ax
        total = self.tree.nodes[0].cover
        for number, place in places.items():
            self._draw_node(axes, self.tree.nodes[number], place, places, total)
        axes.set(xlim=(-0.6, n_columns - 0.4), ylim=(-n_levels + 0.5, 0.5))
        axes.set_axis_off()
        self.ax_, self.figure_ = axes, axes.figure
        return self

    def _place_nodes(self) -> dict[int, tuple[float, float]]:
        """Place the nodes that are drawn: those without drawn children side by side, others above their children."""
        places: dict[int, tuple[float, float]] = {}
        n_ends = 0
        drawn = [node for node in self.tree.nodes if node.depth <= self.max_depth]
        for node in drawn:
            if self._is_end(node):
                places[node.number] = float(n_ends), -float(node.depth)
                n_ends += 1
        for node in reversed(drawn):
            if not self._is_end(node):
                assert node.left is not None
                assert node.right is not None
                x = (places[node.left][0] + places[node.right][0]) / 2
                places[node.number] = x, -float(node.depth)
        return places

    def _is_end(self, node: TreeNode) -> bool:
        return node.is_leaf or node.depth == self.max_depth

    def _draw_node(
        self,
        axes: "Axes",
        node: TreeNode,
        place: tuple[float, float],
        places: dict[int, tuple[float, float]],
        total: float,
    ) -> None:
        for child, answer in ((node.left, "yes"), (node.right, "no")):
            if child is None or child not in places:
                continue
            share = self.tree.nodes[child].cover / total if total > 0 else np.nan
            (x, y), (to_x, to_y) = place, places[child]
            axes.plot(
                [x, to_x],
                [y, to_y],
                color=LINE_COLOUR,
                linewidth=1.0 if np.isnan(share) else 0.6 + 4.0 * share,
                zorder=1,
                solid_capstyle="round",
            )
            axes.text(
                (x + to_x) / 2,
                (y + to_y) / 2,
                answer,
                fontsize="x-small",
                ha="center",
                va="center",
                zorder=2,
                bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none"},
            )
        axes.text(
            *place,
            self._write(node),
            ha="center",
            va="center",
            fontsize="x-small",
            zorder=3,
            bbox={
                "boxstyle": "round,pad=0.35",
                "facecolor": LEAF_COLOUR if node.is_leaf else SPLIT_COLOUR,
                "edgecolor": LINE_COLOUR,
                "linewidth": 0.8,
            },
        )

    def _write(self, node: TreeNode) -> str:
        lines = [node.format_value() if node.is_leaf else node.condition]
        if not node.is_leaf and self._is_end(node):
            lines = [f"… {self._count_leaves(node)} leaves"]
        lines = [line for text in lines for line in _wrap(text)]
        if not np.isnan(node.cover):
            lines.append(f"n = {format_number(node.cover)}")
        return "\n".join(lines)

    def _count_leaves(self, node: TreeNode) -> int:
        n_leaves, pending = 0, [node]
        while pending:
            each = pending.pop()
            n_leaves += each.is_leaf
            pending += [self.tree.nodes[child] for child in (each.left, each.right) if child is not None]
        return n_leaves


def _wrap(text: str, n_lines: int = 3) -> list[str]:
    """Break a text into short lines."""
    lines: list[str] = []
    for word in text.split(" "):
        if lines and len(lines[-1]) + 1 + len(word) <= N_LETTERS:
            lines[-1] += f" {word}"
        else:
            lines.append(shorten(word, N_LETTERS))
    return lines if len(lines) <= n_lines else [*lines[: n_lines - 1], shorten(lines[n_lines - 1] + " …", N_LETTERS)]
