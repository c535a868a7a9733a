"""Tables that are made up batch by batch, always the same: numbers, missing values and words, and two noisy classes."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

BATCH_ROWS = 1 << 18
WORDS = np.array(["north", "south", "east", "west", "centre", "abroad", "sea", "air"])
#: Of every tenth column, so many values are missing.
MISSING = 0.1
NOISE = 0.1


def make_batches(n_rows: int, n_columns: int, *, n_words: int = 0, seed: int = 0) -> Iterator[tuple[pa.Table, int]]:
    """Make tables of columns x0, x1, ..., of which the last are words, and a target y; yield each with its number."""
    for number, start in enumerate(range(0, n_rows, BATCH_ROWS)):
        n_batch = min(BATCH_ROWS, n_rows - start)
        rng = np.random.default_rng([seed, number])
        columns = [make_numbers(rng, n_batch, j) for j in range(n_columns - n_words)]
        words = [rng.integers(0, len(WORDS), n_batch).astype(np.int8) for _ in range(n_words)]
        y = make_target(rng, columns, words)
        arrays = [pa.array(values) for values in columns]
        arrays += [pa.DictionaryArray.from_arrays(codes, WORDS).cast(pa.string()) for codes in words]
        names = [f"x{j}" for j in range(n_columns)]
        yield pa.table([*arrays, pa.array(y)], names=[*names, "y"]), number


def make_numbers(rng: np.random.Generator, n_rows: int, column: int) -> np.ndarray:
    """Make a column: most of them have thousands of values, some a few, some missing ones."""
    numbers = rng.integers(0, 1 << 16, n_rows, dtype=np.uint16).astype(np.float32)
    if column % 5 == 4:
        return np.floor(numbers / 4096)
    if column % 10 == 3:
        numbers[rng.random(n_rows, dtype=np.float32) < MISSING] = np.nan
    return numbers


def make_target(rng: np.random.Generator, columns: list[np.ndarray], words: list[np.ndarray]) -> np.ndarray:
    """Make two classes from a few of the columns, with some noise."""
    scaled = [np.nan_to_num(values, nan=32768.0) / 32768.0 - 1.0 for values in columns[:8]]
    score = scaled[0] + scaled[1] * scaled[2] + np.abs(scaled[3]) - 0.5 + scaled[5] * (scaled[6] > 0)
    if words:
        score += 0.5 * (words[0] < 3)
    is_flipped = rng.random(len(score), dtype=np.float32) < NOISE
    return ((score > 0.2) ^ is_flipped).astype(np.int8)


def write_parquet(folder: Path, n_rows: int, n_columns: int, n_words: int, rows_per_file: int) -> list[Path]:
    """Write Parquet files; those that are there, of a run before, stay."""
    folder.mkdir(parents=True, exist_ok=True)
    paths: list[Path] = []
    writer = None
    per_file = max(1, rows_per_file // BATCH_ROWS)
    done = folder / "whole"
    if done.exists():
        return sorted(folder.glob("*.parquet"))
    for table, number in make_batches(n_rows, n_columns, n_words=n_words):
        if number % per_file == 0:
            if writer is not None:
                writer.close()
            paths.append(folder / f"part-{number // per_file:04}.parquet")
            writer = pq.ParquetWriter(paths[-1], table.schema)
        assert writer is not None
        writer.write_table(table)
    if writer is not None:
        writer.close()
    done.touch()
    return paths
