"""The commands fit and tune."""

import json

import numpy as np
import pyarrow as pa
import pytest

from mpboost import PAPER, load_model, save_model
from mpboost.model_files import model_file
from mpboost.tasks.two_classes import BinaryTask
from tests.support.customers import WRITERS, make_customers
from tests.support.interrupts import interrupt_in, press_ctrl_c

SMALL = ("--set", "n_estimators=20", "--set", "n_jobs=1")


def test_fit_trains_and_saves_a_model(run, folder):
    result = run("fit", "customers.csv", "--target", "churned", *SMALL)
    model = load_model(folder / "model.mpb")
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.oop_score_ > 0.8
    assert f"{100 * model.oop_score_:.1f} %" in result.stdout
    assert "20/20" in result.stderr  # the bar
    assert "20/20" not in result.stdout


def test_fit_explains_how_columns_are_used(run):
    words = run("fit", "customers.csv", "--target", "churned", *SMALL).stdout
    for said in (
        "200 rows, 11 columns",
        "numbers      active, age, calls, spend",
        "categories   plan (2)",
        "signup becomes signup:days (days since 1970-01-01), signup:month (1 to 12), signup:weekday (Monday is 0)",
        "customer looks like an identifier",
        "number looks like an identifier",
        "currency is always EUR",
        "--keep",
        "churned, 2 classes: ",
    ):
        assert said in words


def test_fit_says_why_whole_numbers_are_classes(run):
    words = run("fit", "customers.csv", "--target", "calls", *SMALL).stdout
    assert "calls, 9 classes" in words
    assert "use --task regression for numbers" in words


@pytest.mark.parametrize(
    ("target", "arguments", "estimator"),
    [
        ("churned", (), "MPGradientBoostingClassifier"),
        ("active", (), "MPGradientBoostingClassifier"),
        ("calls", (), "MPGradientBoostingClassifier"),
        ("calls", ("--task", "regression"), "MPGradientBoostingRegressor"),
        ("spend", (), "MPGradientBoostingRegressor"),
        ("churned", ("--preset", "gradient"), "MPGradientBoostingClassifier"),
        ("churned", ("--preset", "votes"), "MPBoostClassifier"),
        ("spend", ("--preset", "votes"), "MPBoostRegressor"),
        ("churned", ("--preset", "paper"), "MPBoostClassifier"),
    ],
)
def test_fit_chooses_the_estimator(fit, folder, target, arguments, estimator):
    assert fit("customers.csv", *arguments, target=target)["estimator"] == estimator
    assert type(load_model(folder / "model.mpb")).__name__ == estimator


@pytest.mark.parametrize(
    ("preset", "words"),
    [
        (
            "gradient",
            "Training MPGradientBoostingClassifier: gradient boosting; --preset votes trains MP-Boost instead",
        ),
        ("votes", "Training MPBoostClassifier: MP-Boost; --preset gradient trains gradient boosting instead"),
    ],
)
def test_fit_says_what_it_trains_and_how_to_choose_the_other(run, preset, words):
    assert words in run("fit", "customers.csv", "--target", "churned", "--preset", preset, *SMALL).stdout


def test_fit_of_the_paper_has_its_parameters(fit, folder):
    fit("customers.csv", "--preset", "paper")
    model = load_model(folder / "model.mpb")
    assert {name: getattr(model, name) for name in PAPER} == PAPER
    assert (model.max_samples, model.max_features) == (0.1, 0.1)


def test_fit_takes_parameters(fit, folder):
    fit("customers.csv", "--set", "max_depth=3", "--set", "stopping=none", "--set", "max_samples=sqrt")
    model = load_model(folder / "model.mpb")
    assert (model.max_depth, model.stopping, model.max_samples) == (3, None, "sqrt")


def test_fit_keeps_and_drops_columns(fit):
    facts = fit("customers.csv", "--keep", "currency,number", "--drop", "age")
    assert {"currency", "number"} < set(facts["features"])
    assert facts["left_out"].keys() == {"customer", "age"}
    assert fit("customers.csv", "--keep-all")["left_out"] == {}


def test_fit_writes_one_json_document(fit):
    facts = fit()
    assert facts["rows"] == 200
    assert facts["task"] == "classification"
    assert facts["left_out"].keys() == {"customer", "number", "currency"}
    assert facts["derived"].keys() == {"signup", "seen"}
    assert sum(facts["feature_probabilities"].values()) == pytest.approx(1)
    assert facts["parameters"]["n_estimators"] == 20


def test_fit_json_has_no_nan(run):
    command = ("fit", "customers.csv", "--target", "churned", "--json", *SMALL)
    text = run(*command, "--preset", "votes", "--set", "max_samples=1.0", "--set", "stopping=none").stdout
    assert json.loads(text, parse_constant=pytest.fail)["oop_score"] is None


def test_quiet_says_nothing(run):
    result = run("fit", "customers.csv", "--target", "churned", "--quiet", *SMALL)
    assert (result.stdout, result.stderr) == ("", "")


def test_fit_reads_npz(fit, folder):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    np.savez(folder / "points.npz", X=X, y=X[:, 0] > 0, feature_names=["a", "b", "c"])
    assert fit("points.npz", target=None)["features"] == ["a", "b", "c"]
    assert load_model(folder / "model.mpb").target_name_ == "y"


def test_fit_reads_compressed_text_and_semicolons(fit, folder):
    with pa.CompressedOutputStream(str(folder / "packed.csv.gz"), "gzip") as file:
        file.write((folder / "customers.csv").read_bytes())
    from_packed = fit("packed.csv.gz")
    (folder / "other.csv").write_text((folder / "customers.csv").read_text().replace(",", ";"))
    assert fit("other.csv")["oop_score"] == from_packed["oop_score"] == fit()["oop_score"]


def test_tune_saves_the_best_candidate(run, folder):
    command = ("tune", "customers.csv", "--target", "churned", "--json", *SMALL, "--grid", "max_depth=1,4")
    facts = json.loads(run(*command, "--grid", "max_samples=0.1,sqrt").stdout)
    assert len(facts["candidates"]) == 4
    model = load_model(folder / "model.mpb")
    assert model.get_params() | facts["best_parameters"] == model.get_params()
    assert model.target_name_ == "churned"


@pytest.mark.parametrize("preset", ["votes", "gradient"])
@pytest.mark.parametrize("target", ["churned", "spend"])
def test_tune_has_a_grid_of_its_own(run, preset, target):
    result = run("tune", "customers.csv", "--target", target, "--preset", preset, "--time-limit", "20", *SMALL)
    assert "Candidates  the 8 best of 9" in result.stdout


def test_target_name_is_forgotten_by_another_fit(fit, folder):
    fit()
    model = load_model(folder / "model.mpb")
    assert model.target_name_ == "churned"
    X = np.random.default_rng(0).normal(size=(60, 3))
    model.fit(X, X[:, 0] > 0)
    assert not hasattr(model, "target_name_")


def test_kinds_of_files_give_the_same_model(fit, folder):
    scores = {}
    for name, write in WRITERS.items():
        write(make_customers(), folder / name)
        scores[name] = fit(name)["oop_score"]
    assert len(set(scores.values())) == 1


@pytest.mark.usefixtures("python_handler")
@pytest.mark.filterwarnings("default:The fit was interrupted")
def test_second_interrupt_does_not_prevent_the_saving(monkeypatch, run, folder):
    def save(model, path):
        press_ctrl_c()
        save_model(model, path)
        press_ctrl_c()

    interrupt_in(monkeypatch, BinaryTask, "update")
    monkeypatch.setattr(model_file, "save_model", save)
    result = run("fit", "customers.csv", "--target", "churned", "--preset", "votes", *SMALL)
    assert "interrupted after 5 iterations" in result.stderr
    assert load_model(folder / "model.mpb").n_iter_ == 5


@pytest.mark.usefixtures("python_handler")
def test_interrupt_before_the_first_iteration_leaves_no_file(monkeypatch, run, folder):
    interrupt_in(monkeypatch, BinaryTask, "pose", call=1)
    run("fit", "customers.csv", "--target", "churned", "--preset", "votes", *SMALL, code=130)
    assert not (folder / "model.mpb").exists()
