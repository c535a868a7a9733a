"""Tables: the same numbers in any form give the same model, and categories are known by their names."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from .compare import assert_equal_bytes, assert_same_model

NAMES = list("abcde")


def read_only(X):
    X = X.astype(np.float64)
    X.flags.writeable = False
    return X


def every_other_cell(X):
    wide = np.full((2 * len(X), 2 * X.shape[1]), np.nan)
    wide[::2, ::2] = X
    return wide[::2, ::2]


def memory_mapped(X, folder):
    np.save(folder / "X.npy", X.astype(np.float64))
    return np.load(folder / "X.npy", mmap_mode="r")


def to_frame(library, X):
    columns = {name: X[:, j] for j, name in enumerate(NAMES)}
    return pa.table(columns) if library is pa else library.DataFrame(columns)


TYPES = [np.float32, np.float64, np.float16, np.int8, np.int64, np.uint8, np.uint32]

FORMS = {
    **{dtype.__name__: lambda X, folder, dtype=dtype: X.astype(dtype) for dtype in TYPES},
    "fortran-order": lambda X, folder: np.asfortranarray(X, dtype=np.float64),
    "strided": lambda X, folder: every_other_cell(X),
    "read-only": lambda X, folder: read_only(X),
    "memory-mapped": memory_mapped,
    "list": lambda X, folder: X.tolist(),
    "pandas": lambda X, folder: to_frame(pd, X),
    "polars": lambda X, folder: to_frame(pl, X),
    "pyarrow": lambda X, folder: to_frame(pa, X),
    **{
        f"{kind.__name__}": lambda X, folder, kind=kind: kind(X)
        for kind in (sparse.csr_array, sparse.csc_array, sparse.coo_array)
    },
    **{
        f"{kind.__name__}": lambda X, folder, kind=kind: kind(X.astype(np.float32))
        for kind in (sparse.csr_matrix, sparse.csc_matrix, sparse.coo_matrix)
    },
}

#: A column of numbers, some missing, in the ways of all libraries.
HOLED = {
    "none": lambda values: np.array([[None if value is None else float(value)] for value in values], dtype=object),
    "pandas-float": lambda values: pd.DataFrame({"x": pd.Series(values, dtype="float64")}),
    "pandas-nullable": lambda values: pd.DataFrame({"x": pd.Series(values, dtype="Int64")}),
    "pandas-arrow": lambda values: pd.DataFrame({"x": pd.Series(values, dtype="int64[pyarrow]")}),
    "polars": lambda values: pl.DataFrame({"x": values}),
    "pyarrow": lambda values: pa.table({"x": values}),
}

#: A column of words, some missing, in the ways of all libraries.
WORDS = {
    "pandas-category": lambda words: pd.DataFrame({"x": pd.Categorical(words)}),
    "pandas-category-reversed": lambda words: pd.DataFrame(
        {"x": pd.Categorical(words, categories=sorted({*words} - {None}, reverse=True))}
    ),
    "pandas-text": lambda words: pd.DataFrame({"x": pd.Series(words, dtype="string")}),
    "polars-text": lambda words: pl.DataFrame({"x": words}),
    "polars-categorical": lambda words: pl.DataFrame({"x": pl.Series(words, dtype=pl.Categorical)}),
    "polars-enum": lambda words: pl.DataFrame({"x": pl.Series(words, dtype=pl.Enum(sorted({*words} - {None})[::-1]))}),
    "pyarrow-dictionary": lambda words: pa.table({"x": pa.array(words).dictionary_encode()}),
}


class TableBattery:
    """Targets of all kinds, and categories."""

    def test_targets_of_any_kind_teach_the_same(self):
        X, y = self.subject.make_data()
        expected = self.subject.run(self.subject.make().fit(X, y), X)
        for convert in self.subject.target_kinds.values():
            model = self.subject.make().fit(X, convert(y))
            assert_equal_bytes(self.subject.run(model, X), expected)
            predicted = model.predict(X)
            if self.subject.has_labels:
                assert np.isin(predicted, np.asarray(convert(y))).all()
            assert predicted.dtype == (np.asarray(convert(y)).dtype if self.subject.has_labels else np.float64)

    def make_parity(self, n_samples=400):
        """Make numbers of which the odd ones stand for one kind of target: no threshold tells them apart."""
        codes = np.random.default_rng(0).integers(0, 26, size=n_samples)
        return codes, self.subject.make_target(2.0 * (codes % 2) - 1.0)

    def test_categories_are_split_by_subsets_not_by_codes(self):
        codes, y = self.make_parity()
        words = pd.DataFrame({"x": pd.Categorical([chr(97 + code) for code in codes])})
        shallow = {"max_features": 1, "max_depth": 1, "max_samples": 150}
        by_subsets = self.subject.make(**shallow).fit(words[:200], y[:200]).score(words[200:], y[200:])
        by_codes = self.subject.make(**shallow).fit(codes[:200, None], y[:200]).score(codes[200:, None], y[200:])
        assert by_subsets > 0.95
        assert by_codes < 0.8

    def test_categories_are_given_by_number_name_or_mask(self):
        codes, y = self.make_parity()
        X = np.column_stack([np.zeros(len(codes)), codes]).astype(float)
        frame = pd.DataFrame(X, columns=["zero", "code"])
        expected = self.subject.make(max_features=2, categorical_features=[1]).fit(X, y)
        for categorical in ([False, True], np.array([1])):
            model = self.subject.make(max_features=2, categorical_features=categorical).fit(X, y)
            assert_same_model(self.subject, model, expected, X)
        model = self.subject.make(max_features=2, categorical_features=["code"]).fit(frame, y)
        assert_same_model(self.subject, model, expected, frame, X)

    def test_new_categories_are_as_missing(self):
        codes, y = self.make_parity()
        words = [chr(97 + code) if code else None for code in codes]
        model = self.subject.make(max_features=1).fit(pd.DataFrame({"x": pd.Categorical(words)}), y)
        new, missing = (pl.DataFrame({"x": ["b", word]}, schema={"x": pl.String}) for word in ("new", None))
        assert_equal_bytes(self.subject.run(model, new), self.subject.run(model, missing))
        assert self.subject.run(model, new)[0] != self.subject.run(model, new)[1]


class FormBattery(TableBattery):
    """Arrays, frames and sparse matrices; missing values, infinities and categories in all of them."""

    @pytest.mark.parametrize("make_table", FORMS.values(), ids=FORMS.keys())
    def test_form_of_the_table_does_not_matter(self, make_table, tmp_path):
        X, y = self.subject.make_data()
        X = np.maximum(X - 20, 0) // 2  # zeros for the sparse, and no gaps, which bins of bytes have and others not
        table = make_table(X, tmp_path)
        expected = self.subject.make().fit(X.astype(np.float64), y)
        assert_same_model(self.subject, expected, self.subject.make().fit(table, y), X.astype(np.float64), table)

    def test_bools_are_zeros_and_ones(self):
        X, y = self.subject.make_data()
        one, other = (self.subject.make().fit(table, y) for table in (X > 29, (X > 29).astype(float)))
        assert_same_model(self.subject, one, other, X > 29, (X > 29).astype(float))

    def test_fit_leaves_the_table_as_it_was(self):
        X, y = self.subject.make_data()
        for table in (X.astype(float), sparse.csr_array(X)):
            before = table.copy()
            self.subject.make().fit(table, y).predict(table)
            assert (before != table).sum() == 0

    # Names

    @pytest.mark.parametrize("library", [pd, pl, pa], ids=["pandas", "polars", "pyarrow"])
    def test_names_are_kept_and_checked(self, library):
        X, y = self.subject.make_data()
        frame = to_frame(library, X)
        model = self.subject.make().fit(frame, y)
        assert model.feature_names_in_.tolist() == NAMES
        shuffled = frame[NAMES[::-1]] if library is not pa else frame.select(NAMES[::-1])
        with pytest.raises(ValueError, match="feature names should match"):
            model.predict(shuffled)
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            model.predict(X)

    def test_frames_of_one_library_are_read_by_a_model_of_another(self):
        X, y = self.subject.make_data()
        model = self.subject.make().fit(to_frame(pd, X), y)
        for library in (pl, pa):
            assert_equal_bytes(self.subject.run(model, to_frame(library, X)), self.subject.run(model, to_frame(pd, X)))

    # Missing values and infinities

    @pytest.mark.parametrize("make_table", HOLED.values(), ids=HOLED.keys())
    def test_missing_values_are_the_same_in_all_forms(self, make_table):
        X, y = self.subject.make_data()
        holed = np.where(X[:, 2] % 3 == 0, np.nan, X[:, 0])
        table = make_table([None if np.isnan(value) else int(value) for value in holed])
        expected = self.subject.make(max_features=1).fit(holed[:, None], y)
        model = self.subject.make(max_features=1).fit(table, y)
        assert_same_model(self.subject, expected, model, holed[:, None], table)

    @pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, pl.DataFrame], ids=["array", "sparse", "polars"])
    def test_infinities_are_the_largest_and_smallest_numbers(self, form):
        X, y = self.subject.make_data()
        X = X.astype(float)
        far, infinite = X.copy(), X.copy()
        for table, value in ((far, 1e9), (infinite, np.inf)):
            table[X[:, 0] > 50, 0] = value
            table[X[:, 1] < 10, 1] = -value
        expected = self.subject.make().fit(form(far), y)
        assert_same_model(self.subject, expected, self.subject.make().fit(form(infinite), y), form(far), form(infinite))

    # Categories

    @pytest.mark.parametrize("make_table", WORDS.values(), ids=WORDS.keys())
    def test_categories_are_the_same_in_all_forms(self, make_table):
        codes, y = self.make_parity()
        words = [chr(97 + code) if code else None for code in codes]
        plain = WORDS["pandas-category"](words)
        expected = self.subject.make(max_features=1).fit(plain, y)
        table = make_table(words)
        model = self.subject.make(max_features=1).fit(table, y)
        assert_same_model(self.subject, expected, model, plain, table)
        assert_same_model(self.subject, expected, model, table, plain)
