"""The oracle: Algorithm 1 of the paper, here for two classes, transcribed line by line into plain NumPy.

It is given the draws R and C of a real run, the rows U that the learner is judged on, if any, and the weights that the
rows of R have in training, and must come to the same outputs, distributions and scores. Slow on purpose: nothing is
updated in place, tabulated or kept in logarithms.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost.learners import node_sizes
from mpboost.learners.splits import SPLIT_DTYPE
from mpboost.tasks.rates import GAIN, MAX_AUTO_RATE, MAX_WRONG_SHARE, MEMORY, MIN_AUTO_RATE, N_WARM_UP

from .native.naive_grower import grow_tree
from .native.naive_importance import credit_splits, judge_splits, normalise, sum_gains
from .native.naive_tree import MISSING, NO_SETS, find_leaves, find_votes, read_sets, read_splits

#: Table I: the weighting L(y, F).
TABLE_I = {
    "exponential": lambda y, F: np.exp(-y * F),
    "logistic": lambda y, F: 1 / (1 + np.exp(y * F)),
    "hard_exponential": lambda y, F: np.exp(-y * np.sign(F)),
    "hard_logistic": lambda y, F: 1 / (1 + np.exp(y * np.sign(F))),
}
WEIGHTINGS = list(TABLE_I)

#: Every so many trees that are followed are checked split by split, which takes long.
CHECK_EVERY = 8


class Loop:
    """What Algorithm 1 does for any task."""

    def __init__(
        self,
        codes: NDArray[np.uint8],
        y: NDArray[Any],
        *,
        mu: float,
        adaptive_observations: bool = True,
        adaptive_features: bool = True,
        importance: str = "impurity",
        sample_weights: NDArray[np.float64] | None = None,
        is_categorical: NDArray[np.bool_] | None = None,
        min_samples_split: Any = 2,
        round_size: int = 1,
        credit_rule: Any = None,
        feature_update: Any = None,
        **tree_options: int,
    ):
        self.codes, self.y, self.mu, self.tree_options = codes, y, mu, tree_options
        self.min_samples_split, self.round_size = min_samples_split, round_size
        self.gains: list[NDArray[np.float64]] = []
        self.limits: list[int] = []
        self.adaptive_observations, self.adaptive_features = adaptive_observations, adaptive_features
        self.importance, self.is_categorical = importance, is_categorical
        self.credit_rule, self.feature_update = credit_rule, feature_update
        M, N = codes.shape
        self.has_weights = sample_weights is not None
        self.w = sample_weights if self.has_weights else np.ones(N)
        self.p, self.q = self.w / self.w.sum(), np.full(M, 1 / M)
        self.credits: list[list[float]] = [[] for _ in range(M)]

    def draw(
        self, patch: tuple[int, int], seed: int, t: int, epsilon: float = 0.0
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Draw a minipatch and the rows to judge it: arrivals depend on ratios of weights, and on the draw, alone."""
        threads = _native.Threads(1)
        log_q = np.full(len(self.q), -np.inf)
        mixed = (1 - epsilon) * self.q + epsilon / len(self.q)
        np.log(mixed, out=log_q, where=mixed >= np.finfo(float).tiny)
        everyone = np.arange(len(self.p))
        log_arrivals = _native.log_arrivals(np.log(self.p), everyone, seed, t, _native.Purpose.OBSERVATIONS)
        order = np.argsort(log_arrivals, kind="stable")
        n = self.count_drawn(order, log_arrivals, patch[0]) if self.has_weights else patch[0]
        n_judges = n if self.importance == "out_of_patch" else 0
        R, U = np.sort(order[:n]), np.sort(order[n : n + n_judges])  # a race has no memory: who comes next is a draw
        return R, _native.race(log_q, patch[1], seed, [t], _native.Purpose.FEATURES, threads)[0], U

    def draw_round(
        self, patch: tuple[int, int], seed: int, first: int, round_size: int, epsilon: float = 0.0
    ) -> list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]]:
        """Draw the minipatches of a round, all from p and q as they are now; give each with this p."""
        return [(*self.draw(patch, seed, t, epsilon), self.p) for t in range(first, first + round_size)]

    def count_drawn(self, order: NDArray[np.int64], log_arrivals: NDArray[np.float64], n: int) -> int:
        """End the draw of rows with weights as soon as as many copies of rows are in as there are to be rows."""
        for n_in in range(1, n if n < len(order) else 1):
            rows, now = order[:n_in], np.exp(log_arrivals[order[n_in]])  # when the next one arrives
            chances, w = now * self.p[rows], self.w[rows]
            if np.sum(w * np.expm1(-chances / w) / np.expm1(-chances)) >= n:
                return n_in
        return n

    def judge(self, splits: NDArray[Any], sets: NDArray[np.bool_], patch: tuple[Any, ...]) -> NDArray[np.float64]:
        """Find the importances of the features of a tree, given R, C, y, U and the weights of R."""
        R, C, y, U, weights = patch
        gains = judge_splits(splits, self.codes, R, y, U, weights, sets)
        credits = credit_splits(gains, C)
        self.gains.append(sum_gains(gains))
        if self.credit_rule is not None:
            return self.credit_rule.credit(C, credits)
        return credits / (np.abs(credits).sum() or 1)

    def limit_tree(self, n_rows: int) -> dict[str, int]:
        """Find the options of the next tree: which nodes are split, by what the splits of earlier rounds kept."""
        limit = self.min_samples_split
        if limit == "auto":
            limit = 2
            while 2 * limit <= 2 * self.tree_options["min_samples_leaf"]:
                limit *= 2
            size = limit
            while size < 2**node_sizes.N_SIZES and not self.is_clear(size, is_useful=True):
                size *= 2
                if self.is_clear(size // 2, is_useful=False):
                    limit = size
            is_warming_up = len(self.limits) // self.round_size * self.round_size < node_sizes.N_WARM_UP
            limit = 2 if is_warming_up else max(2, min(limit, n_rows // node_sizes.MIN_PARTS))
        self.limits.append(limit)
        return self.tree_options | {"min_samples_split": limit}

    def is_clear(self, size: int, is_useful: bool) -> bool:
        """Tell whether splits of nodes of a size, a power of two, clearly keep enough of what they promise, or not."""
        k = size.bit_length() - 1
        known = self.gains[: len(self.limits) // self.round_size * self.round_size]
        ages = range(len(known) - 1, -1, -1)
        promised, kept, squares = sum(
            (node_sizes.MEMORY**age * gains[k] for age, gains in zip(ages, known, strict=True)), np.zeros(3)
        )
        surplus, error = kept - node_sizes.MIN_KEPT_SHARE * promised, node_sizes.N_DEVIATIONS * squares**0.5
        return bool(surplus > error if is_useful else surplus < -error)

    def grow_signs(
        self,
        R: NDArray[np.int64],
        C: NDArray[np.int64],
        U: NDArray[np.int64],
        y: NDArray[np.int8],
        weights: Any,
        tie_label: int = 1,
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Grow a tree for two classes slowly; give its votes and importances."""
        patch = R, C, y, weights, self.is_categorical
        tree = grow_tree(self.codes, *patch, tie_value=tie_label, **self.limit_tree(len(R)))
        splits = np.array([(*split, 0) for split in tree.splits], dtype=SPLIT_DTYPE)
        sets = np.vstack([NO_SETS, *tree.sets])
        importances = self.judge(splits, sets, (R, C, y, U, weights)) if len(U) else tree.importances
        return find_votes(splits, np.array(tree.leaf_values), self.codes, sets).astype(int), importances

    def apply(self, tree: _native.Tree) -> NDArray[np.float64]:
        """Walk down a tree slowly; give the values of the leaves."""
        return tree.leaf_values[find_leaves(read_splits(tree), self.codes, read_sets(tree))]

    def update_p(self, weights: NDArray[np.float64]) -> None:
        if self.adaptive_observations:
            self.p = self.w * weights / (self.w * weights).sum()

    def update_q(self, C: NDArray[np.int64], importances: NDArray[np.float64]) -> None:
        if self.adaptive_features and self.importance == "out_of_patch" and importances.any():
            for j, credit in zip(C, importances, strict=True):
                self.credits[j].append(credit)
            means = np.array([np.mean(self.credits[j]) for j in C])
            if self.feature_update is not None:
                self.q = self.q.copy()
                self.q[C] = self.feature_update.move(self.q[C], importances, means)
                return
            importances = normalise(means)
        if self.adaptive_features and importances.sum() > 0:
            r = self.q[C].sum()
            self.q = self.q.copy()
            for j, importance in zip(C, importances, strict=True):
                self.q[j] = (1 - self.mu) * self.q[j] + self.mu * r * importance

    def find_outside(self, R: NDArray[np.int64]) -> NDArray[np.bool_]:
        inside = set(R.tolist())
        return np.array([i not in inside for i in range(len(self.y))])

    def share(self, is_right: NDArray[np.bool_]) -> float:
        return sum(self.w[is_right]) / sum(self.w)


class VotingLoop(Loop):
    """What it does where learners vote: a vote weighs `learning_rate` in L, which may be "auto"."""

    def __init__(self, *data: NDArray[Any], weighting: str, learning_rate: Any, **options: Any):
        super().__init__(*data, **options)
        self.is_auto = learning_rate == "auto"
        self.learning_rate = MAX_AUTO_RATE if self.is_auto else learning_rate
        self.rule = weighting if hasattr(weighting, "weigh_rows") else None
        self.L = TABLE_I[weighting] if isinstance(weighting, str) else getattr(weighting, "L", None)
        self.t = 0
        self.wrong_shares: list[float] = []

    def adapt_rate(self, margins: NDArray[np.int64]) -> None:
        """Take the margins that the rows of R have in G before they are trained on."""
        n_wrong, n_right = sum(margins < 0), sum(margins > 0)
        if self.is_auto and self.adaptive_observations and n_wrong + n_right > 0:
            self.wrong_shares.append(n_wrong / (n_wrong + n_right))
            self.learning_rate = find_rate(self.wrong_shares)


def find_rate(wrong_shares: list[float]) -> float:
    """Find the learning rate after minipatches of which these shares were wrong, from the first one on."""
    rate = MAX_AUTO_RATE
    for k, share in enumerate(wrong_shares, start=1):
        if k <= N_WARM_UP:
            mean = share
        else:
            mean = MEMORY * mean + (1 - MEMORY) * share
            rate = max(rate - GAIN * (mean - MAX_WRONG_SHARE) * rate, MIN_AUTO_RATE)
            rate = min(rate, MAX_AUTO_RATE)
    return rate


class Oracle(VotingLoop):
    """The state of Algorithm 1 after some iterations; F and G count votes."""

    def __init__(self, *data: NDArray[Any], tie_label: int, **options: Any):
        super().__init__(*data, **options)
        self.tie_label = tie_label
        N = len(self.y)
        self.F, self.G = np.zeros(N, dtype=int), np.zeros(N, dtype=int)
        self.update_p(self.weigh())

    def iterate(
        self,
        R: NDArray[np.int64],
        C: NDArray[np.int64],
        U: NDArray[np.int64],
        patch_weights: NDArray[np.float64] | None = None,
    ) -> None:
        """Do one iteration with a minipatch that was drawn, and perhaps weighed, elsewhere."""
        # 2. Train a weak learner on the minipatch.
        self.h, importances = self.grow_signs(R, C, U, self.y, patch_weights, self.tie_label)
        # 3. Update outputs.
        self.t += 1
        self.F = self.F + self.h
        # 4. Update probability distributions.
        self.adapt_rate((self.y * self.G)[R])
        self.update_p(self.weigh())
        self.update_q(C, importances)
        # 5. Out-of-patch accuracy.
        self.G = self.G + np.where(self.find_outside(R), self.h, 0)
        self.oop = self.share(np.sign(self.G) == self.y)
        self.train = self.share(np.where(self.F == 0, self.tie_label, np.sign(self.F)) == self.y)

    def weigh(self) -> NDArray[np.float64]:
        if self.rule is not None:
            return self.rule.weigh_rows(self.t, self.y, self.learning_rate * self.y * self.F)
        return self.L(self.y, self.learning_rate * self.F)


def is_completion(
    R: NDArray[np.int64], completed: NDArray[np.int64], y: NDArray[np.int8], p: NDArray[np.float64]
) -> bool:
    """Tell whether a patch was completed as it should be: DESIGN, "one-class patch"."""
    if len(R) == 1 or len(set(y[R])) > 1:
        return completed.tolist() == R.tolist()
    gone, new = set(R) - set(completed), set(completed) - set(R)
    others = np.flatnonzero(y != y[R[0]])
    # Rows tie whose p differs by no more than rounding.
    least = R[np.isclose(p[R], p[R].min(), rtol=1e-12, atol=0.0)]
    most = others[np.isclose(p[others], p[others].max(), rtol=1e-12, atol=0.0)]
    return len(gone) == len(new) == 1 and gone <= set(least) and new <= set(most) and len(set(completed)) == len(R)


def rank_values(X: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Code each column, of at most 255 distinct values, by their ranks; a row of codes per column."""
    codes = np.empty(X.T.shape, dtype=np.uint8)
    for j, column in enumerate(X.T):
        values = sorted(set(column[~np.isnan(column)].tolist()))
        codes[j] = [MISSING if np.isnan(x) else values.index(x) for x in column]
    return codes
