"""The oracle: Algorithm 1 of the paper for two classes, transcribed line by line into plain NumPy.

It is given the draws R and C of a real run, and the weights that the rows of R have in training, and must come to the
same outputs, distributions and scores. Slow on purpose: nothing is updated in place, tabulated or kept in logarithms.
"""

import numpy as np
from native.naive_grower import grow_tree
from native.naive_tree import MISSING, NO_SETS, find_votes
from numpy.typing import NDArray

from mpboost.ensemble import SPLIT_DTYPE

#: Table I: the weighting L(y, F).
TABLE_I = {
    "exponential": lambda y, F: np.exp(-y * F),
    "logistic": lambda y, F: 1 / (1 + np.exp(y * F)),
    "hard_exponential": lambda y, F: np.exp(-y * np.sign(F)),
    "hard_logistic": lambda y, F: 1 / (1 + np.exp(y * np.sign(F))),
}
WEIGHTINGS = list(TABLE_I)


class Oracle:
    """The state of Algorithm 1 after some iterations; F and G count votes, of the weight `learning_rate` in L."""

    def __init__(
        self,
        codes: NDArray[np.uint8],
        y: NDArray[np.int8],
        *,
        mu: float,
        weighting: str,
        learning_rate: float,
        tie_label: int,
        adaptive_observations: bool = True,
        adaptive_features: bool = True,
        sample_weights: NDArray[np.float64] | None = None,
        is_categorical: NDArray[np.bool_] | None = None,
        **tree_options: int,
    ):
        self.codes, self.y, self.mu, self.tie_label = codes, y, mu, tie_label
        self.L, self.learning_rate, self.tree_options = TABLE_I[weighting], learning_rate, tree_options
        self.adaptive_observations, self.adaptive_features = adaptive_observations, adaptive_features
        self.is_categorical = is_categorical
        M, N = codes.shape
        self.w = np.ones(N) if sample_weights is None else sample_weights
        self.p, self.q = self.w / self.w.sum(), np.full(M, 1 / M)
        self.F, self.G = np.zeros(N, dtype=int), np.zeros(N, dtype=int)

    def iterate(
        self, R: NDArray[np.int64], C: NDArray[np.int64], patch_weights: NDArray[np.float64] | None = None
    ) -> None:
        """Do one iteration with a minipatch that was drawn, and perhaps weighed, elsewhere."""
        N = len(self.y)
        # 2. Train a weak learner on the minipatch.
        patch = R, C, self.y, patch_weights, self.is_categorical
        tree = grow_tree(self.codes, *patch, tie_value=self.tie_label, **self.tree_options)
        splits = np.array([(*split, 0) for split in tree.splits], dtype=SPLIT_DTYPE)
        sets = np.vstack([NO_SETS, *tree.sets])
        self.h = find_votes(splits, np.array(tree.leaf_values), self.codes, sets).astype(int)
        # 3. Update outputs.
        self.F = self.F + self.h
        # 4. Update probability distributions.
        if self.adaptive_observations:
            weights = self.w * self.L(self.y, self.learning_rate * self.F)
            self.p = weights / weights.sum()
        if self.adaptive_features and tree.importances.sum() > 0:
            r = self.q[C].sum()
            self.q = self.q.copy()
            for j, importance in zip(C, tree.importances, strict=True):
                self.q[j] = (1 - self.mu) * self.q[j] + self.mu * r * importance
        # 5. Out-of-patch accuracy.
        outside = np.array([i not in set(R.tolist()) for i in range(N)])
        self.G = self.G + np.where(outside, self.h, 0)
        self.oop = sum(self.w[np.sign(self.G) == self.y]) / sum(self.w)
        self.train = sum(self.w[np.where(self.F == 0, self.tie_label, np.sign(self.F)) == self.y]) / sum(self.w)


def is_completion(
    R: NDArray[np.int64], completed: NDArray[np.int64], y: NDArray[np.int8], p: NDArray[np.float64]
) -> bool:
    """Tell whether a patch was completed as it should be: DESIGN, "one-class patch"."""
    if len(R) == 1 or len(set(y[R])) == 2:
        return completed.tolist() == R.tolist()
    gone, new = set(R) - set(completed), set(completed) - set(R)
    others = np.flatnonzero(y != y[R[0]])
    least, most = R[p[R] == p[R].min()], others[p[others] == p[others].max()]
    return len(gone) == len(new) == 1 and gone <= set(least) and new <= set(most) and len(set(completed)) == len(R)


def rank_values(X: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Code each column, of at most 255 distinct values, by their ranks; a row of codes per column."""
    codes = np.empty(X.T.shape, dtype=np.uint8)
    for j, column in enumerate(X.T):
        values = sorted(set(column[~np.isnan(column)].tolist()))
        codes[j] = [MISSING if np.isnan(x) else values.index(x) for x in column]
    return codes
