"""Revisions are judged by what was measured, and whatever a worker does is told rather than raised."""

import ast
import csv
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rich", reason="the benchmarks print with rich")

from benchmarks.compare import __main__ as command
from benchmarks.compare import fingerprints, worker
from benchmarks.compare.__main__ import find_complaints, report
from benchmarks.compare.builds import Build, BuildError, find_commit
from benchmarks.compare.processes import Comparison, Worker, compare
from benchmarks.compare.verdict import find_interval, judge_scores, judge_times
from benchmarks.speed import worker as speed_worker

pytestmark = pytest.mark.slow

#: Answers like a worker: "slow" takes twice as long in the folder "head", which cannot run "broken"; "crash" ends it.
STAND_IN = """
import json, os, sys
site = os.environ["PYTHONPATH"].split(os.pathsep)[0]
is_head = site.endswith("head")
assert os.environ["OMP_NUM_THREADS"] == "1"
print(json.dumps({"library": (sys.argv[1] or site) + "/mpboost/__init__.py"}), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    name, turn = request["workload"], request["seed"]
    if name == "crash" and turn == 1:
        os._exit(7)
    if name == ("broken" if is_head else "new"):
        answer = {"failure": "TypeError: no such parameter"}
    else:
        seconds = (2.0 if name == "slow" and is_head else 1.0) + 0.001 * turn
        score = {"import": None, "worse": 80.0 - is_head}.get(name, 80.0)
        answer = {"seconds": seconds, "score": score}
    print(json.dumps(answer), flush=True)
"""


@contextmanager
def stand_ins(folder, library=""):
    """Two workers that only pretend to measure."""
    command = [sys.executable, "-S", "-c", STAND_IN, library]
    with Worker(Build("a", folder / "base"), command) as base, Worker(Build("b", folder / "head"), command) as head:
        yield base, head


def spread(mean, deviation=0.01, n=15):
    """Numbers with just this mean of their logarithms."""
    return np.exp(np.log(mean) + deviation * np.tile([-1, 0, 1], n // 3))


@pytest.mark.parametrize(
    ("base", "head", "text", "counts"),
    [
        (spread(1.0), np.full(15, 1.07), "slower by 7.0 % (6.5 to 7.5)", True),
        (spread(1.0), np.full(15, 0.5), "faster by 50 % (50 to 50)", True),
        (spread(1.0), np.full(15, 2.5), "slower by 150 % (149 to 151)", True),
        (spread(1.0), np.full(15, 1.02), "no difference beyond 2.5 %", False),
        (spread(1.0), np.full(15, 1.0), "no difference beyond 0.5 %", False),
        (spread(1.0, 0.5), np.full(15, 1.07), "no difference beyond 35 %", False),
        ([1.0] * 3, [1.0] * 3, "no difference beyond 0.0 %", False),
        ([1.0] * 3, [1.1] * 3, "slower by 10 % (10 to 10)", True),
    ],
    ids=["slower", "faster", "far slower", "a trifle", "equal", "noise", "the same", "no spread"],
)
def test_judge_times(base, head, text, counts):
    verdict = judge_times(base, head, 0.05)
    assert (verdict.text, verdict.counts) == (text, counts)
    assert verdict.change == pytest.approx(np.exp(np.mean(np.log(head) - np.log(base))) - 1)


@pytest.mark.parametrize(
    ("head", "text", "counts"),
    [
        ([80.0, 81.0, 82.0], "no difference beyond 0.0 points", False),
        ([79.0, 80.0, 81.0], "worse by 1.0 points (1.0 to 1.0)", True),
        ([82.0, 83.0, 84.0], "better by 2.0 points (2.0 to 2.0)", True),
        ([79.94, 80.94, 81.94], "no difference beyond 0.1 points", False),
        ([78.0, 82.0, 82.0], "no difference beyond 4.1 points", False),
    ],
    ids=["the same", "worse", "better", "a trifle", "noise"],
)
def test_judge_scores(head, text, counts):
    verdict = judge_scores([80.0, 81.0, 82.0], head, 0.05)
    assert (verdict.text, verdict.counts) == (text, counts)


def test_interval_holds_the_mean_as_often_as_it_says():
    rng = np.random.default_rng(0)
    intervals = [find_interval(rng.normal(0.3, 1.0, 6), 0.2) for _ in range(500)]
    assert np.mean([low < 0.3 < high for _, low, high in intervals]) == pytest.approx(0.8, abs=0.06)


def test_worker_is_measured_in_turns_and_failures_are_told(tmp_path, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)  # the worker has it from us, not from `make test`
    names = ["same", "slow", "worse", "import", "new", "broken", "crash"]
    advanced = []
    with stand_ins(tmp_path) as (base, head):
        found = {name: compare(base, head, name, 4, lambda: advanced.append(1)) for name in names}
        assert head.ask("same", 2)["seconds"] == 1.002  # alive again after the crash
    assert len(advanced) == 4 * 4 + 1
    assert [one["seconds"] for one in found["slow"].head] == pytest.approx([2.0, 2.001, 2.002, 2.003])
    assert found["new"].failure == "the base cannot run it: TypeError: no such parameter"
    assert found["broken"].failure == "only the base can run it: TypeError: no such parameter"
    assert found["crash"].failure == "the head failed with seed 1: the process ended with code 7"

    complaints = find_complaints(list(found.values()), tolerance=0.05)
    assert [complaint.split(":")[0] for complaint in complaints] == ["slow", "worse", "broken", "crash"]
    assert len(find_complaints(list(found.values()), tolerance=1.5)) == 3

    report(list(found.values()), ["old", "new"], tmp_path / "build" / "compare.csv")
    with (tmp_path / "build" / "compare.csv").open(newline="", encoding="utf-8") as file:
        rows = {row["workload"]: row for row in csv.DictReader(file)}
    assert list(rows) == names
    assert float(rows["slow"]["ratio"]) == pytest.approx(2.0, rel=0.01)
    assert (rows["slow"]["base"], rows["slow"]["head"], rows["slow"]["turns"]) == ("old", "new", "4")
    assert (rows["import"]["base_score"], rows["new"]["ratio"]) == ("", "")


def test_worker_must_import_from_its_own_build(tmp_path):
    with stand_ins(tmp_path, library="elsewhere") as (base, _), pytest.raises(BuildError, match="elsewhere"):
        base.ask("same", 0)


def test_first_of_a_turn_alternates():
    asked = []

    class Recorder:
        def ask(self, workload, seed):
            asked.append((self, seed))
            return {"seconds": 1.0, "score": None}

    base, head = Recorder(), Recorder()
    compare(base, head, "any", 3)
    assert asked == [(base, 0), (head, 0), (base, 0), (head, 0), (head, 1), (base, 1), (base, 2), (head, 2)]


def test_judging_all_workloads_together_is_stricter():
    pair = [{"seconds": 1.0, "score": None}] * 3, [{"seconds": s, "score": None} for s in (1.07, 1.10, 1.13)]
    one = Comparison("one", *pair)
    assert find_complaints([one], 0.05) != []
    assert find_complaints([one, *(Comparison(name, *pair[:1], *pair[:1]) for name in "abcdef")], 0.05) == []


@pytest.mark.parametrize("arguments", [["no-such"], ["HEAD", "--head", "no-such"]], ids=["base", "head"])
def test_compare_says_which_revision_is_unknown_before_it_builds(arguments, capsys, monkeypatch):
    monkeypatch.setattr(
        command, "find_commit", lambda revision: "1234" if revision == "HEAD" else find_commit(revision)
    )
    monkeypatch.setattr(command, "build_commit", pytest.fail)
    assert command.main(arguments) == 2
    assert "git knows no revision 'no-such'" in capsys.readouterr().err


def test_compare_wants_enough_turns(capsys):
    with pytest.raises(SystemExit):
        command.main(["HEAD", "--turns", "2"])
    assert "at least 3" in capsys.readouterr().err


def test_revision_is_no_option_of_git():
    with pytest.raises(BuildError, match="--all"):
        find_commit("--all")


def test_answer_has_seconds_and_score_or_the_failure(monkeypatch):
    monkeypatch.setitem(worker.WORKLOADS, "good", lambda seed: (0.5, 100.0 * seed))
    monkeypatch.setitem(worker.WORKLOADS, "bad", lambda seed: {}["missing"])
    assert worker.answer({"workload": "good", "seed": 1}) == {"seconds": 0.5, "score": 100.0}
    assert worker.answer({"workload": "bad", "seed": 1}) == {"failure": "KeyError: 'missing'"}


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in worker.WORKLOADS if name != "import"])
def test_workloads_learn(name, monkeypatch):
    """On few rows, with few learners: that they run with the library as it is."""
    make, fit = worker._make_split_set, worker._time_fit
    monkeypatch.setattr(
        worker, "_make_split_set", lambda n_rows, n_columns, *rest: make(600, min(n_columns, 40), *rest)
    )
    monkeypatch.setattr(worker, "_time_fit", lambda model, data: fit(model.set_params(n_estimators=30), data))
    monkeypatch.setattr(worker, "N_TEST", 500)
    monkeypatch.setattr(worker, "N_PREDICTED", 1000)
    answer = worker.answer({"workload": name, "seed": 1})
    assert answer.get("failure") is None
    assert answer["score"] > 55
    assert answer["seconds"] > 0


@pytest.mark.parametrize(
    "module", [worker, fingerprints, speed_worker], ids=["worker", "fingerprints", "worker of speed"]
)
def test_what_runs_with_old_revisions_uses_public_names_alone(module):
    """A revision from before a move of modules must run it."""
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    imported = [
        node.module if isinstance(node, ast.ImportFrom) else alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    ]
    assert {name for name in imported if name.startswith("mpboost")} == {"mpboost"}
    # Of the benchmarks, only what does not import the library.
    ours = {name for name in imported if name.startswith("benchmarks")}
    assert {name for name in ours if not name.startswith("benchmarks.data.")} <= {"benchmarks.compare.worker"}


def test_fingerprints_tell_models_apart():
    fits = dict(fingerprints.list_fits())
    first, again = (fingerprints.take_fingerprint(*fits["values"]()) for _ in range(2))
    assert first == again
    assert first != fingerprints.take_fingerprint(*fits["values, weights"]())
