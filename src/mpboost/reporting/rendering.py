"""From a summary to a page."""

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import Any

from mpboost.reporting import charts
from mpboost.reporting.canvas import MISSING, write_number


def render(summary: dict[str, Any]) -> str:
    """Make a page of a summary: one text, with its styles, its script and its pictures in it."""
    styles, script = read_part("style.css"), read_part("script.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # The browser runs this script and no other, whatever may have slipped into the page, and fetches nothing.
    policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"
    page: str = (
        make_environment().get_template("report.html").render(summary, styles=styles, script=script, policy=policy)
    )
    return page


def read_part(name: str) -> str:
    """Read a file that pages are made of."""
    return files("mpboost.reporting").joinpath("templates", name).read_text(encoding="utf-8")


@cache
def make_environment() -> Any:
    """Make jinja2 ready: all that is put into a page is escaped, but for pictures, which escape what they write."""
    try:
        from jinja2 import Environment, FunctionLoader, StrictUndefined
        from markupsafe import Markup
    except ImportError as error:
        raise ImportError("Reports need jinja2: pip install 'mpboost[report]'.") from error
    environment = Environment(
        loader=FunctionLoader(read_part),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": write_number, "percent": write_percent}
    for name, draw in vars(charts).items():
        if name.startswith("draw_"):
            environment.globals[name] = lambda *args, draw=draw: Markup(draw(*args))
    return environment


def write_percent(share: float | None, digits: int = 1) -> str:
    """Write a share in percent.

    Examples
    --------
    >>> write_percent(0.1234).split(), write_percent(None)
    (['12.3', '%'], '–')
    """
    return MISSING if share is None else f"{100 * share:.{digits}f}\N{NO-BREAK SPACE}%"
