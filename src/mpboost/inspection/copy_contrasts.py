"""Compares learners that saw a feature with learners that saw a shuffled copy of it, on rows that neither saw."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mpboost import _native
from mpboost._arrays import Floats
from mpboost.boosting.ensembles import Ensemble
from mpboost.data.tables import Table
from mpboost.outputs.kinds import ClassVotes, Outputs, Signs

#: Numbers that may be in memory: half of them for a block of rows, half for some features on these rows.
BLOCK_NUMBERS = 1 << 25
#: Rows that a block has at least.
MIN_BLOCK = 64
#: Arrays with a number for each learner and row, for each feature and row, and for each feature and learner.
LEARNER_ARRAYS, FEATURE_ARRAYS, PAIR_ARRAYS = 4, 16, 3


@dataclass(frozen=True)
class Design:
    """Which learners saw what: each feature has a shuffled copy, and learners drew from both.

    Attributes
    ----------
    has_feature, has_copy : sparse bool array of shape (n_features, n_learners)
        Which learners had the feature in their minipatch, and which its copy. For a group: some of its features.
    has_row : sparse bool array of shape (n_learners, n_samples)
        Which learners had the row in their minipatch.
    """

    has_feature: sparse.csr_array
    has_copy: sparse.csr_array
    has_row: sparse.csc_array

    @cached_property
    def only_feature(self) -> sparse.csr_array:
        """Learners with the feature and without its copy."""
        return _as_floats(self.has_feature - self.has_feature * self.has_copy)

    @cached_property
    def only_copy(self) -> sparse.csr_array:
        """Learners with the copy and without the feature."""
        return _as_floats(self.has_copy - self.has_feature * self.has_copy)

    @cached_property
    def either(self) -> sparse.csr_array:
        """Learners with the feature, the copy, or both."""
        return _as_floats(self.has_feature + self.has_copy - self.has_feature * self.has_copy)

    @cached_property
    def shares(self) -> Floats:
        """Share of the learners that have the feature; a copy is drawn as often, so both are counted."""
        n_seen = self.has_feature.sum(axis=1) + self.has_copy.sum(axis=1)
        return np.asarray(n_seen / (2.0 * self.n_learners), dtype=np.float64)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.has_feature.shape[0])

    @property
    def n_learners(self) -> int:
        """Number of learners."""
        return int(self.has_row.shape[0])

    def take_features(self, features: slice) -> "Design":
        """Make the design of some features."""
        return Design(self.has_feature[features], self.has_copy[features], self.has_row)

    def count_comparable(self) -> Floats:
        """Count the learners on the smaller side of the comparison of each feature, for a row on average."""
        share_unseen = 1.0 - self.has_row.nnz / np.prod(self.has_row.shape)
        smaller = np.minimum(self.only_feature.sum(axis=1), self.only_copy.sum(axis=1))
        return np.asarray(share_unseen * smaller, dtype=np.float64)


class Contrasts(NamedTuple):
    """Means over rows of what is lost if the copy takes the place of the feature, and the variances of these means.

    ``of_rows`` is the variance over rows, ``of_learners`` that over learners. Both contain ``of_cells``: what single
    learners happen to say about single rows.
    """

    means: Floats
    of_rows: Floats
    of_learners: Floats
    of_cells: Floats


def compute_contrasts(
    design: Design,
    ensemble: Ensemble[Any],
    table: Table,
    targets: NDArray[Any],
    outputs: Outputs[Any],
    threads: _native.Threads,
    colours: NDArray[np.int8] | None = None,
) -> Contrasts:
    """Compute what is lost without each feature, row by row, from learners that saw neither the row nor the feature.

    Of votes, it is the share of right votes that the ensemble loses; of numbers, its squared error that is added, in
    units of the variance of the targets.

    Parameters
    ----------
    design : Design
        Which learners saw what.
    ensemble : Ensemble
        The learners.
    table : Table
        The rows that they were trained on.
    targets : array of shape (n_samples,)
        Codes of classes, or numbers.
    outputs : Outputs
        The kind of outputs.
    threads : Threads
        For applying trees.
    colours : int8 array of shape (n_learners, n_classes), default=None
        The classes that learners of ``multiclass="oc"`` vote for.
    """
    is_number = not isinstance(outputs, Signs | ClassVotes)
    n_samples = len(targets)
    scale = float(np.std(targets)) if is_number else 1.0
    n_block = max(MIN_BLOCK, min(n_samples, BLOCK_NUMBERS // (2 * LEARNER_ARRAYS * design.n_learners)))
    # In wide tables all features and learners at once would not fit in memory.
    n_part = max(1, BLOCK_NUMBERS // (2 * (FEATURE_ARRAYS * n_block + PAIR_ARRAYS * design.n_learners)))
    parts = [
        _Part(design.take_features(slice(start, start + n_part)), squared=is_number)
        for start in range(0, design.n_features, n_part)
    ]
    for start, block in zip(range(0, n_samples, n_block), table.split_rows(n_block), strict=True):
        rows = slice(start, start + n_block)
        unseen = 1.0 - design.has_row[:, rows].toarray().astype(np.float32)
        found = ensemble.each(block, outputs, threads)
        errors = np.stack(list(_to_errors(found, targets[rows], outputs, colours, scale)))
        errors *= unseen
        judged = _Block(unseen, errors, errors**2)
        for part in parts:
            part.add(judged)
    found_parts = [part.compute(n_samples) for part in parts]
    return Contrasts(*map(np.concatenate, zip(*found_parts, strict=True)))


class _Block(NamedTuple):
    """What learners say about some rows; arrays of shape (n_learners, n_rows), 0 where the learner saw the row."""

    unseen: NDArray[np.float32]
    errors: NDArray[np.float32]
    squares: NDArray[np.float32]


class _Part:
    """Adds up the contrasts of some features, block by block."""

    def __init__(self, design: Design, *, squared: bool):
        self._design, self._squared = design, squared
        self._sums, self._squares, self._of_cells = np.zeros((3, design.n_features))
        self._learners = design.only_copy, design.only_feature
        # For each learner of each side of a feature: what the sum of losses owes to it.
        self._pairs = [learners.nonzero() for learners in self._learners]
        self._influences = [np.zeros(learners.nnz) for learners in self._learners]

    def add(self, block: _Block) -> None:
        """Add a block of rows."""
        sides = [_add_up(learners, block) for learners in self._learners]
        losses, slopes = _compare(self._design, sides, block, squared=self._squared)
        self._sums += losses.sum(axis=1, dtype=np.float64)
        self._squares += np.square(losses, dtype=np.float64).sum(axis=1)
        for side, slope, pairs, influence in zip(sides, slopes, self._pairs, self._influences, strict=True):
            weights = slope / side.counts
            of_pairs = weights @ block.errors.T - (weights * side.means) @ block.unseen.T
            influence += of_pairs[pairs]
            self._of_cells += (weights**2 * side.counts * side.spreads).sum(axis=1, dtype=np.float64)

    def compute(self, n_samples: int) -> Contrasts:
        """Compute the means over all rows, and their variances."""
        means = self._sums / n_samples
        of_rows = np.maximum(self._squares / n_samples - means**2, 0.0) / max(1, n_samples - 1)
        of_learners = np.zeros(self._design.n_features)
        for (features, _), influence in zip(self._pairs, self._influences, strict=True):
            of_learners += np.bincount(features, influence**2, self._design.n_features)
        return Contrasts(means, of_rows, of_learners / n_samples**2, self._of_cells / n_samples**2)


class _Side(NamedTuple):
    """What the learners of one side say about rows that they did not see; arrays of shape (n_features, n_rows)."""

    counts: NDArray[np.float32]
    means: NDArray[np.float32]
    spreads: NDArray[np.float32]  # variances of the errors of single learners

    @property
    def variances(self) -> NDArray[np.float32]:
        """Variances of the means, because learners are few."""
        return self.spreads / np.maximum(self.counts - 1.0, 1.0)


def _as_floats(matrix: sparse.csr_array) -> sparse.csr_array:
    matrix = sparse.csr_array(matrix, dtype=np.float32)
    matrix.eliminate_zeros()
    return matrix


def _to_errors(
    found: Iterator[NDArray[Any]],
    targets: NDArray[Any],
    outputs: Outputs[Any],
    colours: NDArray[np.int8] | None,
    scale: float,
) -> Iterator[NDArray[np.float32]]:
    """Yield for each learner which rows it gets wrong, or its residuals in units of ``scale``."""
    for learner, out in enumerate(found):
        if colours is not None:
            yield (out != colours[learner][targets]).astype(np.float32)
        elif isinstance(outputs, Signs):
            yield ((out > 0) != (targets > 0)).astype(np.float32)
        elif isinstance(outputs, ClassVotes):
            yield (out != targets).astype(np.float32)
        else:
            yield ((out - targets) / scale).astype(np.float32)


def _add_up(learners: sparse.csr_array, block: _Block) -> _Side:
    counts = np.maximum(learners @ block.unseen, 1.0)
    means = (learners @ block.errors) / counts
    return _Side(counts, means, np.maximum((learners @ block.squares) / counts - means**2, 0.0))


def _compare(
    design: Design, sides: list[_Side], block: _Block, *, squared: bool
) -> tuple[NDArray[np.float32], tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """Compute the losses without the feature, and their slopes by the means of both sides.

    All is antisymmetric: if feature and copy change places, the losses change signs. So a feature that tells nothing
    has losses around 0, whatever the learners are.
    """
    shares = design.shares.astype(np.float32)[:, None]
    of_copy, of_feature = sides
    if not squared:
        flat = np.broadcast_to(shares, of_copy.means.shape)
        return shares * (of_copy.means - of_feature.means), (flat, flat)
    # The rest of the ensemble, with neither, is the same in both cases; its errors tell which way is better.
    neither = np.maximum(block.unseen.sum(axis=0) - design.either @ block.unseen, 1.0)
    rest = (block.errors.sum(axis=0) - design.either @ block.errors) / neither
    without = (1.0 - shares) * rest + shares * of_copy.means
    with_it = (1.0 - shares) * rest + shares * of_feature.means
    # A mean of few learners has a larger squared error by its variance, which says nothing about the feature.
    losses = without**2 - with_it**2 - shares**2 * (of_copy.variances - of_feature.variances)
    return losses, (2.0 * shares * without, 2.0 * shares * with_it)
