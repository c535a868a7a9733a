"""The loop of gradient boosting against the oracle, iteration by iteration."""

import numpy as np
import pytest

from mpboost import Callback, MPGradientBoostingClassifier, MPGradientBoostingRegressor, _native
from tests.support.cases import list_cases
from tests.support.gradient_oracle import GradientOracle, LogLossOracle, Patch, SoftmaxOracle, SquaredErrorOracle
from tests.support.oracle import rank_values

KINDS = {
    "numbers": (MPGradientBoostingRegressor, lambda y: y, SquaredErrorOracle),
    "two-classes": (MPGradientBoostingClassifier, lambda y: (y > 0.5).astype(int), LogLossOracle),
    "four-classes": (MPGradientBoostingClassifier, lambda y: np.digitize(y, [-1.0, 0.2, 1.5]), SoftmaxOracle),
}
RUNS = {
    "plain": {},
    "weights": {"weighted": True},
    "no-reserve": {"oop_size": 0},
    "no-refit": {"leaf_refit": False},
    "no-refit-weights": {"leaf_refit": False, "weighted": True},
    "no-l2": {"l2_regularization": 0.0},
    "uniform-rows": {"adaptive_observations": False},
    "missing": {"missing": 0.2},
    "small-trees": {"max_depth": 2, "min_samples_leaf": 20},
    "rounds-of-5": {"round_size": 5, "weighted": True},
    "rounds-of-5-no-refit": {"round_size": 5, "leaf_refit": False},
}


class Spy(Callback):
    """Keeps what a run shows after each iteration; stands between it and its grower."""

    def __init__(self):
        self.patches, self.positions, self.scores, self.draws = [], [], [], []

    def on_fit_begin(self, run):
        self.task, self.sampler, learner = run.parts.task, run.parts.observation_sampler, run.parts.learner
        self.grower, learner._grower = learner._grower, self
        self.grow_all, learner._grow = learner._grow, self.watch
        self.keep(run)

    def watch(self, fetched, threads):
        self.now = []
        for minipatch, _ in fetched:
            rows, weights, question = minipatch.draw.rows, minipatch.draw.weights, minipatch.question
            self.now.append((rows, minipatch.features, weights, question.direction, *question.of(rows, weights)))
        return self.grow_all(fetched, threads)

    def grow_round(self, patches, seed, threads):
        grown = self.grower.grow_round(patches, seed, threads)
        self.patches += [Patch(*now, seed, tree) for now, tree in zip(self.now, grown, strict=True)]
        return grown

    def keep(self, run):
        (now,) = run.parts.task.predictors
        self.positions.append([np.array(each, dtype=float) for each in (now.raw, now.gradients, now.hessians)])

    def on_iteration_end(self, run):
        self.keep(run)
        oop_loss = self.task.out_of_patch.losses[-1] * self.task.loss.unit
        self.scores.append((run.train_scores[-1], run.oop_scores[-1], oop_loss))


def run_both(kind, weighted=False, missing=0.0, n_iterations=12, **parameters):
    """Fit a model that is watched; give it, what was seen, the oracle and X."""
    estimator, make_target, make_loss = KINDS[kind]
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(300, 4)), 1).clip(-2, 2)  # few distinct values: no bins are merged
    y = make_target(X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=300))
    X[rng.random(X.shape) < missing] = np.nan
    weights = rng.uniform(0.3, 3.0, size=300) if weighted else None
    own = {"learning_rate": 0.2, "max_leaf_nodes": 8, "min_samples_leaf": 3, "l2_regularization": 1.0, "oop_size": 0.2}
    limits = {name: (own | parameters).get(name, 0) for name in ("max_leaf_nodes", "max_depth", "min_samples_leaf")}
    spy = Spy()
    own["round_size"] = 1
    fixed = {"n_models": 1, "max_samples": 120, "max_features": 3, "stopping": None, "random_state": 0}
    model = estimator(**own | parameters | fixed, n_estimators=n_iterations, callbacks=[spy])
    model.fit(X, y, weights)
    normed = None if weights is None else weights / weights.mean()
    oracle = GradientOracle(
        rank_values(X),
        make_loss(y, np.ones(300) if normed is None else normed),
        weights=normed,
        reserved=spy.task.out_of_patch.rows,
        unit=spy.task.loss.scale,
        learning_rate=model.learning_rate,
        l2=model.l2_regularization,
        leaf_refit=model.leaf_refit,
        tree_options={**limits, "max_bins": 64},
    )
    return model, spy, oracle, X


def assert_near(one, other):
    other = np.asarray(other)
    np.testing.assert_allclose(np.reshape(one, other.shape), other, rtol=1e-3, atol=2e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", list_cases(RUNS, ["plain", "no-refit-weights", "missing", "rounds-of-5"]))
def test_boost_matches_the_oracle(kind, options):
    model, spy, oracle, X = run_both(kind, **options)
    assert_near(model.baseline_, oracle.loss.start)
    stages = list((model.staged_predict if kind == "numbers" else model.staged_decision_function)(X))
    exploration = model.observation_exploration if model.adaptive_observations else 1.0
    for t, patch in enumerate(spy.patches[:12], start=1):
        raw, gradients, hessians = spy.positions[t - 1]
        assert_near(spy.task.loss.offset + spy.task.loss.scale * raw, oracle.F)
        assert_near(gradients, oracle.g)
        assert_near(hessians, oracle.h)
        singles = [each.astype(np.float32) for each in (gradients, hessians)]
        of_round = spy.patches[t - 1 : t - 1 + model.round_size] if (t - 1) % model.round_size == 0 else []
        for s, other in enumerate(of_round, start=t):
            line = *singles, spy.task.predictors[0].weights, [s], None
            draw = exploration, spy.sampler.n_drawn, other.seed, _native.Threads(1)
            (((rows, counts),),) = _native.draw_by_gradient([line], 0.0, *draw)
            np.testing.assert_array_equal(other.rows, rows)
            np.testing.assert_array_equal(other.counts, counts)
            for given, expected in zip((other.gradients, other.hessians), oracle.find_slopes(other), strict=True):
                assert_near(given, expected)
        oracle.iterate(t, patch)
        assert_near(stages[t - 1], oracle.F)
        assert_near(spy.scores[t - 1], [oracle.train, oracle.oop, oracle.oop_loss])
    assert len(spy.patches) == -(-12 // model.round_size) * model.round_size


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weights"])
def test_published_attributes_are_those_of_the_oracle(kind, weighted):
    model, spy, oracle, X = run_both(kind, weighted=weighted)
    for t, patch in enumerate(spy.patches[:12], start=1):
        oracle.iterate(t, patch)
    output = model.oop_prediction_ if kind == "numbers" else model.oop_decision_function_
    raw = model.predict(X) if kind == "numbers" else model.decision_function(X)
    known = np.isin(np.arange(300), oracle.reserved)
    assert np.isnan(output[~known]).all()
    assert_near(output[known], oracle.F[known])
    assert_near(output[known], raw[known])
    sizes = np.sqrt((oracle.g**2).sum(axis=1))
    assert_near(model.observation_probabilities_, sizes / sizes.sum())
    assert_near(
        [model.oop_score_, model.train_scores_[-1], model.oop_losses_[-1]], [oracle.oop, oracle.train, oracle.oop_loss]
    )
    if kind != "numbers":
        losses = oracle.loss.find_loss(oracle.F)
        if kind == "two-classes":
            assert_near(model.observation_difficulty_[known], 1 - np.exp(-losses[known]))
        assert model.score(X[known], oracle.loss.y[known], oracle.all_weights[known]) == pytest.approx(oracle.oop)
