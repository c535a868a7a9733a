"""Steps 3 to 5 of Algorithm 1 for many classes, against the same in plain NumPy and against the binary pass."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpboost import _native
from tests.support.native.naive_class_votes import add_naively, count_rival_votes, weigh_naively
from tests.support.native.naive_tree import as_columns, make_random_codes, make_random_splits, make_tree

COUNTS = [np.uint16, np.int32]
OUTPUTS = ["votes", "oop_votes", "rivals", "oop_rivals"]


def make_state(seed, n_rows, n_classes, dtype=np.int32, n_votes=4, weighted=True):
    """Make counts as earlier learners may have left them; few votes, so that ties are common."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_classes, size=n_rows, dtype=np.uint16)
    votes = rng.integers(n_votes, size=(n_rows, n_classes), endpoint=True).astype(dtype)
    oop_votes = np.minimum(votes, rng.integers(n_votes, size=votes.shape)).astype(dtype)
    return {
        "new_votes": rng.integers(n_classes, size=n_rows, dtype=np.uint16),
        "patch": np.sort(rng.permutation(n_rows)[: n_rows // 3]),
        "labels": labels,
        "votes": votes,
        "oop_votes": oop_votes,
        "rivals": count_rival_votes(votes, labels),
        "oop_rivals": count_rival_votes(oop_votes, labels),
        "ranks": rng.permutation(n_classes).astype(np.uint16),
        "sample_weights": 10.0 ** rng.uniform(-3, 3, n_rows) if weighted else None,
    }


def make_colours(rng, state):
    """Turn the votes for classes into votes for colours."""
    n_rows, n_classes = state["votes"].shape
    colours = rng.choice([-1, 1], n_classes).astype(np.int8)
    return state | {"new_votes": rng.choice([-1, 1], n_rows).astype(np.int8), "colours": colours}


def assert_adds_as_naive(add, state, supported, threads):
    sums, expected = add_naively(state, supported)
    assert add(**state, threads=threads) == sums  # to the last bit
    for name in OUTPUTS:
        np.testing.assert_array_equal(state[name], expected[name])


def support_classes(state):
    return state["new_votes"][:, None] == np.arange(state["votes"].shape[1])


@pytest.mark.parametrize("dtype", COUNTS)
@pytest.mark.parametrize("n_threads", [1, 2, 4])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize(
    ("n_rows", "n_classes"), [(0, 3), (1, 1), (1, 3), (1023, 2), (1025, 7), (30_000, 4), (9000, 26)]
)
def test_add_class_votes_matches_naive(dtype, n_threads, weighted, n_rows, n_classes):
    threads = _native.Threads(n_threads)
    state = make_state(n_rows, n_rows, n_classes, dtype, weighted=weighted and n_rows > 0)
    assert_adds_as_naive(_native.add_class_votes, state, support_classes(state), threads)
    state = make_colours(np.random.default_rng(0), state)
    supported = state["new_votes"][:, None] == state["colours"]
    assert_adds_as_naive(_native.add_colour_votes, state, supported, threads)


@given(
    seed=st.integers(0, 2**32),
    n_rows=st.integers(1, 40),
    n_classes=st.integers(1, 300),
    n_votes=st.integers(1, 300),
    dtype=st.sampled_from(COUNTS),
)
def test_add_class_votes_matches_naive_on_any_counts(seed, n_rows, n_classes, n_votes, dtype):
    threads, state = _native.Threads(1), make_state(seed, n_rows, n_classes, dtype, n_votes)
    assert_adds_as_naive(_native.add_class_votes, state, support_classes(state), threads)
    state = make_colours(np.random.default_rng(seed), state)
    assert_adds_as_naive(_native.add_colour_votes, state, state["new_votes"][:, None] == state["colours"], threads)


@pytest.mark.parametrize("dtype", COUNTS)
@pytest.mark.parametrize(
    ("votes", "oop_votes", "vote", "ranks", "expected"),
    [
        pytest.param([1, 0, 0], [0, 0, 0], 0, [0, 1, 2], (1, 1), id="right"),
        pytest.param([1, 2, 0], [0, 0, 0], 2, [2, 1, 0], (0, 0), id="wrong"),
        pytest.param([1, 0, 0], [1, 0, 0], 2, [2, 1, 0], (1, 0), id="a tie for the highest rank, wrong out of patch"),
        pytest.param([1, 0, 0], [1, 0, 0], 2, [1, 2, 0], (1, 0), id="a class without votes has no part in a tie"),
        pytest.param([1, 0, 0], [2, 0, 0], 2, [1, 0, 2], (0, 1), id="a tie for a higher rank"),
        pytest.param([1, 1, 0], [0, 0, 0], 2, [2, 1, 0], (1, 0), id="a tie of three"),
        pytest.param([1, 1, 0], [0, 0, 0], 2, [1, 2, 0], (0, 0), id="a tie of three for a higher rank"),
    ],
)
def test_add_class_votes_judges_a_row(threads, dtype, votes, oop_votes, vote, ranks, expected):
    labels, nobody = np.zeros(1, dtype=np.uint16), np.empty(0, dtype=np.int64)
    for weight in (None, np.array([2.5])):
        counts = [np.array([numbers], dtype=dtype) for numbers in (votes, oop_votes)]
        rivals = [count_rival_votes(count, labels) for count in counts]
        new, order = np.array([vote], dtype=np.uint16), np.array(ranks, dtype=np.uint16)
        factor = 1.0 if weight is None else 2.5
        sums = _native.add_class_votes(new, nobody, labels, *counts, *rivals, order, weight, threads)
        assert sums == (factor * expected[0], factor * expected[1])


def test_add_class_votes_gives_no_right_to_a_row_without_votes_out_of_patch(threads):
    one, none = np.ones((1, 2), dtype=np.int32), np.zeros((1, 2), dtype=np.int32)
    label, rivals = np.zeros(1, dtype=np.uint16), np.zeros((2, 1), dtype=np.int32)
    rivals[0] = 1
    ranks = np.array([0, 1], dtype=np.uint16)
    sums = _native.add_class_votes(label, np.array([0]), label, one, none, *rivals, ranks, None, threads)
    assert sums == (1, 0)
    assert not none.any()


@pytest.mark.parametrize("dtype", COUNTS)
@pytest.mark.parametrize("n_splits", [0, 20, 3000])
@pytest.mark.parametrize(("n_rows", "n_threads"), [(1, 1), (1100, 1), (20_001, 1), (20_001, 3)])
def test_add_class_votes_of_a_tree_are_those_that_it_writes(kernels, n_rows, n_threads, n_splits, dtype):
    rng, threads = np.random.default_rng(n_rows + n_splits), _native.Threads(n_threads)
    splits = make_random_splits(rng, n_splits, 9)
    columns = as_columns(make_random_codes(rng, 9, n_rows))
    for make, values, apply, add in (
        (lambda state: state, rng.integers(5, size=n_splits + 1), "apply_classes", _native.add_class_votes),
        (partial(make_colours, rng), rng.choice([-1, 1], n_splits + 1), "apply_votes", _native.add_colour_votes),
    ):
        tree = make_tree(splits, values.astype(np.float64), 9)
        written = make(make_state(0, n_rows, 5, dtype))
        applied = {name: array.copy() for name, array in written.items()}
        getattr(tree, apply)(columns, written["new_votes"], threads)
        sums = add(**written, threads=threads)
        assert add(**(applied | {"new_votes": _native.AppliedTree(tree, columns)}), threads=threads) == sums
        for name in OUTPUTS:
            np.testing.assert_array_equal(applied[name], written[name])


def test_add_class_votes_rejects_trees_of_other_classes(threads):
    tree = make_tree(make_random_splits(np.random.default_rng(0), 1, 9), np.array([0.0, 3.0]), 9)
    columns = as_columns(np.zeros((9, 10), dtype=np.uint8))
    state = make_state(0, 10, 3) | {"new_votes": _native.AppliedTree(tree, columns)}
    with pytest.raises(ValueError, match="no class"):
        _native.add_class_votes(**state, threads=threads)


@pytest.mark.parametrize("dtype", COUNTS)
@pytest.mark.parametrize("tie_label", [-1, 1])
def test_two_classes_are_the_binary_algorithm(dtype, tie_label):
    rng = np.random.default_rng(0)
    n_rows, n_learners, threads = 3000, 9, _native.Threads(2)
    classes = rng.integers(2, size=n_rows, dtype=np.uint16)
    labels = (2 * classes.astype(np.int8) - 1).astype(np.int8)
    ranks = np.array([tie_label < 0, tie_label > 0], dtype=np.uint16)
    weights = 10.0 ** rng.uniform(-3, 3, n_rows)
    table = -0.3 * np.arange(-n_learners, n_learners + 1)
    total, in_patch, in_patch_counts, rivals, oop_rivals = np.zeros((5, n_rows), dtype=np.int32)
    votes, oop_votes = np.zeros((2, n_rows, 2), dtype=dtype)
    many = np.empty((3, n_rows))
    for n in range(1, n_learners + 1):
        voted = rng.integers(2, size=n_rows, dtype=np.uint16)
        signs = (2 * voted.astype(np.int8) - 1).astype(np.int8)
        patch = np.sort(rng.permutation(n_rows)[:700])
        expected = _native.add_votes(
            signs, patch, labels, total, in_patch, in_patch_counts, tie_label, weights, threads
        )
        outputs = votes, oop_votes, rivals, oop_rivals
        assert _native.add_class_votes(voted, patch, classes, *outputs, ranks, weights, threads) == expected
        np.testing.assert_array_equal(votes[:, 1].astype(int) - votes[:, 0], total)
        np.testing.assert_array_equal(oop_votes[:, 1].astype(int) - oop_votes[:, 0], total - in_patch)
        _native.weigh_margins(classes, votes, rivals, table, many[0], np.log(weights), threads)
        _native.weigh_confusions(classes, votes, None, table, many[1], np.log(weights), threads)
        _native.weigh_one_against_rest(classes, votes, n, table, many[2], np.log(weights), threads)
        binary = table[n_learners + labels * total] + np.log(weights)
        np.testing.assert_array_equal(many[0], binary)
        np.testing.assert_array_equal(many[1], binary)
        np.testing.assert_allclose(many[2], binary + np.log(2), rtol=0, atol=1e-14)  # both classes say the same


def make_table(kind, n_votes):
    margins = np.arange(-n_votes, n_votes + 1, dtype=np.float64)
    return {
        "logistic": -np.logaddexp(0, margins),
        "exponential": -margins,
        "steep": -700.0 * margins,
        "hard": np.where(margins > 0, -np.inf, 0.0),
        "bell": -100.0 * (margins - 3.0) ** 2,
        "growing": 700.0 * margins,
        "nowhere": np.full(len(margins), -np.inf),
    }[kind]


@pytest.mark.parametrize("dtype", COUNTS)
@pytest.mark.parametrize("kind", ["logistic", "exponential", "steep", "bell", "growing", "hard", "nowhere"])
@pytest.mark.parametrize("n_classes", [1, 2, 3, 10, 100])
@pytest.mark.parametrize("weighted", [True, False])
def test_weights_match_naive(dtype, kind, n_classes, weighted):
    n_rows, n_votes, rng = 2000, 40, np.random.default_rng(n_classes)
    state = make_state(0, n_rows, n_classes, dtype, n_votes)
    labels, votes, table = state["labels"], state["votes"], make_table(kind, n_votes)
    extra = rng.normal(size=n_rows) if weighted else None
    F = votes.astype(np.int64)
    own, is_own = F[np.arange(n_rows), labels][:, None], labels[:, None] == np.arange(n_classes)
    colours = rng.choice([-1, 1], n_classes).astype(np.int8)
    is_other = colours[labels][:, None] != colours
    against_rest = np.where(is_own, 2 * F - n_votes, n_votes - 2 * F)
    rivals = count_rival_votes(votes, labels)
    cases = [
        (_native.weigh_margins, rivals, own - rivals[:, None], np.ones((n_rows, 1), dtype=bool)),
        (_native.weigh_confusions, None, own - F, ~is_own),
        (_native.weigh_confusions, colours, own - F, is_other),
        (_native.weigh_one_against_rest, n_votes, against_rest, np.ones_like(is_own)),
    ]
    for weigh, argument, margins, is_term in cases:
        results = []
        for n_threads in (1, 2, 4):
            results.append(np.empty(n_rows))
            weigh(labels, votes, argument, table, results[-1], extra, _native.Threads(n_threads))
        with np.errstate(divide="ignore"):
            expected = weigh_naively(table, margins, is_term) + (0.0 if extra is None else extra)
        np.testing.assert_allclose(results[0], expected, rtol=1e-14, atol=1e-13)
        assert results[0].tobytes() == results[1].tobytes() == results[2].tobytes()


def test_weights_are_the_same_for_any_number_of_threads():
    state, table = make_state(0, 50_000, 5), make_table("logistic", 8)
    for weigh, argument in [(_native.weigh_confusions, None), (_native.weigh_one_against_rest, 4)]:
        one, four = np.empty((2, 50_000))
        weigh(state["labels"], state["votes"], argument, table, one, None, _native.Threads(1))
        weigh(state["labels"], state["votes"], argument, table, four, None, _native.Threads(4))
        assert one.tobytes() == four.tobytes()


@pytest.mark.parametrize("n_entries", [0, 4, 5])
def test_weights_reject_a_table_that_is_too_short(threads, n_entries):
    labels, votes, out = np.zeros(1, dtype=np.uint16), np.array([[0, 3]], dtype=np.int32), np.empty(1)
    rivals = np.array([3], dtype=np.int32)
    cases = [(_native.weigh_margins, rivals), (_native.weigh_confusions, None), (_native.weigh_one_against_rest, 3)]
    for weigh, argument in cases:
        for order in (votes, votes[:, ::-1].copy()):  # a margin below, or above
            below = rivals if order is votes else np.array([0], dtype=np.int32)
            with pytest.raises(ValueError, match="table"):
                weigh(labels, order, below if argument is rivals else argument, np.zeros(n_entries), out, None, threads)


@pytest.mark.parametrize(
    ("name", "wrong", "message"),
    [
        pytest.param("new_votes", np.zeros(9, dtype=np.uint16), "one entry per row", id="few votes"),
        pytest.param("new_votes", np.full(10, 3, dtype=np.uint16), "class that does not exist", id="vote too large"),
        pytest.param("labels", np.zeros(11, dtype=np.uint16), "one entry per row", id="many labels"),
        pytest.param("labels", np.full(10, 3, dtype=np.uint16), "class that does not exist", id="label too large"),
        pytest.param("oop_votes", np.zeros((10, 2), dtype=np.int32), "one shape", id="other classes"),
        pytest.param("oop_votes", np.zeros((9, 3), dtype=np.int32), "one shape", id="other rows"),
        pytest.param("rivals", np.zeros(9, dtype=np.int32), "one entry per row", id="few rivals"),
        pytest.param("oop_rivals", np.zeros(9, dtype=np.int32), "one entry per row", id="few oop_rivals"),
        pytest.param("ranks", np.zeros(2, dtype=np.uint16), "one entry per class", id="few ranks"),
        pytest.param("sample_weights", np.zeros(9), "one entry per row", id="few weights"),
        pytest.param("patch", np.array([0, 10]), "row that does not exist", id="row too large"),
        pytest.param("patch", np.array([-1, 1]), "row that does not exist", id="negative row"),
        pytest.param("patch", np.array([1, 0]), "ascending", id="descending patch"),
        pytest.param("patch", np.array([1, 1]), "ascending", id="row twice"),
    ],
)
def test_add_class_votes_rejects_wrong_arguments(threads, name, wrong, message):
    state = make_state(0, 10, 3) | {name: wrong}
    with pytest.raises(ValueError, match=message):
        _native.add_class_votes(**state, threads=threads)
    if name != "new_votes":
        with pytest.raises(ValueError, match=message):
            _native.add_colour_votes(
                **(make_colours(np.random.default_rng(0), make_state(0, 10, 3)) | {name: wrong}), threads=threads
            )


@pytest.mark.parametrize(("name", "message"), [("new_votes", "one entry per row"), ("colours", "one entry per class")])
def test_add_colour_votes_rejects_other_sizes(threads, name, message):
    state = make_colours(np.random.default_rng(0), make_state(0, 10, 3)) | {name: np.ones(4, dtype=np.int8)}
    with pytest.raises(ValueError, match=message):
        _native.add_colour_votes(**state, threads=threads)


@pytest.mark.parametrize("name", OUTPUTS)
def test_add_class_votes_rejects_outputs_that_it_cannot_write(threads, name):
    state = make_state(0, 10, 3)
    state[name].flags.writeable = False
    with pytest.raises(TypeError):
        _native.add_class_votes(**state, threads=threads)


@pytest.mark.parametrize(
    ("position", "wrong", "message"),
    [
        pytest.param(0, np.zeros(9, dtype=np.uint16), "one entry per row", id="few labels"),
        pytest.param(0, np.full(10, 3, dtype=np.uint16), "class that does not exist", id="label too large"),
        pytest.param(2, np.zeros(9, dtype=np.int32), "one entry per row", id="few rivals"),
        pytest.param(4, np.empty(9), "one entry per row", id="few log-weights"),
        pytest.param(5, np.zeros(9), "one entry per row", id="few log-weights of rows"),
    ],
)
def test_weights_reject_wrong_arguments(threads, position, wrong, message):
    state, table = make_state(0, 10, 3), make_table("logistic", 9)
    third = {_native.weigh_margins: state["rivals"], _native.weigh_confusions: None, _native.weigh_one_against_rest: 4}
    for weigh, argument in third.items():
        if position != 2 or weigh is _native.weigh_margins:
            arguments = [state["labels"], state["votes"], argument, table, np.empty(10), np.zeros(10)]
            arguments[position] = wrong
            with pytest.raises(ValueError, match=message):
                weigh(*arguments, threads)


def test_weights_reject_other_colours_and_numbers_of_learners(threads):
    state, table, out = make_state(0, 10, 3), make_table("logistic", 9), np.empty(10)
    with pytest.raises(ValueError, match="one entry per class"):
        _native.weigh_confusions(state["labels"], state["votes"], np.ones(2, dtype=np.int8), table, out, None, threads)
    for n_learners in (-1, 2**31):
        with pytest.raises(ValueError, match="n_learners"):
            _native.weigh_one_against_rest(state["labels"], state["votes"], n_learners, table, out, None, threads)
