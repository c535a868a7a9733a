"""The oracle for many classes: Algorithm 1 with votes for each class, and four ways to turn them into weights.

Trees for many classes may choose among splits that score the same up to rounding, so real trees are
followed and walked down slowly; each split of some of them is held to all that its node offers.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpboost.learners.contract import TrainedLearner

from .native.naive_sorted_grower import Gini, check_tree
from .native.naive_tree import read_sets, read_splits
from .oracle import CHECK_EVERY, VotingLoop


class ClassOracle(VotingLoop):
    """The state after some iterations; F and G count votes for each class."""

    def __init__(self, *data: NDArray[Any], way: str, ranks: NDArray[Any], **options: Any):
        super().__init__(*data, **options)
        self.way, self.ranks = way, ranks
        self.is_own = self.y[:, None] == np.arange(len(ranks))
        self.F, self.G = np.zeros(self.is_own.shape, dtype=int), np.zeros(self.is_own.shape, dtype=int)
        if self.rule is not None:
            self.update_p(self.weigh())

    def colour(self, colours: NDArray[np.int8]) -> None:
        """Weigh rows by what they are confused with across colours, before a minipatch is drawn."""
        self.colours = colours
        if self.rule is not None:
            self.update_p(self.weigh())
            return
        self.update_p(self.sum_confusions(colours[self.y][:, None] != colours))

    def iterate(
        self,
        R: NDArray[np.int64],
        C: NDArray[np.int64],
        U: NDArray[np.int64],
        patch_weights: NDArray[Any] | None,
        learner: TrainedLearner,
    ) -> None:
        """Do one iteration with a minipatch and a tree that come from elsewhere."""
        # 2. Train a weak learner on the minipatch.
        if self.way == "oc":
            self.h, importances = self.grow_signs(R, C, U, self.colours[self.y], patch_weights)
            voted = self.h[:, None] == self.colours
        else:
            importances = learner.importances
            grown = SimpleNamespace(tree=learner.model, importances=None if len(U) else importances)
            patch = self.codes, R, C, self.y, patch_weights, self.is_categorical
            options = self.limit_tree(len(R))
            if self.t % CHECK_EVERY == 0:
                check_tree(grown, Gini(self.ranks), *patch, **options)
            if len(U):
                splits, sets = read_splits(learner.model), read_sets(learner.model)
                importances = self.judge(splits, sets, (R, C, self.y, U, patch_weights))
            self.h = self.apply(learner.model).astype(int)
            voted = self.h[:, None] == np.arange(len(self.ranks))
        # 3. Update outputs.
        self.t += 1
        self.F = self.F + voted
        # 4. Update probability distributions.
        self.adapt_rate((self.find_own(self.G) - self.count_rival_votes(self.G))[R])
        if self.way != "oc":
            self.update_p(self.weigh())
        self.update_q(C, importances)
        # 5. Out-of-patch accuracy.
        self.G = self.G + (voted & self.find_outside(R)[:, None])
        self.oop = self.share(self.find_own(self.G) > self.count_rival_votes(self.G))
        winners = (self.F * len(self.ranks) + self.ranks).argmax(axis=1)  # ranks only break ties
        self.train = self.share(winners == self.y)

    def weigh(self) -> NDArray[np.float64]:
        if self.rule is not None:
            margins = self.learning_rate * (self.find_own(self.F) - self.count_rival_votes(self.F))
            return self.rule.weigh_rows(self.t, self.y, margins)
        if self.way == "margin":
            return self.weigh_margins(self.find_own(self.F) - self.count_rival_votes(self.F))
        if self.way == "mh":
            votes_for, votes_against = self.F, self.t - self.F
            return self.weigh_margins(np.where(self.is_own, 1, -1) * (votes_for - votes_against)).sum(axis=1)
        return self.sum_confusions(~self.is_own)

    def sum_confusions(self, is_other: NDArray[np.bool_]) -> NDArray[np.float64]:
        return np.where(is_other, self.weigh_margins(self.find_own(self.F)[:, None] - self.F), 0.0).sum(axis=1)

    def weigh_margins(self, margins: NDArray[np.int64]) -> NDArray[np.float64]:
        return self.L(1, self.learning_rate * margins)

    def find_own(self, votes: NDArray[np.int64]) -> NDArray[np.int64]:
        return votes[self.is_own]

    def count_rival_votes(self, votes: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.where(self.is_own, -1, votes).max(axis=1)
