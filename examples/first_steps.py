"""From a CSV with words, gaps and dates to a model, a report and predictions: ``python examples/first_steps.py``.

``--page docs/command-line.md`` puts what was typed and said into that page, between its two marks.
"""

import argparse
import csv
import os
import shlex
import subprocess
import sys
import tempfile
from datetime import date, timedelta
from pathlib import Path

import numpy as np

N_CUSTOMERS, N_NEW = 4000, 500
HEADER = ("customer", "signup", "plan", "region", "age", "visits", "spend", "calls", "currency", "churned")
COMMANDS = (
    "mpboost fit customers.csv --target churned",
    "mpboost report model.mpb customers.csv",
    "mpboost predict model.mpb new.csv -o predictions.csv --columns customer",
)
MARKS = "<!-- transcript -->", "<!-- end of the transcript -->"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="where to work; a folder that is removed again if not given")
    parser.add_argument("--page", type=Path, help="page to put the transcript into")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        transcript = take_steps(folder).replace(str(folder.resolve()), "/home/you")
    if arguments.page:
        before, rest = arguments.page.read_text(encoding="utf-8").split(MARKS[0])
        text = f"{before}{MARKS[0]}\n```console\n{transcript}```\n{MARKS[1]}{rest.split(MARKS[1])[1]}"
        arguments.page.write_text(text, encoding="utf-8")


def take_steps(folder):
    """Write the tables, run the commands, print and return what a user would see."""
    rng = np.random.default_rng(0)
    write_customers(folder / "customers.csv", N_CUSTOMERS, rng, HEADER)
    write_customers(folder / "new.csv", N_NEW, rng, HEADER[:-1])
    transcript = ["$ head -n 4 customers.csv\n", *(folder / "customers.csv").read_text().splitlines(keepends=True)[:4]]
    for command in COMMANDS:
        start = os.times()
        said = run_command(command, folder)
        end = os.times()
        real, user = end.elapsed - start.elapsed, end.children_user - start.children_user
        transcript.append(f"\n$ time {command}\n{said}\nreal  {real:.1f} s\nuser  {user:.1f} s\n")
    lines = (folder / "predictions.csv").read_text().splitlines(keepends=True)[:4]
    transcript += ["\n$ head -n 4 predictions.csv\n", *lines]
    text = "\n".join(line.rstrip() for line in "".join(transcript).splitlines()) + "\n"
    print(text)
    return text


def run_command(command, folder):
    """Run a command in a folder; give what it says."""
    environment = {**os.environ, "COLUMNS": "100", "PYTHONUNBUFFERED": "1", "PYTHONUTF8": "1"}
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
