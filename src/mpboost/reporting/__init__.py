"""A page that shows a fitted model: a summary (a dict), a template, and an object that has both; needs jinja2."""

from mpboost.reporting.page import Report, report

__all__ = ["Report", "report"]
