"""Memory: a fit needs a fraction of its data, plus a few numbers per row."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from mpboost import MPBoostClassifier, MPGradientBoostingClassifier
from mpboost.estimators import memory

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="asks Linux for the peak of memory"),
]

N_ROWS, N_COLUMNS = 400_000, 50
DATA_BYTES = 4 * N_ROWS * N_COLUMNS

# The high-water mark of a fresh process and not ru_maxrss, which starts at the parent's.
PRELUDE = """
    import gc
    import sys
    import numpy as np
    from mpboost import MPBoostClassifier, MPGradientBoostingClassifier

    def read_status(name):
        with open("/proc/self/status") as status:
            return next(1024 * int(line.split()[1]) for line in status if line.startswith(name + ":"))

    def make_table(n_rows, order):
        rng = np.random.default_rng(0)
        if order == "F":
            return rng.standard_normal((COLUMNS, n_rows), dtype=np.float32).T
        return rng.standard_normal((n_rows, COLUMNS), dtype=np.float32)

    def measure(work):
        gc.collect()
        with open("/proc/self/clear_refs", "w") as peak:
            peak.write("5")  # it starts anew
        before = read_status("VmRSS")
        work()
        print(read_status("VmHWM") - before)
"""


def measure_extra_bytes(script):
    """Run a script that calls ``measure`` in a fresh process; return how far memory rose above where it stood."""
    code = textwrap.dedent(PRELUDE).replace("COLUMNS", str(N_COLUMNS)) + textwrap.dedent(script)
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    return int(result.stdout)


FIT = """
    tiny = make_table(200, "{order}")
    {estimator}(n_estimators=2, n_jobs={n_jobs}).fit(tiny, tiny[:, 0] > 0)
    X = make_table({n_rows}, "{order}")
    y = (X[:, 0] > 0).astype(np.int64)
    model = {estimator}(n_estimators=5, n_jobs={n_jobs}, random_state=0)
    measure(lambda: model.fit(X, y))
"""


@pytest.mark.parametrize("estimator", ["MPBoostClassifier", "MPGradientBoostingClassifier"])
@pytest.mark.parametrize(("order", "n_jobs"), [("C", 1), ("F", 2)], ids=["C-one-thread", "F-two-threads"])
def test_fit_needs_little_more_memory_than_its_data(estimator, order, n_jobs):
    extra = measure_extra_bytes(FIT.format(estimator=estimator, order=order, n_jobs=n_jobs, n_rows=N_ROWS))
    assert extra > 0.2 * DATA_BYTES, "the codes alone are a quarter of the data: the measurement is broken"
    # Eight minipatches of a round of some 25 000 rows each, and a grower in each thread; more rows add little to that.
    round_bytes = 8 * 25_000 * 16 + n_jobs * 3_000_000
    assert extra <= 0.4 * DATA_BYTES + 80 * N_ROWS + round_bytes


@pytest.mark.parametrize("kind", ["csr", "csc"])
def test_sparse_fit_needs_little_more_memory_than_its_data(kind):
    n_rows, n_columns, n_drawn = 20_000, 10_000, 100
    extra = measure_extra_bytes(f"""
        from scipy import sparse

        def make_sparse(n_rows, n_columns):
            rng = np.random.default_rng(0)
            cells = rng.integers(n_rows, size=n_rows * 50), rng.integers(n_columns, size=n_rows * 50)
            X = sparse.csr_matrix((rng.random(n_rows * 50), cells), shape=(n_rows, n_columns))
            return X.asformat("{kind}"), rng.random(n_rows) > 0.5

        model = MPBoostClassifier(n_estimators=20, max_features={n_drawn}, stopping=None, random_state=0)
        model.fit(*make_sparse(200, {n_columns}))
        X, y = make_sparse({n_rows}, {n_columns})
        measure(lambda: model.fit(X, y))
    """)
    stored_bytes = 12 * 50 * n_rows
    assert extra > 0.2 * stored_bytes, "the codes alone take five bytes of twelve: the measurement is broken"
    assert extra <= 3 * stored_bytes + n_drawn * n_rows + 100 * n_rows
    assert extra < 0.5 * n_rows * n_columns, "a byte for each cell is what must never be held"


def test_fit_memory_does_not_follow_the_limit_of_iterations():
    # The limit may be set generously where a stopping rule ends the fit.
    extra = measure_extra_bytes("""
        X = make_table(2000, "C")
        y = X[:, 0] > 0
        parameters = {"n_iter_no_change": 5, "random_state": 0}
        MPBoostClassifier(n_estimators=100, **parameters).fit(X, y)
        measure(lambda: MPBoostClassifier(n_estimators=20_000_000, **parameters).fit(X, y))
    """)
    assert extra <= 50e6


def test_predict_memory_is_bounded():
    extra = measure_extra_bytes(f"""
        X = make_table({N_ROWS}, "C")
        y = X[:2000, 0] > 0
        model = MPBoostClassifier(n_estimators=5, random_state=0).fit(X[:2000], y)
        measure(lambda: model.predict(X))
    """)
    assert extra <= 0.1 * DATA_BYTES + 60 * N_ROWS


@pytest.mark.parametrize(
    ("estimator", "parameters", "needed"),
    [
        (MPBoostClassifier, {}, "5.6"),
        (MPGradientBoostingClassifier, {"n_models": 1}, "15.1"),
        (MPGradientBoostingClassifier, {"n_models": 3}, "25.1"),
    ],
)
def test_fit_tells_at_once_that_memory_does_not_suffice(monkeypatch, estimator, parameters, needed):
    monkeypatch.setattr(memory, "measure_available_memory", lambda: 5 << 30)
    y = np.arange(30_000) % 10_000
    with pytest.raises(MemoryError, match=rf"30000 rows of 10000 classes need about {needed} GiB .* only 5\.0 GiB"):
        estimator(**parameters).fit(y[:, None] / 3, y)


def test_fit_where_the_system_does_not_tell_its_memory(monkeypatch):
    monkeypatch.setattr(memory, "measure_available_memory", lambda: None)
    monkeypatch.setattr(memory, "MIN_CHECKED", 0)
    y = np.arange(90) % 3
    assert MPBoostClassifier(n_estimators=3).fit(y[:, None] / 3, y).n_iter_ == 3


def test_available_memory_is_less_than_all():
    pages, page = (os.sysconf(name) for name in ("SC_PHYS_PAGES", "SC_PAGE_SIZE"))
    assert 1 << 20 < memory.measure_available_memory() <= pages * page


def test_available_memory_is_all_where_there_is_no_meminfo(monkeypatch):
    monkeypatch.setattr(memory, "Path", lambda name: Path("/nowhere"))
    assert memory.measure_available_memory() == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def write_group(folder, version, limit, usage, cached):
    """Write the files by which Linux tells about a control group."""
    names = ("memory.max", "memory.current") if version == 2 else ("memory.limit_in_bytes", "memory.usage_in_bytes")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / names[0]).write_text(f"{limit}\n")
    (folder / names[1]).write_text(f"{usage}\n")
    prefix = "" if version == 2 else "total_"
    lines = "anon 7", f"{prefix}active_file {cached // 2}", f"{prefix}inactive_file {cached - cached // 2}"
    (folder / "memory.stat").write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize(
    ("own", "version", "groups", "left"),
    [
        ("0::/", 2, {"sys/fs/cgroup": (1000, 700, 100)}, 400),
        ("0::/a/b", 2, {"sys/fs/cgroup/a/b": (1000, 700, 0)}, 300),
        ("0::/a/b", 2, {"sys/fs/cgroup/a/b": ("max", 700, 0), "sys/fs/cgroup/a": (1000, 900, 50)}, 150),
        ("0::/a/b", 2, {"sys/fs/cgroup/a/b": ("max", 700, 0)}, None),
        ("0::/docker/1f", 2, {"sys/fs/cgroup": (1000, 100, 0)}, 900),
        ("0::/a", 2, {"sys/fs/cgroup/unified/a": (1000, 100, 0)}, 900),
        ("4:cpu:/a\n3:memory:/a", 1, {"sys/fs/cgroup/memory/a": (1000, 400, 100)}, 700),
        ("4:cpu:/a\n3:hugetlb,memory:/a/b", 1, {"sys/fs/cgroup/memory/a": (1000, 1200, 0)}, 0),
        ("4:cpu:/a", 1, {"sys/fs/cgroup/memory/a": (1000, 400, 100)}, None),
    ],
    ids=["own", "path", "outer", "unlimited", "container", "hybrid", "first version", "exceeded", "other controller"],
)
def test_group_memory_is_what_the_narrowest_limit_leaves(tmp_path, own, version, groups, left):
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(own + "\n")
    for folder, numbers in groups.items():
        write_group(tmp_path / folder, version, *numbers)
    assert memory.measure_group_memory(tmp_path) == left


def test_available_memory_is_at_most_that_of_the_group(monkeypatch):
    monkeypatch.setattr(memory, "measure_group_memory", lambda system: 12345)
    assert memory.measure_available_memory() == 12345


MANY_CLASSES = """
    y = np.arange(10_000) % 1000
    X = y[:, None] / 3
    {model}.fit(X[:200], y[:200] % 3)
    measure(lambda: {model}.fit(X, y))
"""


@pytest.mark.parametrize(
    ("model", "needed"),
    [
        ("MPBoostClassifier(n_estimators=3, max_samples=100)", memory.BYTES_OF_VOTES),
        (
            "MPGradientBoostingClassifier(n_estimators=3, n_models=1)",
            memory.BYTES_OF_GRADIENTS + memory.BYTES_OF_MODEL,
        ),
        (
            "MPGradientBoostingClassifier(n_estimators=3, n_models=3)",
            memory.BYTES_OF_GRADIENTS + 3 * memory.BYTES_OF_MODEL,
        ),
    ],
)
def test_memory_of_many_classes_is_what_errors_tell(model, needed):
    assert measure_extra_bytes(MANY_CLASSES.format(model=model)) / 10**7 == pytest.approx(needed, rel=0.2)
