"""The oracle for gradient boosting: the loop in plain NumPy and double precision, given the same draws.

Real trees are followed, and each is held to what its minipatch offers; the values of their leaves, raw predictions,
derivatives and scores are found here.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from mpboost import _native

from .native.naive_gradient_tree import Problem, check_tree
from .native.naive_tree import find_leaves, read_sets, read_splits

Floats = NDArray[np.float64]


@dataclass
class Patch:
    """A minipatch as the grower got it, and the tree that it made of it."""

    rows: NDArray[np.int64]
    features: NDArray[np.int64]
    counts: Floats
    direction: Floats | None
    gradients: Floats
    hessians: Floats
    seed: int
    grown: _native.GradientTree


class SquaredErrorOracle:
    """Half the squared error, from the mean on."""

    def __init__(self, y: Floats, w: Floats):
        self.y, self.start = y, np.array([np.average(y, weights=w)])

    def derive(self, F: Floats) -> tuple[Floats, Floats]:
        return F - self.y[:, None], np.ones_like(F)

    def find_loss(self, F: Floats) -> Floats:
        return 0.5 * (self.y - F[:, 0]) ** 2

    def find_score(self, F: Floats, w: Floats) -> float:
        mean = np.average(self.y, weights=w)
        return 1 - np.average((self.y - F[:, 0]) ** 2, weights=w) / np.average((self.y - mean) ** 2, weights=w)


class LogLossOracle:
    """Log loss of two classes, 0 and 1, from their log odds on."""

    def __init__(self, y: NDArray[Any], w: Floats):
        share = np.average(y, weights=w)
        self.y, self.start = y, np.array([np.log(share / (1 - share))])

    def derive(self, F: Floats) -> tuple[Floats, Floats]:
        p = expit(F)
        return p - self.y[:, None], p * (1 - p)

    def find_loss(self, F: Floats) -> Floats:
        p = expit(F[:, 0])
        return -np.log(np.where(self.y == 1, p, 1 - p))

    def find_score(self, F: Floats, w: Floats) -> float:
        return np.average((F[:, 0] >= 0) == (self.y == 1), weights=w)


class SoftmaxOracle:
    """Log loss of many classes, from the logarithms of their shares on, which sum to 0."""

    def __init__(self, y: NDArray[Any], w: Floats):
        self.y, logs = y, np.log([np.average(y == k, weights=w) for k in range(y.max() + 1)])
        self.start = logs - logs.mean()

    def derive(self, F: Floats) -> tuple[Floats, Floats]:
        p = softmax(F, axis=1)
        return p - np.eye(F.shape[1])[self.y], p * (1 - p)

    def find_loss(self, F: Floats) -> Floats:
        return -np.log(softmax(F, axis=1)[np.arange(len(F)), self.y])

    def find_score(self, F: Floats, w: Floats) -> float:
        return np.average(F.argmax(axis=1) == self.y, weights=w)


class GradientOracle:
    """One model after some iterations.

    Attributes
    ----------
    F : float64 array of shape (n_samples, n_outputs)
        Raw predictions.
    g, h : float64 arrays of that shape
        Derivatives, times weights: none for reserved rows. Numbers are in the engine's unit, which l2 is relative to.
    """

    def __init__(
        self,
        codes: NDArray[np.uint8],
        loss: Any,
        *,
        weights: Floats | None,
        reserved: NDArray[np.int64],
        unit: float,
        learning_rate: float,
        l2: float,
        leaf_refit: bool,
        tree_options: dict[str, Any],
    ):
        self.codes, self.loss, self.reserved, self.unit = codes, loss, reserved, unit
        self.learning_rate, self.l2, self.leaf_refit, self.tree_options = learning_rate, l2, leaf_refit, tree_options
        self.all_weights = np.ones(codes.shape[1]) if weights is None else weights
        self.w = self.all_weights.copy()
        self.w[reserved] = 0.0
        self.F = np.tile(loss.start, (len(self.w), 1))
        self.derive()

    def derive(self) -> None:
        self.g, self.h = (self.w[:, None] * each for each in self.loss.derive(self.F))
        self.g /= self.unit

    def find_slopes(self, patch: Patch) -> tuple[Floats, Floats]:
        """Find the derivatives that the tree is to be grown on, each row standing for as many as its count says."""
        R = patch.rows
        g, h = self.g[R], self.h[R]
        if patch.direction is None:
            return patch.counts * g[:, 0], patch.counts * h[:, 0]
        means = softmax(self.F[R], axis=1) @ patch.direction  # one half of the classes against the other
        return patch.counts * (g @ patch.direction), patch.counts * self.w[R] * (1 - means**2)

    def iterate(self, t: int, patch: Patch) -> None:
        """Do one iteration with a minipatch and a tree that come from elsewhere."""
        # 2. Train a weak learner on the minipatch: here, hold the tree to all that it could have been.
        options = {"seed": patch.seed, "iteration": t, "l2_regularization": self.l2, **self.tree_options}
        check_tree(
            Problem(self.codes, patch.gradients, patch.hessians, patch.rows, patch.features, **options), patch.grown
        )
        tree = patch.grown.tree
        leaves = find_leaves(read_splits(tree), self.codes, read_sets(tree))
        counts = np.ones(len(self.w))
        if not self.leaf_refit:
            counts[:] = 0.0
            counts[patch.rows] = patch.counts
        G, H = (
            np.array([(counts[:, None] * each)[leaves == k].sum(axis=0) for k in range(len(tree.leaf_values))])
            for each in (self.g, self.h)
        )
        values = np.divide(-G, H + self.l2, out=np.zeros(G.shape), where=H + self.l2 > 0)
        if patch.direction is not None:  # all classes move at once
            values *= 1 - 1 / len(patch.direction)
        # 3. Update outputs.
        self.values = self.learning_rate * self.unit * values
        self.F += self.values[leaves]
        # 4. Update what rows are drawn by.
        self.derive()
        # 5. Scores, and the loss of reserved rows.
        self.train = self.loss.find_score(self.F, self.w)
        judged = self.all_weights - self.w
        self.oop = self.loss.find_score(self.F, judged) if len(self.reserved) else np.nan
        self.oop_loss = np.average(self.loss.find_loss(self.F), weights=judged) if len(self.reserved) else np.nan
