"""Real tables with words, gaps and dates, from file to report, without an option about the file."""

import json
import os
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

WORDS = Path(os.environ.get("MPBOOST_DATA", Path(__file__).resolve().parents[3] / "shared" / "data")) / "words"
TARGETS = {
    "telco_churn": "Churn",
    "census_income": "income_status",
    "german_credit": "class",
    "melbourne_houses": "Price",
    "contraceptive": "y",
    "anneal": "class",
}


@pytest.mark.parametrize("name", TARGETS)
def test_real_table_goes_from_file_to_report(run, name):
    path = WORDS / f"{name}.csv.gz"
    if not path.exists():
        pytest.skip(f"needs {path}: set MPBOOST_DATA to the folder of data sets")
    target = TARGETS[name]
    facts = json.loads(run("fit", path, "-t", target, "--json", "--set", "n_estimators=60").stdout)
    assert not facts["notes"]
    assert facts["oop_score"] > facts["constant_score"]
    assert json.loads(run("report", "model.mpb", path, "--json").stdout)["is_training"]
    evaluated = json.loads(run("evaluate", "model.mpb", path, "--json").stdout)
    assert evaluated["is_training"]
    assert json.loads(run("predict", "model.mpb", path, "--json").stdout)["rows"] == facts["rows"]


def test_dates_of_houses_begin_with_the_day(run):
    path = WORDS / "melbourne_houses.csv.gz"
    if not path.exists():
        pytest.skip(f"needs {path}: set MPBOOST_DATA to the folder of data sets")
    facts = json.loads(run("fit", path, "-t", "Price", "--json", "--set", "n_estimators=5").stdout)
    assert facts["derived"] == {"Date": ["Date:days", "Date:month", "Date:weekday"]}
