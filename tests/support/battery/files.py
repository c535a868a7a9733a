"""Model files: what is loaded knows and predicts the same as what was saved."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import mpboost

from .compare import assert_equal_bytes, assert_same_model
from .weights import make_category_frame

FITS = {
    "array": lambda X: (X, {}),
    "missing-values": lambda X: (np.where(X % 7 == 0, np.nan, X), {}),
    "sparse": lambda X: (sparse.csr_array(X), {}),
    "names": lambda X: (pl.DataFrame(X, schema=list("abcde")), {}),
    "categories": lambda X: (make_category_frame(X), {}),
    "categories-of-numbers": lambda X: (pd.DataFrame({"x": pd.Categorical(X[:, 0]), "y": X[:, 1], "z": X[:, 2]}), {}),
    "weights": lambda X: (X, {"sample_weight": X[:, 3] % 3}),
    "validation-data": lambda X: (X, {"X_val": X[:50]}),
}


class FileBattery:
    """``save_model`` and ``load_model``."""

    @pytest.mark.parametrize("make_fit", FITS.values(), ids=FITS.keys())
    def test_file_keeps_all_of_the_model(self, make_fit, tmp_path):
        X, y = self.subject.make_data()
        table, keywords = make_fit(X)
        if "X_val" in keywords:
            keywords["y_val"] = y[:50]
        model = self.subject.make().fit(table, y, **keywords)
        mpboost.save_model(model, tmp_path / "model")
        loaded = mpboost.load_model(tmp_path / "model")
        assert type(loaded) is type(model)
        assert loaded.get_params() == model.get_params()
        assert_same_model(self.subject, loaded, model, table)
        assert loaded.stop_reason_ == model.stop_reason_
        assert hasattr(loaded, "feature_names_in_") == hasattr(model, "feature_names_in_")
        if hasattr(model, "feature_names_in_"):
            assert loaded.feature_names_in_.tolist() == model.feature_names_in_.tolist()
        for one, other in zip(*(self.subject.run_stages(each, table) for each in (loaded, model)), strict=True):
            assert_equal_bytes(one, other)

    def test_file_keeps_targets_of_any_kind(self, tmp_path):
        X, y = self.subject.make_data()
        for convert in self.subject.target_kinds.values():
            model = self.subject.make().fit(X, convert(y))
            mpboost.save_model(model, tmp_path / "model")
            assert_same_model(self.subject, mpboost.load_model(tmp_path / "model"), model, X)

    def test_file_of_a_loaded_model_is_the_same_file(self, tmp_path):
        X, y = self.subject.make_data()
        mpboost.save_model(self.subject.make().fit(make_category_frame(X), y), tmp_path / "one")
        mpboost.save_model(mpboost.load_model(tmp_path / "one"), tmp_path / "two")
        assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()

    def test_file_that_is_damaged_is_refused(self, tmp_path):
        X, y = self.subject.make_data()
        path = tmp_path / "model"
        mpboost.save_model(self.subject.make().fit(X, y), path)
        whole = path.read_bytes()
        flipped = whole[: len(whole) // 2] + bytes([whole[len(whole) // 2] ^ 1]) + whole[len(whole) // 2 + 1 :]
        for damaged in (whole[:-1], whole + b"0", flipped, b""):
            path.write_bytes(damaged)
            with pytest.raises(mpboost.ModelFileError):
                mpboost.load_model(path)

    def test_file_is_not_made_of_an_unfitted_model(self, tmp_path):
        with pytest.raises(ValueError, match="not fitted"):
            mpboost.save_model(self.subject.make(), tmp_path / "model")
        assert not list(tmp_path.iterdir())
