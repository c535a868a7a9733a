import pytest

from mpboost import MPBoostClassifier
from mpboost.dask import training
from mpboost.dask.driver import run_sharded
from mpboost.dask.pinning import call_on
from mpboost.dask.training import fit_on_cluster, read_training_partitions
from mpboost.dask.workers import Worker, find_holders
from mpboost.estimators.sharded import add_row_attributes
from tests.support.datasets import QUICK, make_numbers, save_bytes

distributed = pytest.importorskip("distributed", reason="mpboost[dask] is not installed")
da = pytest.importorskip("dask.array", reason="mpboost[dask] is not installed")


def read_arrays(n_rows=20_000):
    X, values = make_numbers(n_rows)
    table, labels = da.from_array(X, chunks=(n_rows // 2, 5)), da.from_array(values > 0, chunks=n_rows // 2)
    return read_training_partitions("MPBoostClassifier", table, labels, None, None, None, None)


@pytest.mark.parametrize(
    ("placement", "words"),
    [
        ("one", r"20000 rows of 5 features need about .* GiB of memory, but worker tcp://a may use only"),
        ("sharded", r"Rows 0 to 16383 of 5 features need about .* GiB of memory, but worker tcp://a may use"),
    ],
)
def test_worker_that_is_too_small_is_refused_before_rows_are_moved(client, monkeypatch, placement, words):
    small = [Worker("tcp://a", "here", 1, 2_000_000), Worker("tcp://b", "here", 1, 1_000_000)]
    monkeypatch.setattr(training, "list_workers", lambda client: small)
    with pytest.raises(MemoryError, match=words):
        fit_on_cluster(client, MPBoostClassifier(**QUICK), read_arrays(), placement)


def test_auto_goes_to_shards_if_one_worker_has_no_room(client, monkeypatch):
    small = [worker._replace(memory_limit=4_000_000) for worker in training.list_workers(client)]
    monkeypatch.setattr(training, "list_workers", lambda client: small)
    fitted = fit_on_cluster(client, MPBoostClassifier(**QUICK), read_arrays(), "auto")
    X, values = make_numbers(20_000)
    assert fitted.placement == "sharded"
    assert fitted.chunks == (10_000, 10_000)
    assert "observation_probabilities_" not in vars(fitted.estimator)  # not sent, but computed when asked for
    add_row_attributes(fitted.estimator)
    assert save_bytes(fitted.estimator) == save_bytes(MPBoostClassifier(**QUICK).fit(X, values > 0))


def test_holders_are_looked_up_before_rows_are_copied(client, monkeypatch):
    class EnoughError(Exception):
        pass

    def find(client, keys):
        asked.append(keys)
        return [None] * len(keys)

    def survey(*args, **options):
        raise EnoughError

    asked = []
    X, values = make_numbers(200)
    table, labels = da.from_array(X, chunks=(100, 5)), da.from_array(values > 0, chunks=100)
    others = da.from_array(X + 1.0, chunks=(50, 5)), da.from_array(values > 0, chunks=50)
    data = read_training_partitions("MPBoostClassifier", table, labels, None, *others, None)
    monkeypatch.setattr(training, "find_holders", find)
    monkeypatch.setattr(training, "survey_partitions", survey)
    with pytest.raises(EnoughError):
        fit_on_cluster(client, MPBoostClassifier(**QUICK), data, "one")
    assert asked == [data.train.keys, data.validation.keys]


def test_validation_rows_need_targets():
    table = da.ones((4, 2))
    with pytest.raises(ValueError, match="X_val and y_val must be passed together"):
        read_training_partitions("MPBoostClassifier", table, table[:, 0], None, table, None, None)


@pytest.mark.parametrize(
    ("placement", "n_jobs", "expected"),
    [("one", None, 2), ("one", 1, 1), ("sharded", None, None), ("sharded", 3, 3)],
)
def test_one_worker_uses_the_threads_of_all_workers_on_its_machine(client, monkeypatch, placement, n_jobs, expected):
    class EnoughError(Exception):
        pass

    def run(client, sources, fit, **options):
        raise EnoughError(fit.args[0].n_jobs)

    monkeypatch.setattr(training, "run_sharded", run)
    with pytest.raises(EnoughError) as caught:
        fit_on_cluster(client, MPBoostClassifier(**QUICK, n_jobs=n_jobs), read_arrays(), placement)
    assert caught.value.args == (expected,)


def test_shards_live_where_their_rows_are(client, monkeypatch):
    one, two = sorted(client.nthreads())
    X, values = make_numbers(40_000)
    halves = [
        da.from_array(part, chunks=(10_000, 5)).persist(workers=[worker], allow_other_workers=False)
        for part, worker in ((X[:20_000], two), (X[20_000:], one))
    ]
    table, labels = da.concatenate(halves).persist(), da.from_array(values > 0, chunks=10_000)
    distributed.wait(table)
    data = read_training_partitions("MPBoostClassifier", table, labels, None, None, None, None)
    assert find_holders(client, data.train.keys) == [two, two, one, one]
    seen = []

    def run(client, sources, *options, **more):
        seen.extend(source.worker for source in sources)
        return run_sharded(client, sources, *options, **more)

    monkeypatch.setattr(training, "run_sharded", run)
    fitted = fit_on_cluster(client, MPBoostClassifier(**QUICK), data, "sharded")
    assert seen == [two, one]
    add_row_attributes(fitted.estimator)
    assert save_bytes(fitted.estimator) == save_bytes(MPBoostClassifier(**QUICK).fit(X, values > 0))


@pytest.mark.parametrize("placement", ["one", "sharded"])
def test_what_the_user_has_dask_compute_is_not_sent_to_chosen_workers(client, monkeypatch, placement):
    class EnoughError(Exception):
        pass

    def run(client, sources, *options, **more):
        futures = client.compute([call_on(source.worker, list, source.pieces) for source in sources])
        distributed.wait(futures)
        raise EnoughError(client.run_on_scheduler(list_pinned) - before)

    before = client.run_on_scheduler(list_pinned)
    X = da.random.default_rng(0).normal(size=(40_000, 5), chunks=(10_000, 5))
    data = read_training_partitions("MPBoostClassifier", X, X[:, 0] > 0, None, None, None, None)
    monkeypatch.setattr(training, "run_sharded", run)
    with pytest.raises(EnoughError) as caught:
        fit_on_cluster(client, MPBoostClassifier(**QUICK), data, placement)
    assert {key.split("-")[0] for key in caught.value.args[0]} == {"list"}


def list_pinned(dask_scheduler):
    return {str(key) for key, task in dask_scheduler.tasks.items() if task.worker_restrictions}


def test_nobody_holds_what_is_not_computed(client):
    assert find_holders(client, read_arrays().train.keys) == [None, None]
