"""A CSV file of measurements that a long run adds to, so that it can be interrupted and go on where it stood."""

import csv
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from benchmarks.common.results import FACTS, Row, collect_facts, read_rows, write_rows


class GrowingTable:
    """Rows of measurements, in memory and on file; each has a key and figures, and what it was measured with."""

    def __init__(self, path: Path, key: Sequence[str], figures: Sequence[str]):
        self.rows: list[Row] = []
        self._path, self._key, self._columns = path, key, (*key, *figures, *FACTS)
        self._facts = dict(zip(FACTS, collect_facts(), strict=True))
        if path.is_file():
            self.rows = read_rows(path)
        else:
            self._write()

    def add(self, rows: Iterable[dict[str, object]]) -> None:
        """Add rows, and write them before anything else is measured."""
        added = [{name: str(value) for name, value in {**row, **self._facts}.items()} for row in rows]
        self.rows += added
        with self._path.open("a", newline="", encoding="utf-8") as file:
            csv.DictWriter(file, self._columns, lineterminator="\n").writerows(added)

    def knows(self, **key: object) -> bool:
        """Tell whether there is a row with these values."""
        return any(all(row[name] == str(value) for name, value in key.items()) for row in self.rows)

    def forget(self, is_unwanted: Callable[[Row], bool]) -> None:
        """Drop rows, on file, too."""
        self.rows = [row for row in self.rows if not is_unwanted(row)]
        self._write()

    def _write(self) -> None:
        write_rows(self._path, self._columns, ([row[name] for name in self._columns] for row in self.rows))
