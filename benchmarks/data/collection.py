"""All sets of the data folder: each file in the form in which it is usually learned, and the paper's two of MNIST."""

from dataclasses import replace

from benchmarks.data.files import find_file
from benchmarks.data.sets import ALL_SETS, MORE_SETS, load_set, split
from benchmarks.data.split_set import SplitSet
from benchmarks.data.words import NUMBERS, TARGETS, read_words

#: Large sets first, so that no worker is left alone with one of them at the end.
COLLECTION = (
    *("covertype", "MNIST", "CIFAR truck/car", "MNIST odd/even", "MNIST 3 vs 8", "letter", "adult", "census_income"),
    *("higgs", "magic", "california housing", "bike sharing", "melbourne_houses", "cpu act", "gas drift", "relathe"),
    *(
        "jasmine",
        "dna",
        "madelon",
        "spambase",
        "telco_churn",
        "hill-valley",
        "german_credit",
        "contraceptive",
        "anneal",
    ),
    *MORE_SETS,
)


def load_split(name: str, seed: int, n_rows: int | None = None) -> SplitSet:
    """Load a set of the collection and split it as ``split`` does."""
    if name not in TARGETS:
        return split(name, load_set(name), seed, n_rows)
    X, y, categorical = read_words(name)
    split_set = split(name, {"X": X, "y": y}, seed, n_rows)
    return replace(split_set, categorical=categorical, is_regression=name in NUMBERS)


def find_all(names: list[str]) -> None:
    """Raise a DataNotFoundError if one of these sets is not to be had."""
    for name in names:
        if name in TARGETS:
            read_words(name)
        else:
            find_file(ALL_SETS[name].file)
