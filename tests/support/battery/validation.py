"""Given validation data, and fits that go on."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from .compare import assert_equal_bytes, assert_same_model
from .weights import make_category_frame

#: Ways to pass data to fit: of X, y and new rows make X and keywords.
FITS = {
    "dense": lambda X, new: (X, {}),
    "sparse": lambda X, new: (sparse.csr_array(X), {}),
    "frame-with-categories": lambda X, new: (make_category_frame(X), {}),
    "weights": lambda X, new: (X, {"sample_weight": X[:, 3] % 3}),
    "validation-data": lambda X, new: (X, dict(zip(("X_val", "y_val"), new, strict=True))),
}


def make_bad_validation(X, y):
    """Make keywords that fit must refuse, and a word of why."""
    return {
        "x-alone": ({"X_val": X}, "passed together"),
        "y-alone": ({"y_val": y}, "passed together"),
        "weights-alone": ({"sample_weight_val": np.ones(len(y))}, "passed together"),
        "fewer-features": ({"X_val": X[:, :3], "y_val": y}, "features"),
        "fewer-rows": ({"X_val": X[:-1], "y_val": y}, "inconsistent"),
        "no-rows": ({"X_val": X[:0], "y_val": y[:0]}, "0 sample"),
        "missing-target": ({"X_val": X, "y_val": np.r_[np.nan, y[1:]]}, "NaN"),
        "bad-weights": ({"X_val": X, "y_val": y, "sample_weight_val": -np.ones(len(y))}, "egative"),
    }


class ValidationBattery:
    """``X_val`` and ``y_val``: scores, stopping, refusals."""

    def fit_with_validation(self, n_val=200, sample_weight_val=None, **parameters):
        data, new = self.subject.make_data(), self.subject.make_data(n_val, seed=1)
        model = self.subject.make(**parameters)
        return model.fit(*data, X_val=new[0], y_val=new[1], sample_weight_val=sample_weight_val), *new

    @pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
    def test_validation_scores_are_those_of_the_stages(self, weighted):
        weights = np.random.default_rng(0).uniform(size=200) if weighted else None
        model, X, y = self.fit_with_validation(sample_weight_val=weights)
        stages = list(model.staged_predict(X))
        expected = [self.subject.score(y, stage, sample_weight=weights) for stage in stages]
        np.testing.assert_allclose(model.validation_scores_, expected, rtol=0, atol=1e-12)
        assert model.validation_score_ == model.validation_scores_[-1]

    def test_validation_data_do_not_change_what_is_learned(self):
        model, X, _ = self.fit_with_validation()
        alone = self.subject.make().fit(*self.subject.make_data())
        assert_equal_bytes(self.subject.run(model, X), self.subject.run(alone, X))
        assert_equal_bytes(model.oop_scores_, alone.oop_scores_)
        assert not hasattr(alone, "validation_scores_")

    def test_validation_data_are_forgotten_by_a_fit_without(self):
        model, _, _ = self.fit_with_validation()
        assert not hasattr(model.fit(*self.subject.make_data()), "validation_score_")

    def test_validation_score_decides_when_to_stop_and_where_to_cut(self):
        parameters = {"stopping": "patience", "n_iter_no_change": 20, "n_estimators": 500}
        model, X, y = self.fit_with_validation(**parameters | self.subject.of_all_rows)
        stops_by_loss = hasattr(model, "validation_losses_")
        curve = -model.validation_losses_ if stops_by_loss else model.validation_scores_
        assert model.n_iter_ == len(curve) < 500
        assert model.stop_reason_ == f"no better validation {'loss' if stops_by_loss else 'score'} for 20 iterations"
        # Of 20: the mean of a fifth, from half on; of losses that of a twentieth, from the first on.
        window, first = (1, 1) if stops_by_loss else (4, 10)
        means = [math.fsum(curve[t - window : t]) / window for t in range(first, len(curve) + 1)]
        assert model.best_iteration_ == first + np.argmax(means)
        # Gains below the tolerance move the best iteration, and do not prolong the fit.
        assert model.best_iteration_ <= model.n_iter_ <= model.best_iteration_ + 20
        assert model.validation_score_ == model.validation_scores_[model.best_iteration_ - 1] == model.score(X, y)
        assert len(self.subject.run_stages(model, X)) == model.best_iteration_

    def test_validation_data_make_out_of_patch_rows_needless(self):
        model, _, _ = self.fit_with_validation(stopping="patience", **self.subject.without_oop)
        assert np.isnan(model.oop_score_)
        assert model.validation_score_ > self.subject.least_score

    def test_validation_data_are_read_in_any_form(self):
        X, y = self.subject.make_data()
        X_val, y_val = self.subject.make_data(100, seed=1)
        expected = self.subject.make().fit(X, y, X_val=X_val, y_val=y_val)
        for form in (sparse.csr_array, np.asfortranarray, lambda X: X.astype(np.float32)):
            model = self.subject.make().fit(X, y, X_val=form(X_val), y_val=pd.Series(y_val))
            assert_equal_bytes(model.validation_scores_, expected.validation_scores_)

    def test_validation_data_may_have_new_categories(self):
        X, y = self.subject.make_data()
        new = make_category_frame(X)
        new["word"] = pd.Categorical(np.where(X[:, 4] % 2, "new", new["word"].astype(object)))
        model = self.subject.make().fit(make_category_frame(X), y, X_val=new, y_val=y)
        assert model.validation_score_ == pytest.approx(model.score(new, y), abs=1e-12)

    @pytest.mark.parametrize("case", make_bad_validation(np.zeros((1, 4)), np.zeros(1)))
    def test_bad_validation_data_are_refused_and_leave_the_model_as_it_was(self, case):
        X, y = self.subject.make_data()
        model = self.subject.make().fit(X, y)
        before = dict(vars(model))
        keywords, word = make_bad_validation(X, y)[case]
        with pytest.raises(ValueError, match=word):
            model.fit(X, y, **keywords)
        assert vars(model).keys() == before.keys()
        assert all(value is before[name] for name, value in vars(model).items())


class WarmStartBattery:
    """``warm_start``: to go on is the same as never to have stopped."""

    @pytest.mark.parametrize("make_fit", FITS.values(), ids=FITS.keys())
    def test_warm_start_equals_one_long_fit(self, make_fit):
        X, y = self.subject.make_data()
        table, keywords = make_fit(X, self.subject.make_data(seed=1))
        model = self.subject.make(n_estimators=100, warm_start=True).fit(table, y, **keywords)
        first = self.subject.run(model, table)
        model.set_params(n_estimators=200).fit(table, y, **keywords)
        assert model.n_iter_ == 200
        assert not np.array_equal(self.subject.run(model, table), first)
        assert_same_model(self.subject, model, self.subject.make(n_estimators=200).fit(table, y, **keywords), table)

    @pytest.mark.parametrize(
        "changed", [{"sample_weight": np.arange(300) % 4}, {}, {"X_val": np.zeros((3, 5)), "y_val": [0, 1, 1]}]
    )
    def test_warm_start_refuses_other_weights_or_validation_data(self, changed):
        X, y = self.subject.make_data()
        new = self.subject.make_data(seed=1)
        model = self.subject.make(warm_start=True)
        model.fit(X, y, sample_weight=X[:, 3] % 3, X_val=new[0], y_val=new[1])
        before = self.subject.run(model, X)
        with pytest.raises(ValueError, match="warm_start"):
            model.set_params(n_estimators=60).fit(X, y, **changed)
        assert_equal_bytes(self.subject.run(model, X), before)
