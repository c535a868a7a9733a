"""The manners of scikit-learn: its own checks, its tools, and copies of all kinds."""

import copy
import pickle

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder, StandardScaler
from sklearn.utils import get_tags

from mpboost import FeatureProbabilityRecorder

from ..helpers import run_script
from .checks import list_checks
from .compare import assert_equal_bytes, assert_same_model, list_learned


def copy_by_joblib(model, folder):
    joblib.dump(model, folder / "model.joblib")
    return joblib.load(folder / "model.joblib")


def copy_by_mapped_joblib(model, folder):
    joblib.dump(model, folder / "model.joblib")
    return joblib.load(folder / "model.joblib", mmap_mode="r")


COPIES = {
    "pickle": lambda model, folder: pickle.loads(pickle.dumps(model)),
    "old-pickle": lambda model, folder: pickle.loads(pickle.dumps(model, protocol=2)),
    "joblib": copy_by_joblib,
    "mapped-joblib": copy_by_mapped_joblib,
    "deepcopy": lambda model, folder: copy.deepcopy(model),
    "copy": lambda model, folder: copy.copy(model),
    "copy-of-a-copy": lambda model, folder: copy.deepcopy(pickle.loads(pickle.dumps(model))),
}


def list_marks(check):
    """List the marks of a check; of all configurations, only the default is quick."""
    marks = [] if check.configuration == "default" else [pytest.mark.slow]
    return [*marks, pytest.mark.xfail(reason=check.reason, strict=True)] if check.reason else marks


class CheckBattery:
    """What scikit-learn checks, how parameters are set and shown, and what pickles hold."""

    def pytest_generate_tests(self, metafunc):
        if "check" in metafunc.fixturenames:
            checks = list_checks(self.subject)
            metafunc.parametrize("check", [pytest.param(each, id=each.id, marks=list_marks(each)) for each in checks])

    def test_estimator_passes_scikit_learn(self, check):
        check.run(check.estimator)

    def test_get_params_returns_what_was_set(self):
        values = {"max_samples": 0.3, "feature_momentum": 0.1, "stopping": None, "callbacks": [], "n_jobs": 2}
        parameters = self.subject.estimator(**values).get_params()
        assert {name: parameters[name] for name in values} == values

    def test_set_params_changes_the_next_fit(self):
        data = self.subject.make_data()
        model = self.subject.make().fit(*data)
        assert model.set_params(n_estimators=7) is model
        assert model.n_iter_ == 30
        assert model.fit(*data).n_iter_ == 7

    def test_set_params_refuses_unknown_names(self):
        with pytest.raises(ValueError, match="n_trees"):
            self.subject.make().set_params(n_trees=3)

    def test_tags_tell_what_the_estimator_can_do(self):
        tags = get_tags(self.subject.make())
        assert tags.estimator_type == ("classifier" if self.subject.has_labels else "regressor")
        assert tags.input_tags.allow_nan
        assert tags.input_tags.sparse
        assert not self.subject.has_labels or tags.classifier_tags.multi_class

    def test_fit_leaves_parameters_as_they_were(self):
        model = self.subject.make(max_samples=0.2, callbacks=[FeatureProbabilityRecorder([0])])
        before = model.get_params()
        after = model.fit(*self.subject.make_data()).get_params()
        assert after.keys() == before.keys()
        assert all(after[name] is before[name] for name in before)

    def test_repr_shows_what_differs_from_the_defaults(self):
        assert repr(self.subject.estimator(max_samples=7)) == f"{self.subject.name}(max_samples=7)"

    def test_html_shows_name_parameters_and_state(self):
        model = self.subject.make(max_samples=37)
        before = model._repr_html_()
        after = model.fit(*self.subject.make_data())._repr_html_()
        assert self.subject.name in before
        assert "37" in before
        assert "Not fitted" in before
        assert "Not fitted" not in after

    @pytest.mark.slow
    def test_pickle_is_read_by_a_fresh_process(self, tmp_path):
        X, y = self.subject.make_data()
        model = self.subject.make().fit(X, y)
        path = str(tmp_path / "model.joblib")
        joblib.dump((model, X), path)
        script = f"import joblib; model, X = joblib.load({path!r}); print(joblib.hash(model.predict(X)))"
        assert run_script(script).strip() == joblib.hash(model.predict(X))

    def test_pickle_does_not_carry_the_training_data(self):
        X, y = self.subject.make_data(10_000)
        X = np.tile(X, 6)
        sizes = [len(pickle.dumps(self.subject.make(warm_start=warm).fit(X, y))) for warm in (False, True)]
        assert sizes[1] < 1.01 * sizes[0]
        assert sizes[0] < 60 * len(X)


class ContractBattery:
    """What the tools of scikit-learn expect, and copies."""

    # Copies

    def test_clone_is_unfitted_and_learns_the_same(self):
        X, y = self.subject.make_data()
        model = self.subject.make(max_samples=50).fit(X, y)
        copied = clone(model)
        assert copied.get_params() == model.get_params()
        assert not list_learned(copied)
        assert_same_model(self.subject, copied.fit(X, y), model, X)

    @pytest.mark.parametrize("make_copy", COPIES.values(), ids=COPIES.keys())
    def test_copy_knows_and_predicts_as_the_original(self, make_copy, tmp_path):
        X, y = self.subject.make_data()
        model = self.subject.make().fit(pd.DataFrame(X, columns=list("abcde")), y)
        copied = make_copy(model, tmp_path)
        frame = pd.DataFrame(X, columns=list("abcde"))
        assert_same_model(self.subject, copied, model, frame)
        assert copied.feature_names_in_.tolist() == list("abcde")
        for one, other in zip(*(self.subject.run_stages(each, frame) for each in (copied, model)), strict=True):
            assert_equal_bytes(one, other)

    @pytest.mark.parametrize("make_copy", COPIES.values(), ids=COPIES.keys())
    def test_copy_of_an_unfitted_estimator_can_be_fitted(self, make_copy, tmp_path):
        X, y = self.subject.make_data()
        copied = make_copy(self.subject.make(), tmp_path)
        assert_same_model(self.subject, copied.fit(X, y), self.subject.make().fit(X, y), X)

    def test_copy_outlives_the_original(self):
        X, y = self.subject.make_data()
        model = self.subject.make().fit(X, y)
        expected = self.subject.run(model, X)
        copied = copy.copy(model)
        model.set_params(random_state=1).fit(X[:, :3], y)
        assert_equal_bytes(self.subject.run(copied, X), expected)

    # Tools

    @pytest.mark.slow
    def test_grid_search_finds_the_better_setting(self):
        data = self.subject.make_data(500)
        search = GridSearchCV(self.subject.make(), {"n_estimators": [1, 40]}, cv=3).fit(*data)
        assert search.best_params_ == {"n_estimators": 40}
        assert search.best_score_ == cross_val_score(self.subject.make(n_estimators=40), *data, cv=3).mean()

    def test_pipeline_passes_data_through(self):
        X, y = self.subject.make_data()
        pipeline = make_pipeline(StandardScaler(), self.subject.make()).fit(X, y)
        scaled = StandardScaler().fit_transform(X)
        assert_equal_bytes(pipeline.predict(X), self.subject.make().fit(scaled, y).predict(scaled))

    @pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
    def test_column_transformer_hands_over_frames_with_names(self, library):
        X, y = self.subject.make_data()
        frame = library.DataFrame({name: X[:, j] for j, name in enumerate("abcde")})
        transformer = make_column_transformer(
            (StandardScaler(), ["d", "a"]), remainder="passthrough", verbose_feature_names_out=False
        ).set_output(transform=library.__name__)
        pipeline = make_pipeline(transformer, self.subject.make()).fit(frame, y)
        assert pipeline[-1].feature_names_in_.tolist() == ["d", "a", "b", "c", "e"]
        columns = np.column_stack([StandardScaler().fit_transform(X[:, [3, 0]]), X[:, [1, 2, 4]]])
        assert_equal_bytes(
            self.subject.run(pipeline, frame), self.subject.run(self.subject.make().fit(columns, y), columns)
        )

    def test_column_transformer_and_categories_go_together(self):
        X, y = self.subject.make_data()
        frame = pd.DataFrame(
            {"colour": pd.Categorical(np.array(["red", "green", "blue"])[X[:, 0] % 3]), "size": X[:, 1]}
        )
        coded = make_column_transformer(
            (OrdinalEncoder(), make_column_selector(dtype_include="category")), remainder="passthrough"
        )
        pipeline = make_pipeline(coded, self.subject.make(max_features=2, categorical_features=[0])).fit(frame, y)
        model = self.subject.make(max_features=2).fit(frame, y)
        assert_equal_bytes(self.subject.run(pipeline, frame), self.subject.run(model, frame))

    def test_permutation_importance_finds_the_feature(self):
        X = np.random.default_rng(0).normal(size=(300, 4))
        y = self.subject.make_target(X[:, 2])
        result = permutation_importance(self.subject.make().fit(X, y), X, y, n_repeats=3, random_state=0)
        assert np.argmax(result.importances_mean) == 2
        assert result.importances_mean[2] > 0.2

    @pytest.mark.parametrize("library", [np, pd], ids=["numpy", "pandas"])
    def test_partial_dependence_follows_the_feature(self, library):
        X = np.random.default_rng(0).normal(size=(300, 4))
        y = self.subject.make_target(X[:, 2])
        X = X if library is np else pd.DataFrame(X, columns=list("abcd"))
        model = self.subject.make().fit(X, y)
        along, beside = (
            partial_dependence(model, X, [feature], grid_resolution=9, kind="average")["average"][
                -1
            ]  # of many classes the highest
            for feature in ((2, 0) if library is np else ("c", "a"))
        )
        assert along[-1] - along[0] > 3 * np.ptp(beside)

    def test_metadata_routing_carries_weights_through_a_pipeline(self):
        X, y = self.subject.make_data()
        weights = 1.0 + X[:, 2] % 3
        expected = self.subject.make().fit(X, y, sample_weight=weights)
        with sklearn.config_context(enable_metadata_routing=True):
            pipeline = make_pipeline(StandardScaler(), self.subject.make().set_fit_request(sample_weight=True))
            pipeline[0].set_fit_request(sample_weight=False)
            pipeline.fit(X, y, sample_weight=weights)
        assert_equal_bytes(pipeline[-1].oop_scores_, expected.oop_scores_)
        assert not np.array_equal(self.subject.make().fit(X, y).oop_scores_, expected.oop_scores_)

    def test_metadata_routing_carries_weights_through_a_grid_search(self):
        X, y = self.subject.make_data()
        weights = 1.0 + X[:, 2] % 3
        with sklearn.config_context(enable_metadata_routing=True):
            model = self.subject.make().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
            search = GridSearchCV(model, {"max_samples": [20]}, cv=2).fit(X, y, sample_weight=weights)
        expected = self.subject.make(max_samples=20).fit(X, y, sample_weight=weights)
        assert_same_model(self.subject, search.best_estimator_, expected, X)

    def test_metadata_routing_carries_validation_data(self):
        X, y = self.subject.make_data()
        with sklearn.config_context(enable_metadata_routing=True):
            model = self.subject.make().set_fit_request(X_val=True, y_val=True)
            pipeline = make_pipeline(StandardScaler().set_output(transform="default"), model)
            pipeline.fit(X, y, X_val=StandardScaler().fit(X).transform(X[:100]), y_val=y[:100])
        assert len(pipeline[-1].validation_scores_) == 30
