"""Train on a Dask cluster of two workers on this machine, from files to a model: ``python examples/dask_demo.py``.

The customers are made up. The model is compared with one that is trained without a cluster: both have the same bytes.
``--page docs/cluster.md`` puts the lines and what they print into that page, between the marks.
"""

import argparse
import contextlib
import hashlib
import io
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from mpboost import MPGradientBoostingClassifier, save_model

#: What users type.
LINES = """\
import dask.dataframe as dd
from distributed import Client
from mpboost import save_model
from mpboost.dask import DaskMPGradientBoostingClassifier

client = Client(n_workers=2, threads_per_worker=1)  # or the address of your scheduler
table = dd.read_parquet("customers/*.parquet")
model = DaskMPGradientBoostingClassifier(random_state=0).fit(table, "churned")
print(f"{model.placement_}: {model.n_samples_} rows, out-of-patch accuracy {model.oop_score_:.4f}")
model.predict_proba(table).to_parquet("probabilities", write_index=False)
save_model(model.to_local(), "churn.mpb")
"""
MARKS = "<!-- made by examples/dask_demo.py -->", "<!-- end -->"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000, help="customers to make up")
    parser.add_argument("--page", type=Path, help="page to put the transcript into")
    arguments = parser.parse_args()
    page = arguments.page and arguments.page.resolve()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        write_customers(Path("customers"), arguments.rows)
        print(LINES)
        known, started = {}, time.perf_counter()
        with contextlib.redirect_stdout(io.StringIO()) as said:
            exec(compile(LINES, "lines", "exec"), known)
        seconds = time.perf_counter() - started
        said = said.getvalue()
        print(said, end="")
        known["client"].close()
        known["client"].cluster.close()

        whole = pd.read_parquet("customers")
        local = MPGradientBoostingClassifier(random_state=0)
        save_model(local.fit(whole.drop(columns="churned"), whole["churned"]), "local.mpb")
        hashes = [hashlib.sha256(Path(name).read_bytes()).hexdigest() for name in ("churn.mpb", "local.mpb")]
        probabilities = pd.read_parquet("probabilities")
    difference = np.abs(probabilities.to_numpy() - local.predict_proba(whole.drop(columns="churned"))).max()
    if hashes[0] != hashes[1] or difference > 0:
        raise SystemExit(f"The models differ: {hashes}, probabilities by {difference}.")
    print(
        f"All of that took {seconds:.0f} seconds, most of them to start workers. Trained without a cluster, the model"
    )
    print(f"has the same bytes (SHA-256 {hashes[0][:16]}...), and predicts the same.")
    if page:
        before, rest = page.read_text(encoding="utf-8").split(MARKS[0])
        made = f"{MARKS[0]}\n\n```python\n{LINES}```\n\n```text\n{said}```\n\n{MARKS[1]}"
        page.write_text(before + made + rest.split(MARKS[1])[1], encoding="utf-8")


def write_customers(folder, n_rows):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "signup": pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 1400, n_rows), unit="D"),
            "plan": rng.choice(["basic", "plus", "family"], n_rows, p=[0.6, 0.3, 0.1]),
            "region": rng.choice([f"region {k}" for k in range(30)], n_rows),
            "age": rng.integers(18, 90, n_rows),
            "visits": rng.poisson(6, n_rows),
            "spend": np.where(rng.random(n_rows) < 0.1, np.nan, rng.gamma(2, 40, n_rows).round(2)),
            "calls": rng.poisson(1.5, n_rows),
        }
    )
    odds = 0.8 * table["calls"] - 0.3 * table["visits"] + (table["plan"] == "basic") + (table["age"] < 30)
    table["churned"] = np.where(odds + rng.logistic(size=n_rows) > 1, "yes", "no")
    folder.mkdir()
    for number, rows in enumerate(np.array_split(np.arange(n_rows), 4)):
        table.iloc[rows].to_parquet(folder / f"part-{number}.parquet")


if __name__ == "__main__":
    main()
