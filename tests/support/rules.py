"""Rules such as users write, each with a naive twin that the oracles use: no logarithms, no records."""

import numpy as np


class Bell:
    """A weighting of margins that has a peak, unlike those of Table I: it does not fall."""

    def log_weight(self, margins):
        return -np.log1p((margins + 1.0) ** 2)

    @staticmethod
    def L(y, F):  # noqa: N802
        return 1 / (1 + (y * F + 1) ** 2)


class Lopsided:
    """A weighting of residuals that depends on their sign."""

    def log_weight(self, residuals):
        return np.where(residuals > 0, 0.5, 0.0) - 2.0 / (1.0 + np.abs(residuals))

    @staticmethod
    def L(multiple, sign):  # noqa: N802
        return (np.exp(0.5) if sign > 0 else 1) / np.exp(2 / (1 + multiple))


class Tilted:
    """A weighting of rows by their numbers, targets, margins and age."""

    def log_weight_rows(self, rows):
        assert rows.n_samples >= len(rows) == len(rows.targets)
        tilt = 0.3 * (rows.positions % 3) - 0.01 * rows.n_learners * (rows.positions % 2)
        return tilt - 0.5 * rows.margins + 0.2 * (rows.targets > 0)

    @staticmethod
    def weigh_rows(t, targets, margins):
        weights = []
        for i, (target, margin) in enumerate(zip(targets, margins, strict=True)):
            weight = np.exp(0.3) ** (i % 3) * np.exp(-margin / 2)
            weights.append(weight / np.exp(0.01 * t) ** (i % 2) * (np.exp(0.2) if target > 0 else 1))
        return np.array(weights)


class Costs:
    """Features have to earn what they cost."""

    def credit_features(self, learner):
        return learner.importances / (1.0 + learner.features)

    @staticmethod
    def credit(C, importances):
        credits = np.array([importance / (1 + j) for j, importance in zip(C, importances, strict=True)])
        return credits / (np.abs(credits).sum() or 1)


class Hedge:
    """Multiplies q by a factor for what the last learner and all of them found."""

    def update_probabilities(self, features):
        return features.probabilities * np.exp(features.importances + 0.5 * features.mean_importances)

    @staticmethod
    def move(q, importances, means):
        moved = np.array([a * np.exp(b) * np.exp(c) ** 0.5 for a, b, c in zip(q, importances, means, strict=True)])
        return moved / moved.sum() * q.sum()
