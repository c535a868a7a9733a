"""Tables about single rows that functions return: they print well, and go into data frames."""

from typing import Any, ClassVar

from sklearn.utils import Bunch

from mpboost.estimators.frames import make_frame
from mpboost.inspection.shown_tables import write_html_table, write_text_table

#: Rows that the ``repr`` of a table shows.
MAX_SHOWN_ROWS = 10


class RowTable(Bunch):
    """A dict of arrays of the same length, the first of which is ``row``: positions of rows, in some order."""

    #: The order of the rows, in words.
    _order: ClassVar[str]

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self["row"])

    def __bool__(self) -> bool:
        # Data frames ask a dict whether it has columns.
        return True

    def __repr__(self) -> str:
        if not len(self):
            return f"{type(self).__name__}: no rows"
        heading = f"{type(self).__name__}: {len(self)} row{'' if len(self) == 1 else 's'}, {self._order}"
        return "\n".join([heading, *write_text_table(*self._show())])

    def _repr_html_(self) -> str:
        """Return a table for notebooks."""
        return write_html_table(*self._show())

    def to_frame(self) -> Any:
        """Make a data frame: of pandas, or of polars if pandas is not installed.

        Returns
        -------
        frame : pandas.DataFrame or polars.DataFrame
            The columns of this table.
        """
        return make_frame(self, "to_frame")

    def _show(self) -> tuple[list[str], list[tuple[str, ...]], int]:
        """Return the headings, the cells of the first rows, and the number of the others."""
        columns = [
            [f"{value:.4g}" if isinstance(value, float) else str(value) for value in column[:MAX_SHOWN_ROWS].tolist()]
            for column in self.values()
        ]
        return list(self), list(zip(*columns, strict=True)), len(self) - MAX_SHOWN_ROWS
