"""Versions of what a bug report should name: the package, Python, libraries, and the compiled engine."""

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version

from mpboost import _native

#: Libraries that the package needs, and those that some of its parts need.
NEEDED = ("numpy", "scipy", "scikit-learn", "narwhals", "joblib")
OPTIONAL = (
    "pandas",
    "polars",
    "pyarrow",
    "rich",
    "typer",
    "matplotlib",
    "jinja2",
    "onnx",
    "dask",
    "distributed",
)


def show_versions() -> None:
    """Print the versions of mpboost, Python and the libraries, and facts about the engine: for bug reports.

    Examples
    --------
    >>> import mpboost
    >>> mpboost.show_versions()
    System
      mpboost            ...
    """
    groups: dict[str, dict[str, object]] = {
        "System": {
            "mpboost": find_version("mpboost"),
            "Python": sys.version.split()[0],
            "executable": sys.executable,
            "system": platform.platform(),
        },
        "Libraries": {name: find_version(name) for name in NEEDED},
        "Optional libraries": {name: find_version(name) for name in OPTIONAL},
        "Engine": {
            "compiler": _native.describe_compiler(),
            "instruction set": f"{_native.current_kernels()} (available: {', '.join(_native.available_kernels())})",
            "processors": os.cpu_count(),
        },
    }
    for i, (title, facts) in enumerate(groups.items()):
        lines = [title, *(f"  {name:<17}  {value}" for name, value in facts.items())]
        sys.stdout.write("\n" * (i > 0) + "\n".join(lines) + "\n")


def find_version(name: str) -> str:
    """Return the version of an installed library."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
