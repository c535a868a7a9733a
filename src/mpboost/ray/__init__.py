"""Training on a Ray cluster: the model of one machine, bit for bit."""

from mpboost.ray.training import fit_on_ray

__all__ = ["fit_on_ray"]
