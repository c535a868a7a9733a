"""A slice of the fuzzers of model files and of datasets, and whether they would notice anything."""

import signal
import time
from collections import Counter

import numpy as np
import pytest

from fuzz import datasets, files, mutations, pool
from mpboost.containers.container import PROLOGUE

pytestmark = pytest.mark.slow


@pytest.mark.slow
def test_changed_files_are_refused_or_load_a_model_that_works():
    outcomes = [(case, *files.run_case(case)) for case in range(1000)]
    assert [outcome for outcome in outcomes if outcome[1] not in ("refused", "loaded")] == []
    counts = Counter(kind for _, kind, _ in outcomes)
    assert min(counts["refused"], counts["loaded"]) >= 30, "the changes are all harmless, or all alike"


def test_changed_datasets_are_refused_or_can_be_used():
    outcomes = [(case, *datasets.run_case(case)) for case in range(300)]
    assert [outcome for outcome in outcomes if outcome[1] not in ("refused", "opened")] == []
    counts = Counter(kind for _, kind, _ in outcomes)
    assert min(counts["refused"], counts["opened"]) >= 30, "the changes are all harmless, or all alike"
    assert sum(detail.endswith("; []") for _, kind, detail in outcomes if kind == "opened") >= 3, "no fit succeeds"


def test_case_of_datasets_notices_wrong_exceptions_time_and_memory(monkeypatch):
    for kind, open_file in MISBEHAVIOURS.items():
        monkeypatch.setattr(datasets.mpboost.BinnedDataset, "open", open_file)
        assert datasets.run_case(0)[0] == kind


def test_case_is_the_same_every_time():
    original = files.make_originals()[0]
    first, again, other = (mutations.mutate(original, np.random.default_rng(seed)) for seed in (3, 3, 4))
    assert first == again != other


@pytest.mark.parametrize("index", range(9))
def test_document_is_put_together_as_it_was(index):
    original = files.make_originals()[index]
    assert mutations.assemble(mutations.parse(original)) == original
    assert mutations.mend(original) == original


@pytest.mark.parametrize("index", range(6))
def test_container_of_a_dataset_is_put_together_as_it_was(index):
    original = datasets.make_originals()[index]
    container = original[: PROLOGUE.unpack_from(original)[-1]]
    assert mutations.assemble(mutations.parse(container)) == container


def wait_until(end):
    while time.process_time() < end:
        pass


MISBEHAVIOURS = {
    "error": lambda path: {}["x"],
    "memory": lambda path: bytearray(50_000_000),
    "slow": lambda path: wait_until(time.process_time() + 1.01),
}


@pytest.mark.slow
def test_case_notices_wrong_exceptions_time_and_memory(monkeypatch):
    for kind, load in MISBEHAVIOURS.items():
        monkeypatch.setattr(files.mpboost, "load_model", load)
        assert files.run_case(0)[0] == kind


@pytest.mark.slow
def test_pool_attributes_signals_hangs_and_errors_to_their_case(monkeypatch):
    monkeypatch.setattr(pool, "PATIENCE", 2.0)
    outcomes = {outcome.case: outcome for outcome in pool.run_cases("tests.support.fuzz_target:misbehave", range(10))}
    assert sorted(outcomes) == list(range(10))
    assert {case: outcome.kind for case, outcome in outcomes.items() if outcome.kind != "fine"} == {
        3: "signal",
        5: "error",
        7: "hang",
    }
    assert str(-signal.SIGSEGV) in outcomes[3].detail
    assert "KeyError" in outcomes[5].detail
