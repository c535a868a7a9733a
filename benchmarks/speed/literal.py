"""The yardstick: Algorithm 1 of the paper, written down literally with scikit-learn's trees and NumPy's draws.

It is what a careful user would write: numbers converted once, each column in one piece of memory because an iteration
reads whole columns, vector operations only, and no validation of input that was validated before.
"""

import time
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.tree import DecisionTreeClassifier

Floats = NDArray[np.float64]
Labels = NDArray[np.int8]


@dataclass
class LiteralModel:
    """What the loop leaves behind.

    Attributes
    ----------
    trees, features : list
        Each weak learner and the columns that it was trained on.
    p, q : array
        Observation and feature probabilities after the last iteration.
    oop_scores : list of float
        Out-of-patch accuracy after each iteration.
    loop_seconds : float
        Time for the iterations alone, without the conversion of the data.
    """

    p: Floats
    q: Floats
    trees: list[DecisionTreeClassifier] = field(default_factory=list)
    features: list[NDArray[np.int64]] = field(default_factory=list)
    oop_scores: list[float] = field(default_factory=list)
    loop_seconds: float = 0.0

    def predict(self, X: NDArray[np.generic]) -> Labels:
        """Predict -1 or +1; a tie is +1."""
        columns = to_columns(X)
        votes = np.zeros(len(X))
        for tree, C in zip(self.trees, self.features, strict=True):
            votes += tree.predict(columns[:, C], check_input=False)
        return np.where(votes >= 0, 1, -1).astype(np.int8)


def fit_literal(
    X: NDArray[np.generic],
    y: Labels,
    *,
    max_samples: int,
    max_features: int,
    n_estimators: int,
    feature_momentum: float = 0.5,
    seed: int = 0,
) -> LiteralModel:
    """Run Algorithm 1 with soft logistic weights for a fixed number of iterations; y is -1 or +1."""
    X = to_columns(X)
    N, M = X.shape
    rng = np.random.default_rng(seed)
    tree_random_state = np.random.RandomState(seed)  # scikit-learn takes no Generator
    model = LiteralModel(p=np.full(N, 1.0 / N), q=np.full(M, 1.0 / M))
    F, G = np.zeros(N), np.zeros(N)

    start = time.perf_counter()
    for _ in range(n_estimators):
        # 1. Sample a minipatch.
        R = rng.choice(N, max_samples, replace=False, p=model.p)
        C = rng.choice(M, max_features, replace=False, p=model.q)
        X_C = X[:, C]
        # 2. Train a weak learner on the minipatch.
        h = DecisionTreeClassifier(random_state=tree_random_state)
        h.fit(X_C[R], y[R], check_input=False)
        # 3. Update outputs.
        votes = h.predict(X_C, check_input=False)
        F += votes
        # 4. Update probability distributions.
        model.p = weigh_observations(y, F)
        update_features(model.q, C, h.feature_importances_, feature_momentum)
        # 5. Out-of-patch accuracy.
        votes[R] = 0
        G += votes
        model.oop_scores.append(float(np.mean(np.sign(G) == y)))
        model.trees.append(h)
        model.features.append(C)
    model.loop_seconds = time.perf_counter() - start
    return model


def to_columns(X: NDArray[np.generic]) -> NDArray[np.float32]:
    """Convert to the numbers that scikit-learn's trees work on, column by column."""
    return X.astype(np.float32, order="F")


def weigh_observations(y: Labels, F: Floats) -> Floats:
    """Compute p: the soft logistic weights, normalised."""
    weights = expit(-y * F)
    return weights / weights.sum()


def update_features(q: Floats, C: NDArray[np.int64], importances: Floats, momentum: float) -> None:
    """Move q inside the minipatch towards the importances, in place; a tree without splits leaves it alone."""
    if importances.any():
        q[C] = (1.0 - momentum) * q[C] + momentum * q[C].sum() * importances
