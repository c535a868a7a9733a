"""Imports Ray where it is used."""

from types import ModuleType


def import_ray() -> ModuleType:
    """Import Ray, or raise an error that says how to install it."""
    try:
        import cloudpickle  # noqa: F401  shards send functions of the user with it
        import ray
    except ImportError as error:
        raise ImportError("mpboost.ray needs ray: pip install 'mpboost[ray]'.") from error
    return ray
