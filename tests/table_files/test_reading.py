"""Files as they really are, and what ``read_table`` makes of them."""

from datetime import datetime

import pytest

import mpboost
from tests.support.awkward_files import FILES, PAGE, make_page_table


def plain(value):
    """Write a moment as a day if it has no time, and a moment of a time zone as text."""
    if isinstance(value, datetime):
        if value.tzinfo is not None:
            return str(value)
        return value.date() if value.time() == datetime.min.time() else value.replace(tzinfo=None)
    return value


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_read_table_reads_awkward_files_or_says_why_not(file, tmp_path):
    path = file.write(tmp_path)
    if not file.columns and not file.name.startswith("late"):
        with pytest.raises(ValueError, match=r"(cannot be read|is empty)") as caught:
            mpboost.read_table(path, **file.options)
        assert file.says in str(caught.value)
        assert path.name in str(caught.value)
        return
    table, notes = mpboost.read_table(path, frame="pyarrow", return_notes=True, **file.options)
    assert (file.says in "; ".join(notes)) if file.says else not notes
    if file.columns:
        read = {name: [plain(value) for value in table[name].to_pylist()] for name in table.column_names}
        assert read == {name: [plain(value) for value in values] for name, values in file.columns.items()}


def test_read_table_is_documented_file_by_file():
    assert len(FILES) >= 40
    assert make_page_table() in PAGE.read_text(encoding="utf-8")
