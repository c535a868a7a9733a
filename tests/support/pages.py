"""The pages of the documentation: their links, anchors and Python blocks.

All Python blocks of a page are run one after the other, with the names of those before them; a block of ``>>>`` must
print what it says. A comment right above a block says if it is not run, or not everywhere:

    <!-- not run: why -->       it needs something that tests do not have, or another test runs it
    <!-- made by script.py -->  a script typed and ran it
    <!-- needs: shap -->        it is run where these packages are installed, by their names in an import

``python -m tests.support.pages docs/guide/*.md`` writes what the examples print into pages: for new ones, and after a
change of models. Look at the difference.
"""

import contextlib
import doctest
import io
import re
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
OPTIONS = doctest.NORMALIZE_WHITESPACE

_BLOCK = re.compile(
    r"(?:^ *<!-- (?P<mark>[^\n]*) -->\n\n?)?^ *```python\n(?P<code>.*?)^ *```$", re.DOTALL | re.MULTILINE
)
_FENCED = re.compile(r"^ *```.*?^ *```$", re.DOTALL | re.MULTILINE)
_SPAN = re.compile(r"`[^`\n]+`")
_LINK = re.compile(r"\]\(([^()\s]+)\)")


@dataclass(frozen=True)
class Block:
    """A Python block of a page, with the mark above it and the number of its first line."""

    code: str
    mark: str
    line: int

    @property
    def is_run(self):
        return not self.mark.startswith(("not run: ", "made by "))

    @property
    def needs(self):
        kind, _, names = self.mark.partition(": ")
        return names.split(", ") if kind == "needs" else []


def name_page(path):
    return str(path.relative_to(ROOT))


def read_blocks(text):
    """Read the Python blocks of a page."""
    return [
        Block(textwrap.dedent(found["code"]), found["mark"] or "", text.count("\n", 0, found.start("code")) + 1)
        for found in _BLOCK.finditer(text)
    ]


def run_block(block, names, path):
    """Run a block, and return what its examples printed in place of what it says; an empty text if all is well."""
    if not block.code.startswith(">>>"):
        exec(compile("\n" * (block.line - 1) + block.code, str(path), "exec"), names)
        return ""
    examples = doctest.DocTestParser().get_examples(block.code)
    test = doctest.DocTest(examples, names, path.name, str(path), block.line - 1, None)
    test.globs = names  # not a copy: later blocks use the names of earlier ones
    complaints = io.StringIO()
    doctest.DocTestRunner(optionflags=OPTIONS, verbose=False).run(test, out=complaints.write, clear_globs=False)
    return complaints.getvalue()


def list_links(text):
    """List the targets of the links and pictures of a page, those to other sites left out."""
    prose = _SPAN.sub("", _FENCED.sub("", text))
    return [link for link in _LINK.findall(prose) if not link.startswith(("http:", "https:", "mailto:"))]


def list_anchors(text):
    """List the anchors of the headings of a page, as code hosts and the site make them."""
    headings = re.findall(r"^#+ (.+)$", _FENCED.sub("", text), re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings]


def fill_in(path):
    """Write what the examples of a page print into it."""
    names = {"__name__": "__main__"}

    def answer(found):
        block = Block(found["code"], found["mark"] or "", 1)
        if not block.is_run or not block.code.startswith(">>>"):
            return found[0]
        lines = []
        for example in doctest.DocTestParser().get_examples(block.code):
            first, *others = example.source.rstrip("\n").split("\n")
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(compile(example.source, str(path), "single"), names)
            lines += [f">>> {first}", *(f"... {line}".rstrip() for line in others)]
            lines += printed.getvalue().rstrip("\n").split("\n") if printed.getvalue() else []
        return found[0].replace(found["code"], "\n".join(lines) + "\n")

    path.write_text(_BLOCK.sub(answer, path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    import matplotlib

    matplotlib.use("Agg")
    for name in sys.argv[1:]:
        fill_in(Path(name))
