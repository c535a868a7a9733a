"""What is printed: nothing in it controls the terminal, wherever it comes from."""

import json

import pyarrow as pa
import pytest

from mpboost._wording import make_visible
from tests.support.customers import write_text

#: Sets the title of the window, clears the screen, turns text around, and rings; as one character and as two.
HOSTILE = "\x1b]0;title\x07\x1b[2J\x9b31m\u202e[red]"
SHOWN = r"\x1b]0;title\x07\x1b[2J\x9b31m\u202e[red]"


def make_hostile_table():
    numbers = [float(i % 17) for i in range(200)]
    kinds = [f"{HOSTILE}a" if number > 8 else f"{HOSTILE}b" for number in numbers]
    words = [f"{HOSTILE}{i % 3}" for i in range(200)]
    return pa.table({f"number {HOSTILE}": numbers, f"word {HOSTILE}": words, f"kind {HOSTILE}": kinds})


@pytest.fixture
def hostile(run, folder):
    """A table, and a model of it, whose names and labels would control the terminal."""
    write_text(make_hostile_table(), folder / "hostile.csv")
    run("bin", "hostile.csv", "-t", f"kind {HOSTILE}", "-o", "hostile.mpcols")
    return run("fit", "hostile.csv", "-t", f"kind {HOSTILE}", "--set", "n_estimators=5", "--set", "n_jobs=1")


def assert_harmless(result):
    assert [each for each in result.stdout + result.stderr if not each.isprintable() and each != "\n"] == []


def test_fit_shows_names_and_labels_without_obeying_them(hostile):
    assert_harmless(hostile)
    assert SHOWN in hostile.stdout


@pytest.mark.parametrize(
    "command",
    [
        ("info", "model.mpb"),
        ("predict", "model.mpb", "hostile.csv"),
        ("issues", "model.mpb", "hostile.csv", "-n", "5"),
        ("bin", "hostile.csv", "-t", f"kind {HOSTILE}"),
        ("info", "hostile.mpcols"),
        ("tune", "hostile.csv", "-t", f"kind {HOSTILE}", "--grid", "max_depth=1,2", "-o", "other.mpb"),
    ],
    ids=lambda command: command[0],
)
def test_command_shows_names_and_labels_without_obeying_them(run, hostile, command):
    result = run(*command)
    assert_harmless(result)
    assert SHOWN in result.stdout


@pytest.mark.parametrize(
    "command",
    [
        ("fit", "hostile.csv", "-t", HOSTILE, "--force"),
        ("fit", f"{HOSTILE}.csv", "-t", "a", "--force"),
        ("predict", "model.mpb", "customers.csv"),
        ("info", f"{HOSTILE}.mpb"),
    ],
)
def test_error_shows_names_without_obeying_them(run, hostile, command):
    result = run(*command, code=1)
    assert result.stdout == ""
    assert_harmless(result)
    assert r"\x1b" in result.stderr


def test_json_has_names_and_labels_as_they_are_and_is_harmless(run, hostile):
    result = run("info", "model.mpb", "--json")
    assert_harmless(result)
    facts = json.loads(result.stdout)
    assert facts["target"] == f"kind {HOSTILE}"
    assert facts["classes"] == [f"{HOSTILE}a", f"{HOSTILE}b"]


def test_make_visible_leaves_text_alone():
    text = "Größe in m², 大小 😀\n[bold]"
    assert make_visible(text) == text


@pytest.mark.parametrize("code", [*range(10), *range(11, 32), *range(127, 160), 0x202E, 0x2066, 0xD800])
def test_make_visible_shows_characters_that_are_not_text(code):
    shown = make_visible(f"a{chr(code)}b")
    assert shown.isprintable()
    assert shown.encode("ascii").decode("unicode_escape") == f"a{chr(code)}b"
