"""Commands run in a folder of their own, on a small table."""

import json
import shutil

import pyarrow.parquet
import pytest

from tests.support.customers import WRITERS, make_customers, make_plain_customers

SMALL = ("--set", "n_estimators=20", "--set", "n_jobs=1")


@pytest.fixture(scope="session")
def invoke():
    """Run a command in this process, with standard output and standard error apart."""
    testing = pytest.importorskip("typer.testing", reason="the command line needs typer")
    from mpboost.cli.app import app

    try:
        runner = testing.CliRunner(mix_stderr=False)
    except TypeError:  # later versions never mix them
        runner = testing.CliRunner()

    def invoke(*arguments, stdin=None):
        result = runner.invoke(app, [str(each) for each in arguments], env={"COLUMNS": "200"}, input=stdin)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return invoke


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a table, in which commands are run."""
    monkeypatch.chdir(tmp_path)
    WRITERS["customers.csv"](make_customers(), tmp_path / "customers.csv")
    return tmp_path


@pytest.fixture
def run(folder, invoke):
    """Run a command in that folder, and check how it ends."""

    def run(*arguments, code=0, stdin=None):
        result = invoke(*arguments, stdin=stdin)
        assert result.exit_code == code, result.output
        return result

    return run


@pytest.fixture
def fit(run):
    """Train a small model, and give what the command tells machines."""

    def fit(table="customers.csv", *arguments, target="churned"):
        named = ("--target", target) if target else ()
        return json.loads(run("fit", table, *named, "--json", "--force", *SMALL, *arguments).stdout)

    return fit


@pytest.fixture(scope="session")
def model_file(invoke, tmp_path_factory):
    """A model that was trained once for all tests."""
    folder = tmp_path_factory.mktemp("model")
    WRITERS["customers.csv"](make_customers(), folder / "customers.csv")
    invoke("fit", folder / "customers.csv", "--target", "churned", "-o", folder / "model.mpb", "--quiet", *SMALL)
    return folder / "model.mpb"


@pytest.fixture
def trained(folder, model_file):
    """That model in the folder of a test."""
    shutil.copy(model_file, folder / "model.mpb")


@pytest.fixture
def parquet(folder):
    """Customers in two Parquet files of several row groups; give the whole table."""
    table = make_plain_customers(300)
    pyarrow.parquet.write_table(table.slice(0, 170), folder / "part-1.parquet", row_group_size=64)
    pyarrow.parquet.write_table(table.slice(170), folder / "part-2.parquet", row_group_size=64)
    return table
