"""The house: packages import one way, in the order of the data flow, and say what lives in them."""

import ast
import graphlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "src" / "mpboost"

#: The packages, from the data up to what people look at: each may import those of earlier lines. Packages on one line
#: know nothing of each other.
LAYERS = [
    ("containers", "table_files"),
    ("data",),
    ("datasets",),
    ("outputs",),
    ("sampling",),
    ("tasks",),
    ("learners",),
    ("boosting",),
    ("estimators",),
    ("model_files", "tuning", "inspection", "export", "dask"),
    ("reporting", "ray"),
    ("cli",),
]
LEVELS = {package: level for level, packages in enumerate(LAYERS) for package in packages}
#: Modules beside the packages that all of them may import; they import no package.
FOUNDATIONS = {
    "_native",
    "_arrays",
    "_bars",
    "_compat",
    "_files",
    "_shards",
    "_threads",
    "_versions",
    "_wording",
    "rules",
}
#: Modules that may import everything: what ``import mpboost`` and ``python -m mpboost`` run.
DOORS = {"__init__", "__main__"}


def list_modules():
    return sorted(".".join(path.relative_to(ROOT).with_suffix("").parts) for path in ROOT.rglob("*.py"))


def read_module(module):
    return ast.parse(ROOT.joinpath(*module.split(".")).with_suffix(".py").read_text(encoding="utf-8"))


def list_imports(module):
    """List the modules that a module imports, inside functions and for type checks too, and names from scikit-learn."""
    for node in ast.walk(read_module(module)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} has a relative import"
            yield from ((node.module, alias.name) for alias in node.names)


def list_own_imports(module):
    """List the modules of mpboost that a module imports, without the leading "mpboost."."""
    for source, name in list_imports(module):
        if source == "mpboost":
            yield name if name in FOUNDATIONS | LEVELS.keys() else "__init__"
        elif source.startswith("mpboost."):
            path = source.removeprefix("mpboost.")
            yield f"{path}.{name}" if f"{path}.{name}" in MODULES else path


MODULES = list_modules()
EDGES = {module: sorted(set(list_own_imports(module))) for module in MODULES}


def find_package(module):
    return module.split(".")[0]


def test_every_package_has_its_place():
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert packages == LEVELS.keys()
    assert {module for module in MODULES if "." not in module} <= FOUNDATIONS | DOORS


@pytest.mark.parametrize("module", [module for module in MODULES if module not in DOORS])
def test_imports_point_one_way(module):
    package = find_package(module)
    for imported in EDGES[module]:
        other = find_package(imported)
        if other in FOUNDATIONS or other == package:
            continue
        assert package not in FOUNDATIONS, f"{module} is for all packages, and imports {imported}"
        if other in DOORS:
            assert package == "cli", f"{module} imports mpboost itself, which is for users; the command line is one"
            continue
        assert LEVELS[other] < LEVELS[package], f"{module} imports {imported}, against the order of the packages"


def test_modules_do_not_import_each_other_in_a_circle():
    modules = {module: [other for other in EDGES[module] if other in MODULES] for module in MODULES}
    list(graphlib.TopologicalSorter(modules).static_order())  # raises CycleError, which names the circle


@pytest.mark.parametrize("module", [module for module in MODULES if module != "_compat"])
def test_private_names_of_scikit_learn_are_imported_in_one_module_alone(module):
    private = [
        f"{source}.{name}"
        for source, name in list_imports(module)
        if source.split(".")[0] == "sklearn" and any(part.startswith("_") for part in f"{source}.{name}".split("."))
    ]
    assert private == []


@pytest.mark.parametrize("package", LEVELS)
def test_package_says_in_one_line_what_lives_there(package):
    words = ast.get_docstring(read_module(f"{package}.__init__"))
    assert words
    assert "\n" not in words
    assert words.endswith(".")


def test_no_public_name_is_that_of_a_package():
    import mpboost

    assert not set(mpboost.__all__) & LEVELS.keys()


def test_files_that_the_map_names_are_there():
    project = ROOT.parents[1]
    pages = "ARCHITECTURE.md", "docs/development/inside.md", "docs/development/engine.md"
    words = "\n".join(project.joinpath(page).read_text(encoding="utf-8") for page in pages)
    named = set(re.findall(r"\b[\w/-]+/[\w-]+\.(?:py|hpp|cpp|inl|md)\b", re.sub(r"\]\([^)]*\)", "]", words)))
    assert len(named) > 30
    assert [name for name in sorted(named) if not any((root / name).exists() for root in (project, ROOT))] == []


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("from mpboost.cli.app import app", "cli.app"),
        ("def f():\n    from mpboost.estimators import base", "estimators.base"),
        ("if TYPE_CHECKING:\n    from mpboost.boosting.run import BoostingRun", "boosting.run"),
        ("from mpboost import _native", "_native"),
        ("import mpboost.tuning.search", "tuning.search"),
    ],
)
def test_imports_are_seen_wherever_they_stand(monkeypatch, code, expected):
    monkeypatch.setattr(f"{__name__}.read_module", lambda _: ast.parse(code))
    assert list(list_own_imports("data.tables")) == [expected]
