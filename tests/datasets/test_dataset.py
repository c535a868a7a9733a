"""The life of a dataset: its file, several openers, forks, pickles, files that are cut; and what models do with it."""

import gc
import os
import pickle
import signal
import threading

import joblib
import numpy as np
import pytest
from sklearn.base import clone

import mpboost
from mpboost import BinnedDataset, MPBoostClassifier, MPGradientBoostingClassifier
from tests.support.datasets import (
    CLASSIFIERS,
    ESTIMATORS,
    QUICK,
    REGRESSORS,
    build_cut,
    cut,
    describe_dataset,
    make_mixed,
    make_numbers,
    save_bytes,
)
from tests.support.helpers import describe_model

X, Y = make_mixed()
NUMBERS, VALUES = make_numbers()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder in which temporary files are made."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_temporary_file_goes_with_the_object(folder):
    dataset = BinnedDataset.from_arrays(X, Y)
    assert list(folder.iterdir()) == [dataset.path]
    model = MPBoostClassifier(**QUICK).fit(dataset)
    del dataset
    gc.collect()
    assert list(folder.iterdir()) == []
    assert len(model.predict(X)) == len(X)


def test_closed_temporary_file_goes_with_the_object(folder):
    with BinnedDataset.from_arrays(X, Y) as dataset:
        assert dataset.shape == (200, 9)
    with pytest.raises(ValueError, match=r"this dataset was closed. Open it again"):
        MPBoostClassifier(**QUICK).fit(dataset)
    model = MPBoostClassifier(**QUICK).fit(X, Y)
    for use in (
        model.predict, model.score, lambda dataset: dataset.y, lambda dataset: dataset.sample_weight,
        lambda dataset: dataset.check(), lambda dataset: model.fit(X, Y, X_val=dataset), lambda dataset: dataset.table,
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"closed|has other features"):
            use(dataset)
    assert "200 rows" in repr(dataset)
    dataset.close()
    del dataset
    gc.collect()
    assert list(folder.iterdir()) == []


def test_temporary_file_stays_while_a_run_can_be_continued(folder):
    dataset = BinnedDataset.from_arrays(X, Y)
    model = MPBoostClassifier(**{**QUICK, "n_estimators": 4}, warm_start=True).fit(dataset)
    model.set_params(n_estimators=8).fit(dataset)
    model.warm_start = False
    assert save_bytes(model) == save_bytes(MPBoostClassifier(**QUICK).fit(X, Y))


def test_named_file_stays_and_is_opened_again(tmp_path):
    path = tmp_path / "a.mpcols"
    made = build_cut(X, Y, file=path, n_jobs=2)
    expected = describe_dataset(made)
    del made
    gc.collect()
    for dataset in (BinnedDataset.open(path), BinnedDataset(str(path))):
        assert describe_dataset(dataset) == expected
        assert dataset.path == path
    assert list(tmp_path.iterdir()) == [path]


def test_relative_path_means_the_same_file_in_another_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    dataset = BinnedDataset.from_arrays(X, Y, file="a.mpcols")
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    assert describe_dataset(pickle.loads(pickle.dumps(dataset))) == describe_dataset(dataset)


def test_dataset_tells_what_it_is(tmp_path):
    dataset = BinnedDataset.from_batches(
        lambda: [X.assign(answer=Y)], target="answer", max_bins=99, file=tmp_path / "a.mpcols"
    )
    assert dataset.shape == (len(dataset), len(dataset.feature_names)) == (200, 9)
    assert dataset.target_name == "answer"
    assert dataset.max_bins == 99
    assert dataset.n_bytes == (tmp_path / "a.mpcols").stat().st_size
    assert repr(dataset).startswith("<BinnedDataset of 200 rows and 9 features, target answer, ")
    nameless = BinnedDataset.from_arrays(NUMBERS)
    assert nameless.feature_names is nameless.target_name is nameless.y is nameless.sample_weight is None
    assert "target" not in repr(nameless)


def test_several_openers_and_threads_share_a_file(tmp_path):
    path = tmp_path / "a.mpcols"
    build_cut(X, Y, file=path)
    datasets = [BinnedDataset.open(path) for _ in range(4)]
    expected, found = save_bytes(MPBoostClassifier(**QUICK).fit(X, Y)), []

    def fit(dataset):
        found.append(save_bytes(MPBoostClassifier(**QUICK).fit(dataset)))

    threads = [threading.Thread(target=fit, args=(dataset,)) for dataset in [*datasets, datasets[0]]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 5


def test_file_that_is_replaced_stays_as_it_was_for_those_who_opened_it(tmp_path):
    path = tmp_path / "a.mpcols"
    old = build_cut(X, Y, file=path)
    expected = describe_dataset(old)
    new = BinnedDataset.from_arrays(NUMBERS, VALUES, file=path)
    assert new.shape == (200, 5)
    assert describe_dataset(old) == expected
    old.check()
    assert save_bytes(MPBoostClassifier(**QUICK).fit(old)) == save_bytes(MPBoostClassifier(**QUICK).fit(X, Y))
    path.unlink()
    old.check()
    with pytest.raises(FileNotFoundError):
        BinnedDataset.open(path)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_child_process_uses_the_dataset_and_does_not_remove_its_file(folder):
    dataset = BinnedDataset.from_arrays(X, Y)
    child = os.fork()
    if child == 0:
        status = 9
        try:
            dataset.check()
            model = MPBoostClassifier(**QUICK, n_jobs=1).fit(dataset)
            status = 0 if model.score(dataset) > 0.5 else 8
            del dataset, model
            gc.collect()
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert dataset.path.exists()
    dataset.check()


def test_pickle_is_a_path(tmp_path):
    dataset = build_cut(X, Y, file=tmp_path / "a.mpcols")
    text = pickle.dumps(dataset)
    assert len(text) < 500
    again = pickle.loads(text)
    assert describe_dataset(again) == describe_dataset(dataset)
    (tmp_path / "a.mpcols").unlink()
    with pytest.raises(FileNotFoundError):
        pickle.loads(text)


def test_pickle_of_a_temporary_dataset_does_not_remove_its_file():
    dataset = build_cut(X, Y)
    again = pickle.loads(pickle.dumps(dataset))
    del again
    gc.collect()
    dataset.check()
    assert dataset.path.exists()


def fit_in_worker(dataset, seed):
    return save_bytes(MPBoostClassifier(**{**QUICK, "random_state": seed}).fit(dataset))


@pytest.mark.slow
def test_workers_of_joblib_open_the_file():
    dataset = build_cut(X, Y)
    found = joblib.Parallel(n_jobs=2)(joblib.delayed(fit_in_worker)(dataset, seed) for seed in range(2))
    assert found == [fit_in_worker(dataset, seed) for seed in range(2)]


class Cutter(mpboost.Callback):
    """Cuts a file short after some iterations."""

    def __init__(self, path, size):
        self.path, self.size = path, size

    def on_iteration_end(self, run):
        if run.iteration == 3:
            os.truncate(self.path, self.size)


@pytest.mark.parametrize("make", ESTIMATORS)
@pytest.mark.parametrize("size", [0, 5000, -1])
def test_file_that_is_cut_during_a_fit_is_an_error_and_leaves_the_old_model(make, size, tmp_path):
    path = tmp_path / "a.mpcols"
    dataset = BinnedDataset.from_arrays(NUMBERS, VALUES if make in REGRESSORS else Y, file=path)
    model = make(**QUICK).fit(NUMBERS, VALUES if make in REGRESSORS else Y)
    before = describe_model(model)
    model.callbacks = [Cutter(path, size if size >= 0 else path.stat().st_size + size)]
    with pytest.raises(OSError, match=r"a.mpcols: the file was changed, or could not be read, while it was in use"):
        model.fit(dataset)
    assert describe_model(model) == before


@pytest.mark.parametrize("make", CLASSIFIERS)
@pytest.mark.parametrize("size", [0, 5000, -1])
def test_file_that_was_cut_before_it_is_used_is_an_error(make, size, tmp_path):
    path = tmp_path / "a.mpcols"
    dataset = BinnedDataset.from_arrays(NUMBERS, Y, np.ones(len(Y)), file=path)
    model = make(**QUICK).fit(dataset)
    os.truncate(path, size if size >= 0 else path.stat().st_size + size)
    new = make(**QUICK)
    in_use = "the file was changed, or could not be read, while it was in use"
    for use in (
        new.fit, lambda dataset: new.fit(NUMBERS, Y, X_val=dataset), lambda dataset: new.fit(dataset, Y),
        model.predict, model.predict_proba, model.score, lambda dataset: list(model.staged_predict(dataset)),
        lambda dataset: dataset.check(), lambda dataset: dataset.y, lambda dataset: dataset.sample_weight,
        lambda dataset: mpboost.evaluate(model, dataset), lambda dataset: mpboost.compute_effects(model, dataset),
    ):  # fmt: skip
        with pytest.raises(OSError, match=in_use):
            use(dataset)
    assert not hasattr(new, "classes_")


def test_file_that_is_cut_between_stages_is_an_error(tmp_path):
    path = tmp_path / "a.mpcols"
    dataset = BinnedDataset.from_arrays(NUMBERS, Y, file=path)
    stages = MPBoostClassifier(**QUICK).fit(dataset).staged_predict(dataset)
    next(stages)
    os.truncate(path, 0)
    with pytest.raises(OSError, match="while it was in use"):
        list(stages)


@pytest.mark.slow
def test_file_that_is_cut_by_another_thread_never_ends_the_process(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 6))
    path = tmp_path / "a.mpcols"
    dataset = BinnedDataset.from_arrays(X, X[:, 0] > 0, file=path)
    timer = threading.Timer(0.2, lambda: os.truncate(path, 4096))
    timer.start()
    with pytest.raises(OSError, match="while it was in use"):
        MPGradientBoostingClassifier(n_estimators=3000, stopping=None, random_state=0, n_jobs=2).fit(dataset)
    timer.join()


def test_warm_start_continues_on_a_dataset():
    dataset = build_cut(X, Y)
    for make in CLASSIFIERS:
        parameters = {**QUICK, "n_estimators": 200, "max_samples": 40}
        model = make(**{**parameters, "n_estimators": 100}, warm_start=True).fit(dataset)
        model.set_params(n_estimators=200).fit(dataset)
        model.warm_start = False
        assert save_bytes(model) == save_bytes(make(**parameters).fit(X, Y))


def test_warm_start_on_another_dataset_or_table_is_refused():
    dataset = build_cut(X, Y)
    model = MPBoostClassifier(**QUICK, warm_start=True).fit(dataset)
    for other in ((build_cut(X[::-1], Y[::-1]),), (build_cut(X[:100], Y[:100]),)):
        with pytest.raises(ValueError, match="warm_start"):
            model.set_params(n_estimators=20).fit(*other)


def test_warm_start_continues_with_the_same_rows_in_memory_or_on_disk():
    dataset = build_cut(X, Y)
    model = MPBoostClassifier(**{**QUICK, "n_estimators": 4}, warm_start=True).fit(X, Y)
    model.set_params(n_estimators=8).fit(dataset)
    model.warm_start = False
    assert save_bytes(model) == save_bytes(MPBoostClassifier(**QUICK).fit(X, Y))


def test_clone_is_fitted_to_the_same_dataset():
    dataset = build_cut(X, Y)
    model = MPBoostClassifier(**QUICK).fit(dataset)
    assert save_bytes(clone(model).fit(dataset)) == save_bytes(model)


def test_dataset_is_one_for_all_seeds_and_estimators():
    dataset = build_cut(X, Y)
    for make in CLASSIFIERS:
        for seed in range(3):
            parameters = {**QUICK, "random_state": seed}
            assert save_bytes(make(**parameters).fit(dataset)) == save_bytes(make(**parameters).fit(X, Y))


@pytest.mark.parametrize("like", [None, 5, MPBoostClassifier(), X], ids=["None", "5", "unfitted", "table"])
def test_like_must_be_a_dataset_or_a_fitted_model(like):
    if like is None:
        assert len(build_cut(X, Y, like=None)) == len(X)
        return
    with pytest.raises(TypeError, match="like must be a BinnedDataset or a fitted model of native trees, not"):
        build_cut(X, Y, like=like)


def test_rows_like_another_dataset_must_have_its_columns():
    like = build_cut(X, Y)
    with pytest.raises(ValueError, match=r"Batch 0: .*[Ff]eature names"):
        build_cut(X.drop(columns="count"), Y, like=like)
    with (
        pytest.raises(ValueError, match="Batch 0: X has 5 features"),
        pytest.warns(UserWarning, match="valid feature names"),
    ):
        BinnedDataset.from_batches(lambda: [(NUMBERS, VALUES)], like=like)
    with pytest.raises((TypeError, ValueError), match=r"Batch 0: .*'height'"):
        build_cut(X.assign(height="tall"), Y, like=like)


@pytest.mark.parametrize("max_bins", [1, 256, 0, "many", None, 15.0])
def test_max_bins_is_checked(max_bins):
    with pytest.raises(ValueError, match="max_bins must be a whole number from 2 to 255"):
        build_cut(X, Y, max_bins=max_bins)


def test_parameters_that_disagree_with_the_dataset_are_refused():
    dataset = build_cut(X, Y, max_bins=30)
    with pytest.raises(ValueError, match="max_bins=31, but the dataset was built with max_bins=30"):
        MPBoostClassifier(**QUICK, max_bins=31).fit(dataset)
    for chosen in (["count"], [0], None, []):
        with pytest.raises(ValueError, match="categorical_features differs from the features that are categorical"):
            MPBoostClassifier(**QUICK, categorical_features=chosen).fit(dataset)
    MPBoostClassifier(**QUICK, categorical_features=["colour", "shape"]).fit(dataset)


def test_weak_learners_that_need_values_are_refused():
    from sklearn.tree import DecisionTreeClassifier

    dataset = BinnedDataset.from_arrays(NUMBERS > 0, Y)
    with pytest.raises(ValueError, match="bins in place of values, which this needs: pass the table itself"):
        MPBoostClassifier(**QUICK, estimator=DecisionTreeClassifier(max_depth=2)).fit(dataset)
    model = MPBoostClassifier(**QUICK, estimator=DecisionTreeClassifier(max_depth=2)).fit(NUMBERS > 0, Y)
    with pytest.raises(ValueError, match="bins in place of values"):
        model.predict(dataset)


def test_one_class_is_refused():
    dataset = BinnedDataset.from_arrays(NUMBERS, np.full(len(Y), "yes"))
    with pytest.raises(ValueError, match="needs at least two classes, but y has only one class: 'yes'"):
        MPBoostClassifier(**QUICK).fit(dataset)


def test_targets_are_needed_or_given():
    dataset = BinnedDataset.from_arrays(X)
    with pytest.raises(ValueError, match=r"the dataset was built without a target\. Pass y"):
        MPBoostClassifier(**QUICK).fit(dataset)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        MPBoostClassifier(**QUICK).fit(dataset, Y[1:])
    with pytest.raises(ValueError, match="not a number, but MPBoostRegressor predicts numbers"):
        mpboost.MPBoostRegressor(**QUICK).fit(dataset, Y)
    with pytest.raises(ValueError, match="not a number, but MPBoostRegressor predicts numbers"):
        mpboost.MPBoostRegressor(**QUICK).fit(build_cut(X, Y))


def test_search_takes_the_targets_of_a_dataset():
    dataset = build_cut(X, Y)
    parameters = {"max_depth": [1, 3]}
    expected = mpboost.oop_tune(MPBoostClassifier(**QUICK), X, Y, parameters, random_state=0)
    found = mpboost.oop_tune(MPBoostClassifier(**QUICK), dataset, None, parameters, random_state=0)
    assert found.best_params_ == expected.best_params_
    assert save_bytes(found.best_estimator_) == save_bytes(expected.best_estimator_)


def test_inspection_of_a_dataset_gives_what_it_gives_of_the_table():
    dataset = build_cut(X, Y)
    model = MPBoostClassifier(**QUICK).fit(dataset)
    in_memory = MPBoostClassifier(**QUICK).fit(X, Y)
    assert mpboost.evaluate(model, dataset).to_dict() == mpboost.evaluate(in_memory, X, Y).to_dict()
    issues = [mpboost.find_label_issues(each) for each in (model, in_memory)]
    assert issues[0].row.tolist() == issues[1].row.tolist()


@pytest.mark.parametrize("make", ESTIMATORS)
def test_effects_on_a_dataset_are_those_on_the_table(make):
    y = VALUES if make in REGRESSORS else Y
    dataset = build_cut(X, y)
    model = make(**QUICK).fit(dataset)
    for found, expected in zip(mpboost.compute_effects(model, dataset), mpboost.compute_effects(model, X), strict=True):
        assert found.name == expected.name
        assert found.shares.tolist() == expected.shares.tolist()
        for one, other in zip(found.curves, expected.curves, strict=True):
            assert one.means.tolist() == other.means.tolist()
            assert one.direction == other.direction
        if found.kind == "category":
            assert found.values == expected.values


def test_signals_stay_as_they_were():
    before = signal.getsignal(signal.SIGINT)
    with build_cut(X, Y) as dataset:
        MPBoostClassifier(**QUICK).fit(dataset)
    assert signal.getsignal(signal.SIGINT) is before


def test_batches_may_be_read_from_a_dataset_of_the_same_process():
    """A function of batches may itself build and fit."""

    def read_batches():
        inner = build_cut(X, Y)
        assert len(MPBoostClassifier(**QUICK).fit(inner).predict(inner)) == len(X)
        yield from cut(X, Y)()

    assert len(BinnedDataset.from_batches(read_batches)) == len(X)


def test_arrays_outlive_the_dataset(folder):
    weights = np.arange(len(Y)) + 0.5
    dataset = build_cut(X, Y, weights)
    kept, table = dataset.sample_weight, dataset.table
    codes = table.columns.codes.tolist()
    del dataset
    gc.collect()
    assert list(folder.iterdir()) == []
    assert kept.tolist() == weights.tolist()
    assert table.columns.codes.tolist() == codes
    assert not kept.flags.writeable


def test_validation_file_that_is_cut_during_a_fit_is_an_error(tmp_path):
    training = build_cut(X, Y)
    validation = build_cut(X, Y, like=training, file=tmp_path / "a.mpcols")
    model = MPBoostClassifier(**QUICK, callbacks=[Cutter(tmp_path / "a.mpcols", 0)])
    with pytest.raises(OSError, match=r"a\.mpcols: the file was changed"):
        model.fit(training, X_val=validation)
    assert not hasattr(model, "classes_")


def test_failed_build_is_repeated_with_the_same_function():
    """Nothing of a failed build is kept."""
    calls = []

    def read_batches():
        calls.append(len(calls))
        if len(calls) == 2:
            raise RuntimeError("by a test")
        yield from cut(X, Y)()

    with pytest.raises(RuntimeError, match="by a test"):
        BinnedDataset.from_batches(read_batches)
    assert describe_dataset(BinnedDataset.from_batches(read_batches)) == describe_dataset(build_cut(X, Y))


def test_dataset_of_text_in_all_columns_and_of_one_row():
    words = X[["colour", "shape"]]
    dataset = build_cut(words, Y)
    assert save_bytes(MPBoostClassifier(**QUICK).fit(dataset)) == save_bytes(MPBoostClassifier(**QUICK).fit(words, Y))
    one = BinnedDataset.from_arrays(X[:1], Y[:1])
    assert one.shape[0] == 1
    one.check()
