"""Render a summary as an HTML page."""

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import Any

from mpboost.inspection.feature_inference import format_p_value
from mpboost.reporting import charts, contribution_charts, effect_charts
from mpboost.reporting.canvas import MINUS, MISSING, format_number


def render(summary: dict[str, Any]) -> str:
    """Render a summary as one HTML page that includes its styles, script and charts."""
    styles, script = read_part("style.css"), read_part("script.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # The browser runs only this script, whatever the data may have put into the page, and loads nothing.
    policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"
    page: str = (
        make_environment().get_template("report.html").render(summary, styles=styles, script=script, policy=policy)
    )
    return page


def read_part(name: str) -> str:
    """Read a template, style sheet or script."""
    return files("mpboost.reporting").joinpath("templates", name).read_text(encoding="utf-8")


@cache
def make_environment() -> Any:
    """Set up jinja2: all values are escaped, except charts, which escape their own texts."""
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
    environment.filters |= {"number": format_number, "percent": format_percent, "fixed": format_fixed}
    environment.filters["p_value"] = format_p_value
    for name, draw in (vars(charts) | vars(effect_charts) | vars(contribution_charts)).items():
        if name.startswith("draw_"):
            environment.globals[name] = lambda *args, draw=draw, **options: Markup(draw(*args, **options))
    return environment


def format_fixed(value: float, digits: int) -> str:
    """Format a number with so many digits after the point.

    Examples
    --------
    >>> format_fixed(0.5, 3), format_fixed(-0.25, 1)
    ('0.500', '−0.2')
    """
    return f"{value:.{digits}f}".replace("-", MINUS)


def format_percent(share: float | None, digits: int = 1) -> str:
    """Format a share as a percentage.

    Examples
    --------
    >>> format_percent(0.1234).split(), format_percent(None)
    (['12.3', '%'], '–')
    """
    return MISSING if share is None else f"{100 * share:.{digits}f}\N{NO-BREAK SPACE}%"
