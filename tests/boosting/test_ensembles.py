"""Ensembles of trees with several outputs: totals, stages, pickles and what a model file holds of them."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array

from mpboost import _native
from mpboost.boosting import ensembles as ensemble
from mpboost.boosting.ensembles import TreeEnsemble
from mpboost.containers.attribute_kinds import FINITE, Decisions, Parts
from mpboost.containers.container import ContainerError
from mpboost.data.tables import DenseTable, SparseTable
from mpboost.model_files.model_file import describe_trees
from mpboost.outputs.kinds import Steps
from tests.support.native.forests import N_FEATURES, make_arrays, make_forest, read_arrays, take_tree
from tests.support.native.naive_tree import find_leaves

N_ROWS, SIZES = 200, (3, 0, 17, 40)
TABLES = {"dense": DenseTable, "sparse": lambda X: SparseTable.from_matrix(csr_array(X))}


def make_ensemble(n_outputs=3):
    """Make random trees, and the arrays that they are made of; bins are whole numbers."""
    splits, values, offsets, sets = make_arrays(sizes=SIZES)
    arrays = splits, np.random.default_rng(0).normal(size=(len(values), n_outputs)), offsets, sets
    mapper = _native.BinMapper(np.tile(np.arange(254) + 0.5, N_FEATURES), 254 * np.arange(N_FEATURES + 1))
    return TreeEnsemble(mapper, make_forest(*arrays)), arrays


def make_codes():
    return np.random.default_rng(1).integers(255, size=(N_FEATURES, N_ROWS), dtype=np.uint8)


@pytest.mark.parametrize("kind", TABLES)
def test_ensemble_adds_up_several_outputs(threads, monkeypatch, kind):
    monkeypatch.setattr(ensemble, "BATCH_CELLS", 0)
    monkeypatch.setattr(ensemble, "MIN_BATCH_ROWS", 64)  # four batches
    (trees, arrays), codes = make_ensemble(), make_codes()
    table, expected = TABLES[kind](codes.T.astype(np.float64)), np.zeros((N_ROWS, 3))
    stages = list(trees.staged_total(table, Steps(3), threads))
    for t, stage in enumerate(stages):
        splits, values, sets = take_tree(t, *arrays)
        expected += values[find_leaves(splits, codes, sets)]
        np.testing.assert_array_equal(stage, expected)
    assert len(stages) == len(SIZES)
    np.testing.assert_array_equal(trees.total(table, Steps(3), threads), expected)


@pytest.mark.parametrize("kind", TABLES)
def test_ensemble_of_taken_learners_adds_up_these_alone(threads, kind):
    trees, _ = make_ensemble()
    table = TABLES[kind](make_codes().T.astype(np.float64))
    each = [out.copy() for out in trees.each(table, Steps(3), threads)]
    taken = trees.take([3, 0])
    assert (len(taken), len(trees)) == (2, 4)
    np.testing.assert_array_equal(taken.total(table, Steps(3), threads), each[3] + each[0])
    np.testing.assert_array_equal(trees.total(table, Steps(3), threads), sum(each))


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_ensemble_passes_through_a_pickle(n_outputs):
    trees, _ = make_ensemble(n_outputs)
    loaded = pickle.loads(pickle.dumps(trees))
    assert loaded.forest.n_outputs == n_outputs
    for one, other in zip(read_arrays(loaded.forest), read_arrays(trees.forest), strict=True):
        assert one.shape == other.shape
        np.testing.assert_array_equal(one, other)


def read_from_file(trees, n_classes, **changes):
    """Write an ensemble for n_classes, change arrays, and read it again."""
    kind, parts = describe_trees(Decisions("float64", "n_leaves", "n_classes", rule=FINITE)), Parts()
    kind.write(parts, "ensemble", trees)
    for name, change in changes.items():
        parts.arrays[f"ensemble.{name}"] = change(parts.arrays[f"ensemble.{name}"])
    sizes = {"n_features": N_FEATURES, "n_trees": len(SIZES), "n_classes": n_classes}
    return kind.read(Parts(parts.values, parts.arrays, sizes), "ensemble")


@pytest.mark.parametrize(("n_outputs", "n_classes"), [(1, 2), (3, 3)])
def test_ensemble_passes_through_a_file(n_outputs, n_classes):
    trees, _ = make_ensemble(n_outputs)
    loaded = read_from_file(trees, n_classes)
    assert loaded.forest.n_outputs == n_outputs
    np.testing.assert_array_equal(loaded.forest.leaf_values, trees.forest.leaf_values)


@pytest.mark.parametrize(
    ("n_classes", "change", "message"),
    [
        pytest.param(4, np.copy, "size 3, but must have 4", id="fewer outputs than classes"),
        pytest.param(2, np.copy, "2 dimensions", id="outputs of two classes"),
        pytest.param(3, np.ravel, "1 dimensions", id="flat"),
        pytest.param(3, lambda values: values[:-1], "valid trees", id="a leaf less"),
        pytest.param(3, lambda values: values.reshape(3, -1), "but must have 3", id="reshaped"),
        pytest.param(3, lambda values: np.where(values > 0, np.inf, values), "finite", id="infinite"),
        pytest.param(0, lambda values: values[:, :0], "valid trees", id="no outputs"),
    ],
)
def test_file_of_an_ensemble_is_refused_with_wrong_outputs(n_classes, change, message):
    with pytest.raises(ContainerError, match=message):
        read_from_file(make_ensemble()[0], n_classes, leaf_values=change)
