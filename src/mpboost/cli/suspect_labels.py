"""Show labels that are probably wrong, with the columns that matter."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mpboost._wording import count, format_share
from mpboost.cli.model_summary import list_features
from mpboost.cli.output import Output
from mpboost.estimators.base import MinipatchBooster
from mpboost.estimators.row_attributes import explain_absence
from mpboost.inspection.judgement import decode_targets
from mpboost.inspection.label_issues import LabelIssues

#: Columns that are shown beside suspect labels by default.
MAX_SHOWN_COLUMNS = 3

#: Suspect labels that are shown on the terminal.
MAX_SHOWN_ROWS = 30


def check_trained_on(model: MinipatchBooster, y: NDArray[Any], name: str) -> None:
    """Check by its labels that a table is the one that the model was trained on."""
    if not hasattr(model, "_targets"):
        raise ValueError(explain_absence("judgement of single rows", model.n_samples_))
    known = decode_targets(model, model._targets)
    if len(known) != len(y) or not np.array_equal(known, y):
        raise ValueError(
            f"{name} is not the table that the model was trained on ({count(len(known), 'row')}), or its target has "
            "changed since. Suspect labels are found among training rows: use the training table. For new data, use "
            "mpboost evaluate, or mpboost report, which lists the hardest rows."
        )


def choose_columns(model: MinipatchBooster, table: pa.Table) -> list[str]:
    """Choose the columns to show: those of the most useful features."""
    names = (name if name in table.column_names else name.rpartition(":")[0] for name, _ in list_features(model))
    return [name for name in dict.fromkeys(names) if name in table.column_names][:MAX_SHOWN_COLUMNS]


def tabulate_issues(found: LabelIssues, table: pa.Table, columns: list[str]) -> pa.Table:
    """Make a table of the label issues and the given columns of their rows."""
    rows = table.select(columns).take(pa.array(found.row))
    added = {name: pa.array(found[name]) for name in ("row", "difficulty", "given", "suggested")}
    return pa.table(added | {name: rows[name] for name in columns if name not in added})


def show_issues(suspects: pa.Table, n_rows: int, target: str, noise: float | None, out: Output) -> None:
    """Show suspect labels, and how many labels may be wrong at most."""
    share = f"{suspects.num_rows} of {count(n_rows, 'row')}"
    out.title("Suspect labels", f"{share}, judged by trees not trained on them; rows are counted from 0")
    if suspects.num_rows:
        _show_table(suspects, target, out)
    if noise is not None:
        out.say(
            f"At most about {format_share(noise)} of the labels are wrong: so many disagree with the surest "
            "predictions. Where labels are noisy by nature it is less, or none."
        )


def _show_table(suspects: pa.Table, target: str, out: Output) -> None:
    shown = suspects.slice(0, MAX_SHOWN_ROWS).rename_columns(
        [
            {"given": f"{target} given", "suggested": f"{target} suggested"}.get(name, name)
            for name in suspects.column_names
        ]
    )
    columns = {name: [_format(value) for value in shown[name].to_pylist()] for name in shown.column_names}
    columns["difficulty"] = [f"{value:.2f}" for value in shown["difficulty"].to_pylist()]
    out.table(columns, right=("row", "difficulty"))
    if suspects.num_rows > MAX_SHOWN_ROWS:
        out.say(f"… and {suspects.num_rows - MAX_SHOWN_ROWS} more: use -o to write all of them to a file.")


def _format(value: Any) -> str:
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
