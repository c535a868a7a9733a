import pytest

from mpboost import MPBoostClassifier
from mpboost.dask import training
from mpboost.dask.training import fit_on_cluster, read_training_partitions
from mpboost.dask.workers import Worker
from tests.support.datasets import QUICK, make_numbers, save_bytes

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
    small = [Worker("tcp://a", 1, 2_000_000), Worker("tcp://b", 1, 1_000_000)]
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
    assert save_bytes(fitted.estimator) == save_bytes(MPBoostClassifier(**QUICK).fit(X, values > 0))


def test_validation_rows_need_targets():
    table = da.ones((4, 2))
    with pytest.raises(ValueError, match="X_val and y_val must be passed together"):
        read_training_partitions("MPBoostClassifier", table, table[:, 0], None, table, None, None)
