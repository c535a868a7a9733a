"""Weights of rows: alike to repetition on average, free of scale, and nothing at zero."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from .compare import assert_equal_bytes, assert_same_model, list_learned


def make_category_frame(X):
    """Make a frame of a categorical column and numbers."""
    return pd.DataFrame({"word": pd.Categorical([f"w{value % 7}" for value in X[:, 0]]), "a": X[:, 1], "b": X[:, 2]})


FORMS = {"array": np.asarray, "sparse": sparse.csr_array, "frame": make_category_frame}

BAD_WEIGHTS = {
    "negative": (lambda n: np.r_[-1.0, np.ones(n - 1)], "egative"),
    "nan": (lambda n: np.r_[np.nan, np.ones(n - 1)], "NaN"),
    "infinite": (lambda n: np.r_[np.inf, np.ones(n - 1)], "infinity"),
    "infinite-both-ways": (lambda n: np.resize([1e308, -np.inf, np.inf], n), "infinity|NaN|egative"),
    "all-zero": (np.zeros, "non-zero"),
    "too-few": (lambda n: np.ones(n - 1), "sample_weight.shape"),
    "two-dimensional": (lambda n: np.ones((n, 2)), "1D"),
    "text": (lambda n: np.full(n, "heavy"), "heavy"),
}


@cache
def learn_for_many_seeds(subject):
    """Give raw outputs, for many seeds, of models of plain, weighted and repeated rows.

    Minipatches are a small share of the rows: in large ones copies of a row meet, which a row of double weight cannot.
    """
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(300, 4)), 0.7 * rng.normal(size=300)
    y = subject.make_target(X[:, 0] + noise)
    # Weights that make another feature count: to ignore them would show.
    k = 2 * ((noise > 0) == (X[:, 1] > 0)) + rng.integers(0, 2, size=300)
    grid = rng.normal(size=(300, 4))

    def learn(rows, weights, first_seed):
        seeds = range(first_seed, first_seed + 30)
        models = (subject.make(max_samples=15, random_state=seed, **subject.eager) for seed in seeds)
        return np.array([subject.run(model.fit(X[rows], y[rows], weights), grid) for model in models])

    each = np.arange(300)
    return {
        "plain": learn(each, None, 0),
        "all-twos": learn(each, np.full(300, 2.0), 100),
        "all-twice": learn(np.repeat(each, 2), None, 200),
        "weighted": learn(each, k, 300),
        "repeated": learn(np.repeat(each, k), None, 400),
        "repeated-again": learn(np.repeat(each, k), None, 500),
    }


def compare_means(subject, one, other):
    """Give the squared difference of means over the one that chance explains: about 1 where they are the same."""
    outputs = learn_for_many_seeds(subject)
    one, other = outputs[one], outputs[other]
    chance = (one.var(axis=0, ddof=1) + other.var(axis=0, ddof=1)) / len(one)
    return np.mean((one.mean(axis=0) - other.mean(axis=0)) ** 2) / np.mean(chance)


class WeightBattery:
    """What ``sample_weight`` means."""

    # In place of scikit-learn's two checks of equivalence

    @pytest.mark.slow
    def test_weights_equal_repetition_on_average(self):
        # Not quite 1: features are credited by rows outside the minipatch, among which are copies of rows in it.
        assert compare_means(self.subject, "weighted", "repeated") < 3.0

    @pytest.mark.slow
    def test_equal_weights_equal_repetition_on_average(self):
        assert compare_means(self.subject, "all-twos", "all-twice") < 2.0

    @pytest.mark.slow
    def test_comparison_of_means_would_notice_weights_that_are_ignored(self):
        assert compare_means(self.subject, "repeated", "repeated-again") < 2.0
        assert compare_means(self.subject, "plain", "repeated") > self.subject.weight_effect

    # Exactly

    @pytest.mark.parametrize("weight", [1.0, 2.0, 1e-3, 1e6, 3])
    def test_equal_weights_equal_none(self, weight):
        X, y = self.subject.make_data()
        weighted = self.subject.make().fit(X, y, sample_weight=np.full(len(X), weight))
        assert_same_model(self.subject, weighted, self.subject.make().fit(X, y), X)

    @pytest.mark.parametrize("factor", [0.5, 4.0, 2.0**900, 2.0**-900])
    def test_scale_of_weights_does_not_matter(self, factor):
        X, y = self.subject.make_data()
        weights = np.random.default_rng(0).uniform(0.2, 2.0, size=len(X))
        one, other = (self.subject.make().fit(X, y, sample_weight=scale * weights) for scale in (1.0, factor))
        assert_same_model(self.subject, one, other, X)

    @pytest.mark.parametrize("factor", [1e-3, 1e6, 1e-300])
    def test_scale_of_weights_does_not_matter_but_for_the_last_bits_of_p(self, factor):
        X, y = self.subject.make_data()
        weights = np.random.default_rng(0).uniform(0.2, 2.0, size=len(X))
        one, other = (self.subject.make().fit(X, y, sample_weight=scale * weights) for scale in (1.0, factor))
        assert_equal_bytes(self.subject.run(one, X), self.subject.run(other, X))
        np.testing.assert_allclose(one.observation_probabilities_, other.observation_probabilities_, rtol=1e-12)
        assert one.oop_score_ == pytest.approx(other.oop_score_, abs=1e-12)

    @pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
    def test_weight_zero_equals_absence(self, form):
        X, y = self.subject.make_data()
        weights = np.random.default_rng(0).integers(0, 3, size=len(X)).astype(float)
        absent = weights == 0
        X[absent] += 1000  # bins and categories of their own, if anyone looked
        y[absent] = y[0]
        whole, part = self.subject.make(), self.subject.make()
        whole.fit(form(X), y, sample_weight=weights)
        part.fit(form(X[~absent]), y[~absent], sample_weight=weights[~absent])
        learned, expected = list_learned(whole), list_learned(part)
        for name in ("observation_probabilities_", "oop_counts_"):
            assert not learned[name][absent].any()
        for name in ("observation_difficulty_", self.subject.oop_output):
            assert np.isnan(learned[name][absent]).all()
        assert (learned.pop("n_samples_"), expected.pop("n_samples_")) == (len(X), np.count_nonzero(~absent))
        per_row = "observation_probabilities_", "oop_counts_", "observation_difficulty_", self.subject.oop_output
        for name in per_row:
            assert_equal_bytes(learned.pop(name)[~absent], expected.pop(name))
        assert learned.keys() == expected.keys()
        for name, value in learned.items():
            assert_equal_bytes(value, expected[name])
        for method in self.subject.predictions:
            assert_equal_bytes(getattr(whole, method)(form(X)), getattr(part, method)(form(X)))

    def test_weights_change_the_model(self):
        X, y = self.subject.make_data()
        weighted = self.subject.make().fit(X, y, sample_weight=1 + X[:, 2] % 3)
        assert not np.array_equal(self.subject.run(weighted, X), self.subject.run(self.subject.make().fit(X, y), X))

    def test_weights_are_in_any_container(self):
        X, y = self.subject.make_data()
        weights = (1 + X[:, 2] % 3).astype(float)
        expected = self.subject.make().fit(X, y, sample_weight=weights)
        for other in (
            weights.tolist(),
            pd.Series(weights[::-1])[::-1],
            weights.astype(np.float32),
            weights.astype(int),
        ):
            assert_same_model(self.subject, self.subject.make().fit(X, y, sample_weight=other), expected, X)

    def test_weights_of_all_sizes_leave_p_a_distribution(self):
        X, y = self.subject.make_data()
        weights = 10.0 ** np.linspace(-300, 300, len(X))
        p = self.subject.make().fit(X, y, sample_weight=weights).observation_probabilities_
        assert np.isfinite(p).all()
        assert p.sum() == pytest.approx(1.0, abs=1e-12)

    @pytest.mark.parametrize("heavy", [1e16, 1e30, 1e200])
    def test_row_that_is_far_heavier_is_learned_without_overflow(self, heavy):
        X, y = self.subject.make_data()
        weights = np.ones(len(X))
        weights[3] = heavy
        model = self.subject.make().fit(X, y, sample_weight=weights)
        assert np.isfinite(self.subject.run(model, X)).all()
        assert model.predict(X)[3] == pytest.approx(y[3], rel=1e-6)

    @pytest.mark.parametrize("stopping", [None, "patience"])
    def test_two_rows_of_the_lightest_and_the_heaviest_weights_give_a_model(self, stopping):
        X, y = self.subject.make_data()
        X, y = X[:2], np.array([y.min(), y.max()])
        model = self.subject.estimator(n_estimators=3, stopping=stopping, random_state=0)
        model.fit(X, y, sample_weight=[1e-300, 1e300])
        assert np.isfinite(self.subject.run(model, X)).all()
        assert not np.isnan(model.train_scores_).any()

    # Scores

    @pytest.mark.parametrize("weights", [[1e-300, 1e300], [1.7e308, 1.7e308], [0.0, 5e-324]])
    def test_validation_rows_may_be_extremely_light_or_heavy(self, weights):
        X, y = self.subject.make_data()
        weights = np.resize(weights, len(X))
        model = self.subject.make().fit(X, y, X_val=X, y_val=y, sample_weight_val=weights)
        expected = self.subject.score(y, model.predict(X), sample_weight=weights / weights.max())
        assert model.validation_score_ == pytest.approx(expected, abs=self.subject.precision)

    def test_weights_count_in_the_out_of_patch_score(self):
        X, y = self.subject.make_data()
        weights = np.where(X[:, 0] + X[:, 1] > 59, 5.0, X[:, 2] % 2)
        model = self.subject.make().fit(X, y, sample_weight=weights)
        G = getattr(model, self.subject.oop_output)
        known = ~np.isnan(model.observation_difficulty_)
        expected = self.subject.score_output(y[known], G[known], sample_weight=weights[known])
        oop_score = model.oop_scores_[model.best_iteration_ - 1]
        assert oop_score == pytest.approx(expected, abs=self.subject.precision)
        assert oop_score != pytest.approx(self.subject.score_output(y[known], G[known]), abs=1e-3)

    def test_weights_count_in_the_training_scores(self):
        X, y = self.subject.make_data()
        weights = np.where(X[:, 0] + X[:, 1] > 59, 5.0, X[:, 2] % 2)
        model = self.subject.make(**self.subject.of_all_rows).fit(X, y, sample_weight=weights)
        stages = list(model.staged_predict(X))
        expected = [self.subject.score(y, stage, sample_weight=weights) for stage in stages]
        np.testing.assert_allclose(model.train_scores_, expected, rtol=0, atol=self.subject.precision)
        assert not np.allclose(model.train_scores_, [self.subject.score(y, stage) for stage in stages])

    # Refusals

    @pytest.mark.parametrize(("make_bad", "word"), BAD_WEIGHTS.values(), ids=BAD_WEIGHTS.keys())
    def test_bad_weights_are_refused_and_leave_the_model_as_it_was(self, make_bad, word):
        X, y = self.subject.make_data()
        model = self.subject.make().fit(X, y)
        before = dict(vars(model))
        with pytest.raises(ValueError, match=word):
            model.fit(X, y, sample_weight=make_bad(len(X)))
        assert vars(model).keys() == before.keys()
        assert all(value is before[name] for name, value in vars(model).items())
