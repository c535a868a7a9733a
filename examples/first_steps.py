"""From a file to a model, an evaluation, a report and predictions: ``python examples/first_steps.py``.

The customers are made up. The houses of Melbourne and the customers of a telephone company are real tables, in the
folder ``words`` of the folder that ``MPBOOST_DATA`` names; without it they are left out.
``--page docs/command-line.md`` puts what was typed and said into that page, between the marks of each story.
"""

import argparse
import csv
import gzip
import os
import shlex
import subprocess
import sys
import tempfile
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

N_CUSTOMERS, N_NEW, N_IN_DATASET = 4000, 500, 100_000
HEADER = ("customer", "signup", "plan", "region", "age", "visits", "spend", "calls", "currency", "churned")

DATA = Path(os.environ.get("MPBOOST_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")) / "words"

#: What is typed in each story.
STORIES = {
    "customers": (
        "head -n 4 customers.csv",
        "mpboost fit customers.csv --target churned",
        "mpboost report model.mpb customers.csv",
        "mpboost predict model.mpb new.csv -o predictions.csv --columns customer",
        "head -n 4 predictions.csv",
    ),
    "dataset": (
        "mpboost bin customers.parquet --target churned --drop customer,currency",
        "mpboost fit data.mpcols",
    ),
    "houses": (
        "head -n 2 houses.csv",
        "mpboost fit houses.csv --target Price",
        "mpboost evaluate model.mpb new-houses.csv",
        "mpboost report model.mpb new-houses.csv",
        "mpboost predict model.mpb new-houses.csv",
    ),
    "churn": (
        "mpboost fit churn.csv --target Churn",
        "mpboost evaluate model.mpb new-churn.csv",
        "mpboost report model.mpb new-churn.csv",
        "mpboost predict model.mpb new-churn.csv",
    ),
}
REAL_TABLES = {"houses": "melbourne_houses.csv.gz", "churn": "telco_churn.csv.gz"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="where to work; a folder that is removed again if not given")
    parser.add_argument("--page", type=Path, help="page to put the transcripts into")
    parser.add_argument("--only", choices=STORIES, help="one of the stories")
    arguments = parser.parse_args()
    for story in [arguments.only] if arguments.only else STORIES:
        if story in REAL_TABLES and not (DATA / REAL_TABLES[story]).exists():
            print(f"{story}: left out, since {DATA / REAL_TABLES[story]} is not there")
            continue
        with tempfile.TemporaryDirectory() as temporary:
            folder = (arguments.folder or Path(temporary)) / story
            folder.mkdir(parents=True, exist_ok=True)
            transcript = tell(story, folder).replace(str(folder.resolve()), "/home/you")
        if arguments.page:
            write_transcript(arguments.page, story, transcript)


def write_transcript(page, story, transcript):
    """Put a transcript into a page, between the marks of its story."""
    marks = f"<!-- transcript: {story} -->\n", f"<!-- end of {story} -->\n"
    before, rest = page.read_text(encoding="utf-8").split(marks[0])
    text = f"{before}{marks[0]}```console\n{transcript}```\n{marks[1]}{rest.split(marks[1])[1]}"
    page.write_text(text, encoding="utf-8")


def tell(story, folder):
    """Write the tables, run the commands, print and return what a user would see."""
    if story in REAL_TABLES:
        split_table(DATA / REAL_TABLES[story], folder / f"{story}.csv", folder / f"new-{story}.csv")
    elif story == "dataset":
        write_customers(folder / "customers.csv", N_IN_DATASET, np.random.default_rng(0), HEADER)
        options = pa.csv.ConvertOptions(strings_can_be_null=True)
        table = pa.csv.read_csv(folder / "customers.csv", convert_options=options)
        pa.parquet.write_table(table, folder / "customers.parquet")
    else:
        rng = np.random.default_rng(0)
        write_customers(folder / "customers.csv", N_CUSTOMERS, rng, HEADER)
        write_customers(folder / "new.csv", N_NEW, rng, HEADER[:-1])
    transcript = []
    for command in STORIES[story]:
        if command.startswith("head"):
            _, _, n_lines, name = command.split()
            lines = (folder / name).read_text(encoding="utf-8").splitlines(keepends=True)[: int(n_lines)]
            transcript.append(f"$ {command}\n{''.join(lines)}\n")
            continue
        start = os.times()
        said = run_command(command, folder)
        end = os.times()
        real, user = end.elapsed - start.elapsed, end.children_user - start.children_user
        transcript.append(f"$ time {command}\n{said}\nreal  {real:.1f} s\nuser  {user:.1f} s\n\n")
    text = "\n".join(line.rstrip() for line in "".join(transcript).rstrip().splitlines()) + "\n"
    print(text)
    return text


def split_table(path, training, new):
    """Write four of five rows of a table to train on, and the others to judge the model by."""
    header, *rows = gzip.decompress(path.read_bytes()).decode().splitlines(keepends=True)
    training.write_text(header + "".join(row for i, row in enumerate(rows) if i % 5), encoding="utf-8")
    new.write_text(header + "".join(rows[::5]), encoding="utf-8")


def run_command(command, folder):
    """Run a command in a folder; give what it says."""
    environment = {**os.environ, "COLUMNS": "90", "PYTHONUNBUFFERED": "1", "PYTHONUTF8": "1"}
    finished = subprocess.run(
        [sys.executable, "-m", *shlex.split(command)],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    if finished.returncode:
        sys.exit(f"{command} failed:\n{finished.stdout}")
    return finished.stdout


def write_customers(path, n_customers, rng, header):
    """Write made-up customers, of whom those leave who call often, come rarely and pay for the basic plan."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        for _ in range(n_customers):
            writer.writerow(make_customer(rng)[: len(header)])


def make_customer(rng):
    plan, region = rng.choice(["basic", "plus", "family"], p=[0.5, 0.3, 0.2]), rng.choice(["north", "south", "west"])
    age, visits, spend = rng.integers(18, 80), rng.poisson(6), rng.gamma(2, 30)
    days, calls = int(rng.integers(0, 1400)), rng.poisson(2 if plan == "basic" else 1)
    reasons = 1.1 * calls - 0.6 * visits + (1.4 if plan == "basic" else 0) - 0.02 * spend + 0.002 * days + 0.5
    gaps = rng.random(3) < (0.03, 0.06, 0.1)
    return (
        f"{rng.integers(16**8):08x}",
        date(2021, 1, 1) + timedelta(days=days),
        "" if gaps[0] else plan,
        region,
        "" if gaps[1] else age,
        visits,
        "NA" if gaps[2] else f"{spend:.2f}",
        calls,
        "EUR",
        "yes" if reasons + rng.logistic(0, 0.5) > 0 else "no",
    )


if __name__ == "__main__":
    main()
