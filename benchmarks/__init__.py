"""Measurements, from the project's root: ``python -m benchmarks.<name> [--quick]``.

speed, quality (MNIST, beside scikit-learn's), tasks, label_issues, tuning, calibration, categories, sparse, progress;
defaults and choices, which make the figures of docs/defaults.md; scaling, and compare, which sets two revisions against
each other.
"""
