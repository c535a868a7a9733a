"""Trees for people: in text, in the DOT language, node by node."""

import numpy as np
import pytest

from mpboost.estimators.decision_tree import DecisionTree, TreeNode
from tests.support.explained import KINDS, fit_kind


def make_tree():
    return DecisionTree(
        [
            TreeNode(0, 0, None, 12.5, "age", 30.25, None, True, 1, 2),
            TreeNode(1, 1, 0, 4.0, leaf=0, value="old"),
            TreeNode(2, 1, 0, 8.5, "col\nour", None, ['r"ed', "blue"], False, 3, 4),
            TreeNode(3, 2, 2, 8.0, leaf=1, value=-0.5),
            TreeNode(4, 2, 2, 0.5, leaf=2, value=np.array([1.0, 20000.0])),
        ]
    )


def test_text_draws_the_tree():
    assert make_tree().to_text().split("\n") == [
        "age ≤ 30.25 or missing?  (cover 12.5)",
        "├─ yes: old  (cover 4)",
        '└─ no:  col\\nour in {r"ed, blue}?  (cover 8.5)',
        "        ├─ yes: -0.5  (cover 8)",
        "        └─ no:  (1, 20 000)  (cover 0.5)",
    ]


def test_graphviz_names_nodes_and_edges_and_escapes_quotes():
    dot = make_tree().to_graphviz()
    assert dot.startswith("digraph tree {")
    assert dot.endswith("}")
    assert '0 [label="age ≤ 30.25 or missing\\n(cover 12.5)"];' in dot
    assert 'label="col\\\\nour in {r\\"ed, blue}\\n(cover 8.5)"' in dot
    assert "0 -> 1" in dot
    assert '2 -> 4 [label="no"];' in dot


def test_nodes_tell_conditions():
    unknown = TreeNode(0, 0, None, np.nan, "age", np.inf, None, False, 1, 2)
    assert unknown.condition == "age is not missing"
    assert DecisionTree([TreeNode(0, 0, None, np.nan, leaf=0, value=["a", "b"])]).to_text() == "a, b"
    many = TreeNode(0, 0, None, 1.0, "x", None, [*"abcdefghij"], True, 1, 2)
    assert many.condition == "x in {a, b, c, d, e, f and 4 more} or missing"


@pytest.mark.parametrize("kind", KINDS)
def test_trees_count_their_leaves_and_covers(kind):
    model, X = fit_kind(kind)
    for tree in model.trees_:
        leaves = [node for node in tree.nodes if node.is_leaf]
        assert [node.leaf for node in leaves] == [*range(tree.n_leaves)]
        assert tree.nodes[0].cover == pytest.approx(sum(node.cover for node in leaves))
        assert set(tree.features) <= {*X.columns}
        assert tree.depth == max(node.depth for node in leaves)
        assert repr(tree) == f"DecisionTree(n_leaves={tree.n_leaves}, depth={tree.depth})"
        assert all(tree.nodes[node.parent].depth == node.depth - 1 for node in tree.nodes[1:])
