"""Contrasts of features with their copies are what plain loops over rows and features give."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from mpboost import _native
from mpboost.data.tables import DenseTable
from mpboost.inspection import copy_contrasts
from mpboost.inspection.copy_contrasts import Design, compute_contrasts
from mpboost.outputs.kinds import ClassVotes, Signs, Values

N_LEARNERS, N_FEATURES, N_ROWS = 60, 4, 25


class Recited:
    """An ensemble whose learners say what they are told, whatever the rows: their first column is the row's number."""

    def __init__(self, said):
        self.said = said

    def each(self, table, outputs, threads):
        rows = table.to_array()[:, 0].astype(int)
        return (said[rows] for said in self.said)


def draw_case(kind, seed=0):
    """Draw a design, what learners say, and targets."""
    rng = np.random.default_rng(seed)
    seen = [rng.random((N_FEATURES, N_LEARNERS)) < 0.4 for _ in range(2)]
    design = Design(
        *(sparse.csr_array(each.astype(np.int32)) for each in seen),
        sparse.csc_array((rng.random((N_LEARNERS, N_ROWS)) < 0.3).astype(np.int32)),
    )
    shape = N_LEARNERS, N_ROWS
    if kind == "numbers":
        return design, rng.normal(size=shape), 3 * rng.normal(size=N_ROWS), Values(), None
    if kind == "two classes":
        return design, rng.choice([-1, 1], shape).astype(np.int8), rng.integers(0, 2, N_ROWS), Signs(), None
    if kind == "many classes":
        said = rng.integers(0, 3, shape).astype(np.uint16)
        return design, said, rng.integers(0, 3, N_ROWS), ClassVotes(np.arange(3, dtype=np.uint16)), None
    colours = rng.choice([-1, 1], (N_LEARNERS, 3)).astype(np.int8)
    return design, rng.choice([-1, 1], shape).astype(np.int8), rng.integers(0, 3, N_ROWS), Signs(), colours


def compute(design, said, targets, outputs, colours):
    table = DenseTable(np.arange(float(N_ROWS))[:, None])
    return compute_contrasts(design, Recited(said), table, targets, outputs, _native.Threads(1), colours)


def list_errors(said, targets, outputs, colours):
    if isinstance(outputs, Values):
        return (said - targets) / targets.std()
    if colours is not None:
        return np.array([[said[t, i] != colours[t, k] for i, k in enumerate(targets)] for t in range(N_LEARNERS)]) * 1.0
    right = np.where(targets == 1, 1, -1) if isinstance(outputs, Signs) else targets
    return (said != right) * 1.0


def compute_slowly(design, said, targets, outputs, colours):
    """Compute contrasts one row, feature and learner at a time, by the formulas."""
    errors, is_number = list_errors(said, targets, outputs, colours), isinstance(outputs, Values)
    has_feature, has_copy = design.has_feature.toarray() > 0, design.has_copy.toarray() > 0
    has_row = design.has_row.toarray() > 0
    losses = np.zeros((N_FEATURES, N_ROWS))
    influences, of_cells = np.zeros((N_FEATURES, N_LEARNERS)), np.zeros(N_FEATURES)
    for j in range(N_FEATURES):
        share = (has_feature[j].mean() + has_copy[j].mean()) / 2
        for i in range(N_ROWS):
            unseen = ~has_row[:, i]
            sides = {
                "copy": np.flatnonzero(unseen & has_copy[j] & ~has_feature[j]),
                "feature": np.flatnonzero(unseen & ~has_copy[j] & has_feature[j]),
                "rest": np.flatnonzero(unseen & ~has_copy[j] & ~has_feature[j]),
            }
            means = {side: errors[learners, i].mean() for side, learners in sides.items()}
            if is_number:
                mixed = {side: (1 - share) * means["rest"] + share * means[side] for side in ("copy", "feature")}
                noise = {s: errors[sides[s], i].var(ddof=1) / len(sides[s]) for s in ("copy", "feature")}
                squares = {side: mixed[side] ** 2 - share**2 * noise[side] for side in mixed}
                losses[j, i] = squares["copy"] - squares["feature"]
                slopes = {side: 2 * share * mixed[side] for side in mixed}
            else:
                losses[j, i] = share * (means["copy"] - means["feature"])
                slopes = {"copy": share, "feature": share}
            for side, slope in slopes.items():
                for t in sides[side]:
                    influence = slope * (errors[t, i] - means[side]) / len(sides[side]) / N_ROWS
                    influences[j, t] += influence
                    of_cells[j] += influence**2
    return losses.mean(axis=1), losses.var(axis=1, ddof=1) / N_ROWS, (influences**2).sum(axis=1), of_cells


KINDS = ["two classes", "many classes", "colours", "numbers"]


@pytest.mark.parametrize("kind", KINDS)
def test_contrasts_are_those_of_plain_loops(kind):
    case = draw_case(kind)
    for found, expected in zip(compute(*case), compute_slowly(*case), strict=True):
        np.testing.assert_allclose(found, expected, rtol=2e-4, atol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_contrasts_change_signs_if_features_and_copies_change_places(kind):
    design, *rest = draw_case(kind)
    means, of_rows, of_learners, of_cells = compute(design, *rest)
    swapped = compute(Design(design.has_copy, design.has_feature, design.has_row), *rest)
    np.testing.assert_allclose(swapped.means, -means, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(swapped.of_rows, of_rows, rtol=1e-4)
    np.testing.assert_allclose(swapped.of_learners, of_learners, rtol=1e-4)
    np.testing.assert_allclose(swapped.of_cells, of_cells, rtol=1e-4)


@pytest.mark.parametrize("kind", ["two classes", "numbers"])
@pytest.mark.parametrize("n_numbers", [1, 2 * 3 * (16 * 7 + 3 * N_LEARNERS)], ids=["1 feature", "3 features"])
def test_contrasts_do_not_depend_on_the_blocks_of_rows_and_features(kind, n_numbers, monkeypatch):
    design, *rest = draw_case(kind)
    whole = compute(design, *rest)
    monkeypatch.setattr(copy_contrasts, "BLOCK_NUMBERS", n_numbers)
    monkeypatch.setattr(copy_contrasts, "MIN_BLOCK", 7)
    for found, expected in zip(compute(design, *rest), whole, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-8)


def test_contrasts_of_wide_tables_need_little_memory(monkeypatch):
    monkeypatch.setattr(copy_contrasts, "BLOCK_NUMBERS", 1 << 20)
    n_features, n_learners, n_rows = 3000, 1000, 40
    rng = np.random.default_rng(0)
    seen = [sparse.random_array((n_features, n_learners), density=0.005, rng=rng) > 0 for _ in range(2)]
    unseen = sparse.csc_array((n_learners, n_rows), dtype=np.int32)
    design = Design(*(sparse.csr_array(each, dtype=np.int32) for each in seen), unseen)
    said, targets = rng.choice([-1, 1], (n_learners, n_rows)).astype(np.int8), rng.integers(0, 2, n_rows)
    table = DenseTable(np.arange(float(n_rows))[:, None])
    tracemalloc.start()
    compute_contrasts(design, Recited(said), table, targets, Signs(), _native.Threads(1))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * copy_contrasts.BLOCK_NUMBERS + 100 * design.has_feature.nnz < 4 * n_features * n_learners * 2


def test_design_counts_learners_with_one_of_feature_and_copy():
    has_feature = sparse.csr_array(np.array([[1, 1, 1, 0, 0, 0]]))
    has_copy = sparse.csr_array(np.array([[0, 0, 1, 1, 0, 0]]))
    has_row = sparse.csc_array(np.array([[1, 0], [0, 0], [0, 1], [1, 0], [0, 0], [0, 0]]))
    design = Design(has_feature, has_copy, has_row)
    assert design.only_feature.toarray().tolist() == [[1, 1, 0, 0, 0, 0]]
    assert design.only_copy.toarray().tolist() == [[0, 0, 0, 1, 0, 0]]
    assert design.either.toarray().tolist() == [[1, 1, 1, 1, 0, 0]]
    assert design.shares.tolist() == [5 / 12]
    assert design.count_comparable().tolist() == [1 * (1 - 3 / 12)]
