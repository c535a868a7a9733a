"""HTML reports on fitted models: a summary (a dict), templates, and an object with both; needs jinja2."""

from mpboost.reporting.page import Report, report

__all__ = ["Report", "report"]
