"""Makes data frames of whatever library is installed."""

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any


def make_frame(columns: Mapping[str, Any], caller: str) -> Any:
    """Make a data frame: of pandas, or of polars if pandas is not installed; ``caller`` is named in the error."""
    for library in ("pandas", "polars"):
        if find_spec(library) is not None:
            return import_module(library).DataFrame(dict(columns))
    raise ImportError(f"{caller} needs pandas or polars: install one of them.")
