"""Measurements: ``python -m benchmarks.speed`` and ``python -m benchmarks.quality`` from the project's root."""
