"""Measurements, from the project's root: ``python -m benchmarks.<name> [--quick]``.

speed, quality (MNIST, beside scikit-learn's), calibration, categories, sparse, progress.
"""
