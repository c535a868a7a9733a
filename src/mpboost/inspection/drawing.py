"""Helpers of displays: import matplotlib, make axes, choose colours and lines, read the history of a model."""

from itertools import cycle, islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mpboost.boosting.history import History
from mpboost.estimators.base import MinipatchBooster
from mpboost.inspection.checks import check_model

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Colours of Okabe and Ito, visible on white and distinct for any colour vision.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#555555")
#: Lines and markers are distinct without colours, too.
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)))
MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*")


def load_pyplot() -> Any:
    """Import matplotlib.pyplot, or raise an error that says how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("Displays need matplotlib: pip install 'mpboost[plot]'.") from error
    return plt


def make_axes(n_axes: int = 1, size: tuple[float, float] = (7.0, 4.2), n_rows: int = 1) -> NDArray[Any]:
    """Make a figure of a size in inches with so many axes, in one or more rows; unused places stay empty."""
    n_columns = -(-n_axes // n_rows)
    _, axes = load_pyplot().subplots(n_rows, n_columns, figsize=size, layout="constrained", squeeze=False)
    for unused in axes.flat[n_axes:]:
        unused.set_axis_off()
    return np.asarray(axes.flat[:n_axes])


def read_history(model: MinipatchBooster) -> History:
    """Read the history of a model; raise an error if it has none."""
    check_model(model)
    if not hasattr(model, "history_"):
        raise ValueError("This model has no history_, since an older version saved it. Fit it again.")
    history: History = model.history_
    return history


def pick_styles(n_lines: int) -> list[dict[str, Any]]:
    """Choose colours and dashes for so many lines: any two differ, the first few in both."""
    pairs = zip(cycle(COLOURS), cycle(LINES), strict=False)
    return [{"color": colour, "linestyle": line} for colour, line in islice(pairs, n_lines)]


def shorten(label: Any, length: int) -> str:
    """Shorten a label to a maximum length."""
    text = str(label)
    return text if len(text) <= length else f"{text[: length - 1]}…"


def count_rows(n_rows: int, source: str) -> str:
    """Tell how many rows a plot shows, and which.

    Examples
    --------
    >>> count_rows(1200, "new rows"), count_rows(5, "out-of-patch")
    ('1,200 new rows', '5 rows, out-of-patch')
    """
    return f"{n_rows:,} {source}" if source.endswith("rows") else f"{n_rows:,} rows, {source}"


def tidy(axes: "Axes") -> None:
    """Add a light grid and remove the upper and right border."""
    axes.grid(alpha=0.3)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
