"""Worlds of which it is known which features matter: linear, correlated, interactions, and Madelon-like."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_classification

N_ROWS, N_SIGNALS = 400, 5
#: How much of a proxy is the signal that it goes along with; how much members of a noisy block have in common.
PROXY, BLOCK = 0.8, 0.7


class World(NamedTuple):
    """A table, its targets, and what each feature is: "signal", "noise", or "proxy", which goes along with a signal."""

    X: NDArray[np.float64]
    y: NDArray[np.float64] | NDArray[np.int64]
    roles: NDArray[np.str_]


def make_world(name: str, target: str, effect: float, seed: int) -> World:
    """Draw a world; with an effect of 0, the target is independent of all features.

    ``target`` is "classes" or "numbers". The effect is the slope of each signal in units of the noise, or half of it in
    log odds.
    """
    rng = np.random.default_rng([seed, *map(ord, name)])
    X, score, roles = WORLDS[name](rng, effect)
    if effect == 0:
        score, roles = np.zeros(len(X)), np.full(len(roles), "noise")
    if target == "numbers":
        return World(X, score + rng.normal(size=len(X)), roles)
    return World(X, (rng.random(len(X)) < 1 / (1 + np.exp(-2 * score))).astype(np.int64), roles)


Drawn = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.str_]]


def _draw_linear(rng: np.random.Generator, effect: float) -> Drawn:
    """Draw independent features; the first ones add up to the target."""
    X = rng.normal(size=(N_ROWS, 20))
    return X, effect * X[:, :N_SIGNALS].sum(axis=1), _name_roles(20)


def _draw_correlated(rng: np.random.Generator, effect: float) -> Drawn:
    """Draw signals, a proxy of each, a block of noise that goes together, and independent noise."""
    X = rng.normal(size=(N_ROWS, 20))
    proxies, block = slice(N_SIGNALS, 2 * N_SIGNALS), slice(2 * N_SIGNALS, 3 * N_SIGNALS)
    X[:, proxies] = PROXY * X[:, :N_SIGNALS] + np.sqrt(1 - PROXY**2) * X[:, proxies]
    X[:, block] = BLOCK * rng.normal(size=(N_ROWS, 1)) + np.sqrt(1 - BLOCK**2) * X[:, block]
    return X, effect * X[:, :N_SIGNALS].sum(axis=1), _name_roles(20, N_SIGNALS)


def _draw_interaction(rng: np.random.Generator, effect: float) -> Drawn:
    """Draw independent features; the target depends on products of two, and on one feature by itself."""
    X = rng.normal(size=(N_ROWS, 20))
    return X, 2 * effect * (X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] + X[:, 4]), _name_roles(20)


def _draw_madelon(rng: np.random.Generator, effect: float) -> Drawn:
    """Draw clusters at the corners of a five-dimensional cube, mixtures of these features, and much noise."""
    X, classes = make_classification(
        N_ROWS,
        40,
        n_informative=N_SIGNALS,
        n_redundant=N_SIGNALS,
        n_clusters_per_class=4,
        flip_y=0.0,
        class_sep=1.5,
        shuffle=False,
        random_state=int(rng.integers(1 << 31)),
    )
    order = rng.permutation(N_ROWS)
    return X[order], (4 * effect * (2 * classes - 1.0))[order], _name_roles(40, N_SIGNALS)


def _name_roles(n_features: int, n_proxies: int = 0) -> NDArray[np.str_]:
    n_noise = n_features - N_SIGNALS - n_proxies
    return np.repeat(["signal", "proxy", "noise"], [N_SIGNALS, n_proxies, n_noise])


WORLDS: dict[str, Callable[[np.random.Generator, float], Drawn]] = {
    "linear": _draw_linear,
    "correlated": _draw_correlated,
    "interaction": _draw_interaction,
    "Madelon-like": _draw_madelon,
}
TARGETS = ("classes", "numbers")
