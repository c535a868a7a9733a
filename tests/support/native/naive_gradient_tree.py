"""Trees of gradient boosting, grown slowly: the twin of the leaf-wise grower, in plain sums of doubles."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mpboost import _native

from .naive_tree import MISSING, as_columns, find_leaves, read_sets, read_splits

IMAGINED_ROWS = 10  # of a categorical feature, on both sides of its splits
FREE_CATEGORIES = 5  # of which nothing is taken off
CHANCE_SHARE = 0.75
NO_BOUNDS = (-np.inf, np.inf)


@dataclass(frozen=True)
class Problem:
    """A minipatch, limits and constraints. Codes are of all columns, [column][row]; derivatives of the patch's rows."""

    codes: NDArray[np.uint8]
    gradients: NDArray[np.float64]
    hessians: NDArray[np.float64]
    rows: NDArray[np.int64] | None = None
    features: NDArray[np.int64] | None = None
    is_categorical: NDArray[np.bool_] | None = None
    monotonic: NDArray[np.int8] | None = None
    interactions: tuple[tuple[int, ...], ...] | None = None
    seed: int = 0
    iteration: int = 0
    max_leaf_nodes: int = 31
    max_depth: int = 0
    min_samples_leaf: int = 1
    l2_regularization: float = 0.0
    max_bins: int = 255

    def __post_init__(self) -> None:
        n_columns, n_rows = self.codes.shape
        defaults = {
            "rows": np.arange(n_rows),
            "features": np.arange(n_columns),
            "is_categorical": np.zeros(n_columns, dtype=bool),
            "monotonic": np.zeros(n_columns, dtype=np.int8),
        }
        for name, value in defaults.items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, value)
        object.__setattr__(self, "monotonic", np.where(self.is_categorical, 0, self.monotonic).astype(np.int8))

    @cached_property
    def patch_codes(self) -> NDArray[np.uint8]:
        return self.codes[:, self.rows]

    def make_grower(self) -> _native.GradientGrower:
        limits = self.max_leaf_nodes, self.max_depth, self.min_samples_leaf, self.l2_regularization, self.max_bins
        return _native.GradientGrower(*limits)

    def grow(self, grower: _native.GradientGrower | None = None) -> _native.GradientTree:
        sets = self.interactions
        offsets = None if sets is None else np.cumsum([0, *map(len, sets)])
        members = None if sets is None else np.array([j for members in sets for j in members], dtype=np.int64)
        patch = self.rows, self.features, self.gradients, self.hessians, self.seed, self.iteration
        constraints = self.is_categorical, self.monotonic, offsets, members
        return (grower or self.make_grower()).grow(as_columns(self.codes), *patch, *constraints)

    @cached_property
    def units(self) -> tuple[float, float]:
        """What gradients and hessians are rounded to multiples of."""
        n = len(self.rows)
        rest = 64 - n.bit_length()
        hessian_bits = min(28, max(rest - 30, rest * 3 // 7))
        gradient_bits = min(30, rest - hessian_bits)
        largest = 2.0 ** (gradient_bits - 1) - 2 - n, 2.0**hessian_bits - 2
        return np.abs(self.gradients).sum() / largest[0], self.hessians.sum() / largest[1]

    def step(self, g: NDArray | float, h: NDArray | float, extra_l2: float = 0.0) -> NDArray:
        """Give Newton steps; none where the second derivative is less than half a unit."""
        g, h = np.broadcast_arrays(np.asarray(g, dtype=float), h + self.l2_regularization + extra_l2)
        return np.divide(-g, h, out=np.zeros(g.shape), where=h > self.units[1] / 2)

    def find_cuts(self, column: int) -> NDArray[np.int64]:
        """Find the last codes of the bins of a numeric column, which are coarser where there would be too many."""
        codes = self.codes[column]
        n_bins = int(codes[codes != MISSING].max(initial=0)) + 1
        shift = next(s for s in range(9) if ((n_bins - 1) >> s) + 1 <= self.max_bins)
        offset = draw_bits(self.seed, self.iteration, column) % (1 << shift)
        n_coarse = ((n_bins - 1 + offset) >> shift) + 1
        return ((np.arange(n_coarse) + 1) << shift) - 1 - offset

    def may_use(self, column: int, used: frozenset[int]) -> bool:
        return self.interactions is None or any(used | {column} <= set(members) for members in self.interactions)


def draw_bits(seed: int, iteration: int, index: int) -> int:
    """Draw what the native stream of thresholds draws."""
    step, all_bits, thresholds = 0x9E3779B97F4A7C15, 2**64 - 1, 7

    def mix(z: int) -> int:
        z &= all_bits
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & all_bits
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & all_bits
        return z ^ (z >> 31)

    state = mix(mix(mix(seed + step) + iteration + step) + thresholds)
    return mix(state + (index + 1) * step)


@dataclass
class Node:
    """Rows of a patch (by their places in it); a leaf, or split into two."""

    rows: NDArray[np.int64]
    value: float
    depth: int = 0
    bounds: tuple[float, float] = NO_BOUNDS
    used: frozenset[int] = frozenset()
    gain: float = 0.0
    feature: int = -1
    children: list["Node"] = field(default_factory=list)


def find_gains(problem: Problem, node: Node, g, h, extra_l2: float = 0.0):
    """Give the gains of splits whose left sides have these sums of derivatives."""
    l2 = problem.l2_regularization + extra_l2
    total_g, total_h = problem.gradients[node.rows].sum(), problem.hessians[node.rows].sum()

    def fall(g, h):
        value = np.clip(problem.step(g, h, extra_l2), *node.bounds)
        return -value * (2 * g + (h + l2) * value)

    return fall(g, h) + fall(total_g - g, total_h - h) - fall(total_g, total_h)


def find_extra_l2(problem: Problem, node: Node, column: int) -> float:
    return IMAGINED_ROWS * problem.hessians[node.rows].mean() if problem.is_categorical[column] else 0.0


def find_chance(problem: Problem, node: Node, column: int) -> float:
    """Give what is taken off the gains of a categorical feature."""
    hessian = problem.hessians[node.rows].sum() + problem.l2_regularization
    if not problem.is_categorical[column] or hessian == 0:
        return 0.0
    rest = problem.gradients[node.rows] + problem.hessians[node.rows] * node.value
    n_categories = len(np.unique(problem.patch_codes[column, node.rows]))
    return CHANCE_SHARE * max(0, n_categories - FREE_CATEGORIES) * (rest @ rest) / hessian


def list_numeric(problem: Problem, node: Node, column: int) -> tuple[NDArray, NDArray]:
    """List what rows of a node go left by each threshold, [split][row], and which splits are monotonic."""
    codes = problem.patch_codes[column, node.rows].astype(int)
    is_missing = codes == MISSING
    below = (codes <= problem.find_cuts(column)[:, None]) & ~is_missing
    goes_left = np.stack([below, below | is_missing], axis=1).reshape(-1, len(codes))
    g, h = goes_left @ problem.gradients[node.rows], goes_left @ problem.hessians[node.rows]
    rest_g, rest_h = (x[node.rows].sum() - s for x, s in ((problem.gradients, g), (problem.hessians, h)))
    rise = problem.step(rest_g, rest_h) - problem.step(g, h)
    return goes_left, problem.monotonic[column] * rise >= 0


def list_categorical(problem: Problem, node: Node, column: int) -> tuple[NDArray, NDArray]:
    """List the same for the categories that are there, in the order of their values."""
    codes = problem.patch_codes[column, node.rows]
    members = np.unique(codes)[:, None] == codes  # missing ones come last
    g, h = members @ problem.gradients[node.rows], members @ problem.hessians[node.rows]
    h += find_extra_l2(problem, node, column)
    order = np.argsort(g / np.where(h > 0, h, 1.0), kind="stable")
    goes_left = np.cumsum(members[order], axis=0).astype(bool)[:-1]
    return goes_left, np.ones(len(goes_left), dtype=bool)


def find_best(problem: Problem, node: Node) -> tuple[float, int, NDArray[np.bool_]]:
    """Find the gain, column and left rows of a node's best split; the gain is 0 where no split is good."""
    units = problem.units
    hessian = problem.hessians[node.rows].sum() + problem.l2_regularization
    noise = 2 * len(node.rows) * (units[0] ** 2 + (node.value * units[1]) ** 2) / hessian if hessian > 0 else 0.0
    best = noise, -1, np.zeros(len(node.rows), dtype=bool)
    at_limit = problem.max_depth and node.depth >= problem.max_depth
    if at_limit or len(node.rows) < 2 * problem.min_samples_leaf or min(units) == 0:
        return 0.0, *best[1:]
    for column in sorted(problem.features.tolist(), key=lambda j: problem.is_categorical[j]):
        if not problem.may_use(column, node.used):
            continue
        listing = list_categorical if problem.is_categorical[column] else list_numeric
        goes_left, is_allowed = listing(problem, node, column)
        smaller = np.minimum(goes_left.sum(axis=1), (~goes_left).sum(axis=1))
        goes_left = goes_left[is_allowed & (smaller >= problem.min_samples_leaf)]
        g, h = goes_left @ problem.gradients[node.rows], goes_left @ problem.hessians[node.rows]
        gains = find_gains(problem, node, g, h, find_extra_l2(problem, node, column))
        gains -= find_chance(problem, node, column)
        if len(gains) and gains.max() > best[0]:
            best = float(gains.max()), column, goes_left[gains.argmax()]
    return best if best[1] >= 0 else (0.0, *best[1:])


def make_children(problem: Problem, node: Node, column: int, goes_left: NDArray[np.bool_]) -> list[Node]:
    """Make the two sides of a split, within what monotonic features leave to them."""
    children = []
    for rows in (node.rows[goes_left], node.rows[~goes_left]):
        value = np.clip(problem.step(problem.gradients[rows].sum(), problem.hessians[rows].sum()), *node.bounds)
        children.append(Node(rows, float(value), node.depth + 1, node.bounds, node.used | {column}))
    if direction := problem.monotonic[column]:
        middle = (children[0].value + children[1].value) / 2
        lower, upper = children[:: int(direction)]
        lower.bounds, upper.bounds = (node.bounds[0], middle), (middle, node.bounds[1])
    return children


def make_root(problem: Problem) -> Node:
    rows = np.arange(len(problem.rows))
    return Node(rows, float(problem.step(problem.gradients.sum(), problem.hessians.sum())))


def grow_naively(problem: Problem) -> Node:
    """Grow a tree: the best split of all leaves first."""
    root = make_root(problem)
    leaves = [(root, find_best(problem, root))]
    while len(leaves) < problem.max_leaf_nodes:
        k = max(range(len(leaves)), key=lambda k: leaves[k][1][0])
        node, (gain, column, goes_left) = leaves[k]
        if gain <= 0:
            break
        node.gain, node.feature, node.children = gain, column, make_children(problem, node, column, goes_left)
        leaves[k : k + 1] = [(child, find_best(problem, child)) for child in node.children]
    return root


def read_tree(problem: Problem, grown: _native.GradientTree) -> tuple[Node, list[Node], list[Node]]:
    """Read a grown tree as nodes, with what the grower says of them: the root, all splits and all leaves in order."""
    splits, sets = read_splits(grown.tree), read_sets(grown.tree)
    leaf_of = find_leaves(splits, problem.patch_codes, sets)
    leaves = [Node(np.flatnonzero(leaf_of == k), value) for k, value in enumerate(grown.tree.leaf_values)]
    nodes = [Node(np.empty(0, dtype=int), value) for value in grown.split_values]
    for node, split, gain in reversed(list(zip(nodes, splits, grown.gains, strict=True))):
        node.children = [nodes[k] if k >= 0 else leaves[~k] for k in (split["left"], split["right"])]
        node.rows = np.sort(np.concatenate([child.rows for child in node.children]))
        node.gain, node.feature = float(gain), int(split["feature"])
    for node in nodes:  # parents come first
        goes_left = np.isin(node.rows, node.children[0].rows)
        for child, made in zip(node.children, make_children(problem, node, node.feature, goes_left), strict=True):
            child.depth, child.bounds, child.used = made.depth, made.bounds, made.used
    return (nodes or leaves)[0], nodes, leaves


def describe(root: Node) -> dict[bytes, tuple[int, frozenset[bytes]]]:
    """Describe each split by its rows: the feature and both sides, whichever is left."""
    found, pending = {}, [root]
    while pending:
        node = pending.pop()
        if node.children:
            found[node.rows.tobytes()] = node.feature, frozenset(child.rows.tobytes() for child in node.children)
            pending += node.children
    return found


def tolerances(problem: Problem, node: Node) -> tuple[float, float]:
    """Say how far the value of a node and the gain of its split can be off by rounding derivatives to units.

    What is cut off a row goes to the next one, so that a row is off by the difference of two numbers from -1/2 to 1/2,
    with a variance of 1/6; six deviations of a sum are 2.5 sqrt(n).
    """
    gradient, hessian = (unit * (1 + 2.5 * np.sqrt(len(node.rows))) for unit in problem.units)
    off, gain = [], 0.0
    for part in (node, *node.children):
        g, h = problem.gradients[part.rows].sum(), problem.hessians[part.rows].sum()
        value = abs(float(problem.step(g, h)))
        h = max(h + problem.l2_regularization - hessian, problem.units[1] / 2) or 1.0
        off.append((gradient + value * hessian) / h)
        gain += 2 * value * gradient + value**2 * hessian + (gradient + value * hessian) ** 2 / h
    return off[0] + 1e-12 * abs(node.value), gain + 1e-12 * abs(node.gain)


def check_tree(problem: Problem, grown: _native.GradientTree) -> None:
    """Check a tree against its rows: limits, values, gains, and that no better split was passed over."""
    root, splits, leaves = read_tree(problem, grown)
    assert len(leaves) <= problem.max_leaf_nodes
    for node in (*splits, *leaves):
        expected = problem.step(problem.gradients[node.rows].sum(), problem.hessians[node.rows].sum())
        expected = np.clip(expected, *node.bounds)
        assert abs(node.value - expected) <= tolerances(problem, node)[0]
        assert not problem.max_depth or node.depth <= problem.max_depth
        assert node is root or len(node.rows) >= problem.min_samples_leaf
    for node, record in zip(splits, read_splits(grown.tree), strict=True):
        assert problem.may_use(node.feature, node.used)
        assert record["categories"] >= 0 or record["bin"] in np.minimum(problem.find_cuts(node.feature), 254)
        tolerance = tolerances(problem, node)[1]
        left = node.children[0].rows
        sums = problem.gradients[left].sum(), problem.hessians[left].sum()
        gain = find_gains(problem, node, *sums, find_extra_l2(problem, node, node.feature))
        gain -= find_chance(problem, node, node.feature)
        assert abs(node.gain - gain) <= tolerance
        assert find_best(problem, node)[0] <= gain + 2 * tolerance + 1e-6 * gain  # scores are in single precision
    check_order(problem, root, leaves)


def check_order(problem: Problem, root: Node, leaves: list[Node]) -> None:
    """Check that the best split of all leaves came first, but for rounding, and that none was left without need."""
    left_out = {id(leaf): find_best(problem, leaf)[0] for leaf in leaves}
    pending = [root]
    while any(node.children for node in pending):
        best = max((node for node in pending if node.children), key=lambda node: node.gain)
        limit = best.gain * (1 + 1e-6) + tolerances(problem, best)[1]
        for node in pending:
            assert node.children or left_out[id(node)] <= limit + tolerances(problem, node)[1]
        pending = [node for node in pending if node is not best] + best.children
    if len(leaves) < problem.max_leaf_nodes:
        assert all(left_out[id(leaf)] <= 2 * tolerances(problem, leaf)[1] for leaf in leaves)
