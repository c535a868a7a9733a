"""The display of a tree."""

import pytest

from mpboost import TreeDisplay
from mpboost.estimators.decision_tree import DecisionTree, TreeNode
from tests.support.explained import KINDS, fit_kind
from tests.support.pictures import draw


def list_boxes(display):
    """List the boxes of nodes, without the answers on lines."""
    return [text for text in display.ax_.texts if text.get_text() not in ("yes", "no")]


@pytest.mark.parametrize("kind", KINDS)
def test_tree_has_a_box_for_each_node_that_is_drawn(kind):
    model, _ = fit_kind(kind)
    display = TreeDisplay.from_estimator(model, 1, max_depth=3)
    draw(display)
    drawn = [node for node in model.get_tree(1).nodes if node.depth <= 3]
    assert len(list_boxes(display)) == len(drawn)
    assert len(display.ax_.lines) == len(drawn) - 1


def test_boxes_do_not_overlap_and_say_what_is_below():
    model, _ = fit_kind("numbers")
    display = TreeDisplay.from_estimator(model, 0, max_depth=2)
    figure = draw(display)
    renderer = figure.canvas.get_renderer()
    boxes = [text.get_bbox_patch().get_window_extent(renderer) for text in list_boxes(display)]
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[i + 1 :])
    tree = model.get_tree(0)
    n_below = sum(node.is_leaf for node in tree.nodes if node.depth > 2)
    hidden = [text.get_text() for text in list_boxes(display) if text.get_text().startswith("…")]
    assert sum(int(text.split()[1]) for text in hidden) == n_below > 0


def test_tree_of_one_leaf_is_drawn():
    display = TreeDisplay(DecisionTree([TreeNode(0, 0, None, 5.0, leaf=0, value=1.5)])).plot()
    draw(display)
    assert [text.get_text() for text in display.ax_.texts] == ["1.5\nn = 5"]


def test_tree_display_refuses_nonsense():
    model, _ = fit_kind("numbers")
    with pytest.raises(IndexError, match="no tree 99"):
        TreeDisplay.from_estimator(model, 99)
    with pytest.raises(ValueError, match="must not be negative"):
        TreeDisplay.from_estimator(model, max_depth=-1)
    with pytest.raises(TypeError, match="get_tree"):
        TreeDisplay("tree")
