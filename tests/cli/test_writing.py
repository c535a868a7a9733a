"""Tables that are written piece by piece: the same as tables that are written at once."""

import os

import pyarrow as pa
import pytest

pytest.importorskip("typer", reason="the command line needs typer")
from mpboost import read_table
from mpboost.cli.writing import WRITERS, open_table, write_table
from tests.support.customers import make_customers

SUFFIXES = sorted(WRITERS)


def write_pieces(table, path, n_rows=33, force=False):
    with open_table(path, table.schema, force=force) as write:
        for start in range(0, table.num_rows, n_rows):
            write(table.slice(start, n_rows))


def write_one_and_fail(table, write):
    write(table)
    raise KeyboardInterrupt


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_pieces_make_the_table(tmp_path, suffix):
    table = make_customers()
    write_pieces(table, tmp_path / f"pieces{suffix}")
    write_table(table, tmp_path / f"whole{suffix}", force=False)
    assert read_table(tmp_path / f"pieces{suffix}", frame="pyarrow").equals(
        read_table(tmp_path / f"whole{suffix}", frame="pyarrow")
    )


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_pieces_may_have_categories_of_their_own(tmp_path, suffix):
    pieces = [pa.array(words).dictionary_encode() for words in (["a", "b"], ["c", "b"])]
    table = pa.table({"word": pa.chunked_array(pieces)}).unify_dictionaries()
    write_pieces(table, tmp_path / f"words{suffix}", n_rows=2)
    assert read_table(tmp_path / f"words{suffix}", frame="pyarrow")["word"].to_pylist() == ["a", "b", "c", "b"]


def test_text_is_quoted_where_a_piece_needs_it(tmp_path):
    table = pa.table({"word": ["a", "b", 'c,"d"', "e"]})
    write_pieces(table, tmp_path / "words.csv", n_rows=2)
    assert read_table(tmp_path / "words.csv", frame="pyarrow").equals(table)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("has_older", [False, True], ids=["new", "older"])
def test_table_that_fails_half_way_leaves_what_was_there(tmp_path, suffix, has_older):
    path, table = tmp_path / f"table{suffix}", make_customers()
    if has_older:
        path.write_text("older")
    with pytest.raises(KeyboardInterrupt), open_table(path, table.schema, force=True) as write:
        write_one_and_fail(table, write)
    assert os.listdir(tmp_path) == ([path.name] if has_older else [])
    assert not has_older or path.read_text() == "older"
