"""The generator and the race in plain NumPy."""

import numpy as np

MASK = 2**64 - 1
STEP = 0x9E3779B97F4A7C15


def mix(z: np.ndarray) -> np.ndarray:
    """Finalize as splitmix64 does; z is an array of uint64, which wraps around silently."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def hash_short(x: np.ndarray, keys: int) -> np.ndarray:
    """Hash an array of uint32 with two keys of 32 bits in one number."""
    x = x + np.uint32(keys >> 32)
    x = (x ^ (x >> np.uint32(17))) * np.uint32(0xED5AD4BB) + np.uint32(keys & 0xFFFFFFFF)
    x = (x ^ (x >> np.uint32(11))) * np.uint32(0xAC4C1B51)
    x = (x ^ (x >> np.uint32(15))) * np.uint32(0x31848BAB)
    return x ^ (x >> np.uint32(14))


def make_uniforms(n_items: int, seed: int, iteration: int, purpose: int) -> np.ndarray:
    """Make the numbers in (0, 1) that items get; a function of seed, iteration, purpose and item (below 2^32)."""

    def as_array(*numbers: int) -> np.ndarray:
        return np.array([number & MASK for number in numbers], dtype=np.uint64)

    state = mix(as_array(seed + STEP))
    state = mix(state + as_array(iteration + STEP))
    state = mix(state + as_array(purpose))
    leading = hash_short(np.arange(n_items, dtype=np.uint32), int(mix(state)[0])).astype(np.uint64)
    trailing = mix(state + np.arange(1, n_items + 1, dtype=np.uint64) * np.uint64(STEP)) >> np.uint64(32)
    bits = leading << np.uint64(32) | trailing
    return ((bits >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52


def race_naively(log_weights: np.ndarray, seed: int, iteration: int, purpose: int) -> np.ndarray:
    """List all items in the order of Exp(1) / weight, compared by their logarithms; weight zero comes last."""
    u = make_uniforms(len(log_weights), seed, iteration, purpose)
    log_times = np.log(-np.log(u))
    is_zero = ~(log_weights > -np.inf)
    keys = np.where(is_zero, log_times, log_times - np.where(is_zero, 0.0, log_weights))
    return np.lexsort((keys, is_zero))
