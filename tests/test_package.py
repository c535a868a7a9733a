"""The package: what is installed, what it imports, and whether its documentation tells the truth."""

import ast
import importlib.metadata
import inspect
import re
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest

import mpboost
from mpboost import PAPER, MPBoostClassifier, MPBoostRegressor, _native
from tests.support.helpers import run_script

ESTIMATORS = [MPBoostClassifier, MPBoostRegressor]
each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS)


def list_parameters(estimator):
    signature = inspect.signature(estimator.__init__)
    return {name: p.default for name, p in signature.parameters.items() if name != "self"}


def read_section(estimator, title):
    """Find the entries of a section of an estimator's docstring: names and what follows the colon."""
    doc = inspect.getdoc(estimator)
    body = re.search(rf"^{title}\n-+\n(.*?)(?=^\S[^\n]*\n-+$|\Z)", doc, re.MULTILINE | re.DOTALL).group(1)
    entries = re.findall(r"^(\w[\w, ]*) : (.*)$", body, re.MULTILINE)
    return {name: kind for names, kind in entries for name in names.split(", ")}


@each_estimator
def test_documentation_lists_the_parameters_in_order(estimator):
    assert list(read_section(estimator, "Parameters")) == list(list_parameters(estimator))


@each_estimator
def test_documentation_states_the_defaults(estimator):
    stated = {name: kind.split("default=")[1] for name, kind in read_section(estimator, "Parameters").items()}
    defaults = {name: ast.literal_eval(default) for name, default in stated.items()}
    assert defaults == list_parameters(estimator)


@each_estimator
def test_parameters_are_all_checked(estimator):
    assert estimator._parameter_constraints.keys() == list_parameters(estimator).keys()


@each_estimator
def test_documentation_lists_what_a_fit_leaves(estimator):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 3)), columns=list("abc"))
    y = X["a"] > 0
    X["d"] = pd.Categorical(["u", "v"] * 20)
    model = estimator(n_estimators=2).fit(X, y, X_val=X, y_val=y)
    left = {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}
    assert set(read_section(estimator, "Attributes")) == left


@pytest.mark.parametrize("name", sorted(set(mpboost.__all__) - {"PAPER", "__version__"}))
def test_public_class_and_its_methods_are_documented(name):
    public = getattr(mpboost, name)
    own = {key: value for key, value in vars(public).items() if inspect.isfunction(value) and not key.startswith("_")}
    undocumented = [key for key, value in {name: public, **own}.items() if not inspect.getdoc(value)]
    assert undocumented == []


METHODS = [
    (estimator, method)
    for estimator in ESTIMATORS
    for method in dir(estimator)
    if method == "fit" or re.match("(staged_)?(predict|decision)", method)
]


@pytest.mark.parametrize(("estimator", "method"), METHODS)
def test_method_documents_its_arguments(estimator, method):
    function = getattr(estimator, method)
    doc = inspect.getdoc(function)
    for argument in list(inspect.signature(function).parameters)[1:]:
        assert re.search(rf"^{argument} : ", doc, re.MULTILINE), argument
    assert re.search(r"^(Returns|Yields)$", doc, re.MULTILINE)


def test_public_names_exist():
    assert [name for name in mpboost.__all__ if not hasattr(mpboost, name)] == []


def test_public_names_are_all_that_the_package_shows():
    shown = {name for name, value in vars(mpboost).items() if not name.startswith("_") and not inspect.ismodule(value)}
    assert shown == set(mpboost.__all__) - {"__version__"}


def test_version_is_that_of_the_distribution():
    assert mpboost.__version__ == importlib.metadata.version("mpboost")


def test_paper_names_parameters_only():
    assert set(PAPER) <= set(list_parameters(MPBoostClassifier))


def test_paper_is_what_the_paper_says():
    assert PAPER["stopping"] == "paper"
    assert (PAPER["weighting"], PAPER["learning_rate"], PAPER["feature_momentum"]) == ("logistic", 1.0, 0.5)
    assert (PAPER["feature_exploration"], PAPER["max_depth"], PAPER["importance"]) == (0.0, None, "impurity")
    assert PAPER["adaptive_observations"] is PAPER["adaptive_features"] is True


def test_paper_can_be_fitted():
    X = np.random.default_rng(0).normal(size=(100, 3))
    model = MPBoostClassifier(**PAPER, max_samples=10, max_features=2).fit(X, X[:, 0] > 0)
    assert model.n_iter_ >= model.best_iteration_ >= 1


@pytest.mark.parametrize("name", ["py.typed", "_native.pyi"])
def test_package_ships_its_types(name):
    assert files("mpboost").joinpath(name).is_file()


@pytest.mark.parametrize("name", ["report.html", "style.css", "script.js"])
def test_package_ships_the_parts_of_reports(name):
    assert files("mpboost.reporting").joinpath("templates", name).is_file()


def test_stub_lists_what_the_engine_has():
    tree = ast.parse(files("mpboost").joinpath("_native.pyi").read_text())
    stubbed = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    assert stubbed == {name for name in vars(_native) if not name.startswith("_")}


def test_distribution_names_its_extras():
    extras = set(importlib.metadata.metadata("mpboost").get_all("Provides-Extra"))
    assert extras >= {"cli", "plot", "report", "all"}


def test_import_does_not_load_matplotlib():
    assert run_script("import sys, mpboost; print('matplotlib' in sys.modules)") == "False\n"


def test_import_and_fit_need_no_optional_package():
    # Hidden rather than looked for among the loaded modules: scikit-learn itself loads some of them where it can.
    output = run_script("""
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("jinja2", "matplotlib", "rich", "pandas", "polars", "pyarrow"):
            raise ImportError(name)

sys.meta_path.insert(0, Hidden())
import numpy as np
from mpboost import MPBoostClassifier
X = np.random.default_rng(0).normal(size=(50, 3))
print(MPBoostClassifier(n_estimators=3).fit(X, X[:, 0] > 0).n_iter_)
""")
    assert output == "3\n"
