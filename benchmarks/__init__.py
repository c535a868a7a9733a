"""Measurements of mpboost, from the project's root: ``python -m benchmarks.<name> [--quick]``; see README.md.

A package for each benchmark: speed, quality, defaults, gradient, paper, scaling, compare. They share ``data`` (what is
learned from), ``contestants`` (who learns) and ``common`` (how it is timed, printed and kept).
"""
