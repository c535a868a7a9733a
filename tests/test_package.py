"""The package: what is installed, what it shows, and what it imports."""

import ast
import importlib.metadata
import inspect
import re
from importlib.resources import files
from pathlib import Path

import pytest

import mpboost
from mpboost import _native
from tests.support.helpers import run_script


@pytest.mark.parametrize("name", sorted(set(mpboost.__all__) - {"PAPER", "__version__"}))
def test_public_class_and_its_methods_are_documented(name):
    public = getattr(mpboost, name)
    own = {key: value for key, value in vars(public).items() if inspect.isfunction(value) and not key.startswith("_")}
    undocumented = [key for key, value in {name: public, **own}.items() if not inspect.getdoc(value)]
    assert undocumented == []


def test_public_names_exist():
    assert [name for name in mpboost.__all__ if not hasattr(mpboost, name)] == []


def test_public_names_are_all_that_the_package_shows():
    shown = {name for name in dir(mpboost) if not name.startswith("_") and not inspect.ismodule(getattr(mpboost, name))}
    assert shown - {"import_module", "Any", "TYPE_CHECKING"} == set(mpboost.__all__) - {"__version__"}


def test_public_names_have_one_home_for_type_checkers_and_for_users():
    block = next(node for node in ast.parse(Path(mpboost.__file__).read_text()).body if isinstance(node, ast.If))
    for_type_checkers = {
        node.module.removeprefix("mpboost."): tuple(alias.name for alias in node.names) for node in block.body
    }
    assert for_type_checkers == mpboost._HOMES
    assert {*mpboost._HOME_OF, "__version__"} == set(mpboost.__all__)


def test_name_that_does_not_exist_is_an_error():
    with pytest.raises(AttributeError, match=r"module 'mpboost' has no attribute 'MPBoost'"):
        _ = mpboost.MPBoost


def test_version_is_that_of_the_distribution():
    assert mpboost.__version__ == importlib.metadata.version("mpboost")


def test_citation_states_the_version():
    citation = Path(__file__).parents[1].joinpath("CITATION.cff").read_text()
    assert f"\nversion: {mpboost.__version__}\n" in citation


def test_recipe_states_the_version_and_what_the_package_needs():
    recipe = Path(__file__).parents[1].joinpath("recipe", "recipe.yaml").read_text()
    assert f'\n  version: "{mpboost.__version__}"\n' in recipe
    run = recipe.partition("  run:\n")[2].partition("\ntests:")[0]
    stated = {re.sub("^matplotlib-base", "matplotlib", line) for line in re.findall(r"- (\S+ >=\S+)", run)}
    extras = ["cli", "plot", "report"]
    needed = {
        f"{match['name']} >={match['least']}"
        for line in importlib.metadata.requires("mpboost")
        if (match := re.fullmatch(r"(?P<name>[\w-]+)>=(?P<least>[\d.]+)(; extra == [\"'](?P<extra>\w+)[\"'])?", line))
        and match["extra"] in (None, *extras)
    }
    assert stated == needed


@pytest.mark.parametrize("name", ["py.typed", "_native.pyi"])
def test_package_ships_its_types(name):
    assert files("mpboost").joinpath(name).is_file()


@pytest.mark.parametrize("name", ["report.html", "style.css", "script.js"])
def test_package_ships_the_parts_of_reports(name):
    assert files("mpboost.reporting").joinpath("templates", name).is_file()


def test_stub_lists_what_the_engine_has():
    tree = ast.parse(files("mpboost").joinpath("_native.pyi").read_text())
    stubbed = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    stubbed |= {node.target.id for node in tree.body if isinstance(node, ast.AnnAssign)}  # constants
    assert stubbed == {name for name in vars(_native) if not name.startswith("_")}


def test_distribution_has_the_extras_that_messages_and_the_readme_name():
    sources = [Path(mpboost.__file__).parent.rglob("*.py"), [Path(__file__).parents[1] / "README.md"]]
    texts = [path.read_text(encoding="utf-8") for paths in sources for path in paths]
    named = {extra for text in texts for extra in re.findall(r"mpboost\[(\w+)\]", text)}
    assert named
    assert named <= set(importlib.metadata.metadata("mpboost").get_all("Provides-Extra"))


@pytest.mark.parametrize("package", ["sklearn", "scipy", "numpy"])
def test_import_does_not_load_what_takes_long(package):
    assert run_script(f"import sys, mpboost; print({package!r} in sys.modules)") == "False\n"


@pytest.mark.slow
def test_exports_are_reached_from_the_package():
    assert run_script("import mpboost; print(mpboost.export.to_onnx.__name__)") == "to_onnx\n"


@pytest.mark.slow
def test_estimators_do_not_load_optional_packages():
    # pandas and pyarrow are left out: scikit-learn itself loads them where it can.
    optional = {"cloudpickle", "dask", "distributed", "jinja2", "matplotlib", "onnx", "polars", "ray", "typer"}
    output = run_script("""
import sys
import sklearn.base
before = set(sys.modules)
from mpboost import MPBoostClassifier
print(*set(sys.modules) - before)
""")
    loaded = set(output.split())
    assert "mpboost.estimators.classifier" in loaded
    assert loaded & optional == set()


@pytest.mark.slow
def test_import_and_fit_need_no_optional_package():
    # Hidden rather than looked for among the loaded modules: scikit-learn itself loads some of them where it can.
    output = run_script("""
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("jinja2", "matplotlib", "onnx", "rich", "pandas", "polars", "pyarrow"):
            raise ImportError(name)

sys.meta_path.insert(0, Hidden())
import numpy as np
from mpboost import MPBoostClassifier
X = np.random.default_rng(0).normal(size=(50, 3))
print(MPBoostClassifier(n_estimators=3).fit(X, X[:, 0] > 0).n_iter_)
""")
    assert output == "3\n"
