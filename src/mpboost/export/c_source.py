"""Writes models as C: one file with tables of numbers and a few short functions, which needs a C99 compiler alone."""

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from mpboost._versions import find_version
from mpboost.data.categories import MISSING
from mpboost.estimators.base import MinipatchBooster
from mpboost.export.description import Description, describe_model
from mpboost.export.endings import ClassScores, LogOdds, ManyClassVotes, MeanValue, RawValue, TwoClassVotes
from mpboost.outputs.calibration import MAX_LOGIT

#: Words that may not be the name of the functions, since they would not be valid C.
VALID_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

WIDTH = 120

#: Trees that a row goes through at the same time: half as fast again as one by one.
SIDE_BY_SIDE = 8


def to_c(model: MinipatchBooster, *, name: str = "model") -> str:
    """Convert a fitted model to the source of a C file that needs no library but the standard one.

    The file has tables and a few functions, whose names begin with ``name``. For a classifier ``name_predict(row,
    probabilities)`` returns the code of the class, its position in ``name_classes``, and writes the probabilities; they
    may be NULL. For a regressor ``name_predict(row)`` returns the number. A row is an array of ``NAME_N_FEATURES``
    doubles, in the order of ``name_features``, with NAN for missing values. The code of a category is computed by
    ``name_category(feature, text)``. The functions are safe to call from several threads.

    Parameters
    ----------
    model : estimator
        A fitted model of mpboost, with native trees. A loss of your own must have no ``inverse_link``.
    name : str, default="model"
        What the names of functions and tables begin with.

    Returns
    -------
    source : str
        A C99 file. Do not compile it with ``-ffast-math``, which cannot tell missing values.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mpboost import MPBoostClassifier
    >>> from mpboost.export import to_c
    >>> X, y = load_iris(return_X_y=True)
    >>> source = to_c(MPBoostClassifier(n_estimators=20, random_state=0).fit(X, y), name="iris")
    >>> [line for line in source.splitlines() if "iris_predict" in line]
    ['int iris_predict(const double *row, double *probabilities) {']
    """
    if not VALID_NAME.fullmatch(name):
        raise ValueError(f"name must be letters, digits and underscores, and begin with a letter, not {name!r}.")
    description = describe_model(model)
    parts = [
        _write_header(description, name),
        _write_features(description, name),
        _write_trees(description),
        _write_leaves(description),
        _write_sums(description),
        _write_ending(description, name),
    ]
    return "\n".join(parts)


def _write_header(description: Description, name: str) -> str:
    n_trees, n_features = len(description.trees), len(description.features)
    target = "" if description.target is None else f" of {description.target}"
    what = f"{description.estimator}{target}: {n_trees} trees, {n_features} features"
    lines = [
        f"/* {_plain(what)}. Exported by mpboost {find_version('mpboost')}. */",
        "#include <math.h>",
        "#include <stddef.h>",
        "#include <stdint.h>",
        "#include <string.h>",
        "",
        f"#define {name.upper()}_N_FEATURES {n_features}",
    ]
    if description.classes is not None:
        lines += [
            f"#define {name.upper()}_N_CLASSES {len(description.classes)}",
            "",
            _table(f"const char *const {name}_classes[]", map(_quote, description.classes.tolist()), is_public=True),
        ]
    return "\n".join(lines) + "\n"


def _write_features(description: Description, name: str) -> str:
    """Write names, edges of bins, and categories, and what turns a row into codes."""
    used = set(np.unique(description.trees.features).tolist())
    # Bins of features that no tree uses are not needed.
    edges = [
        feature.edges if number in used and feature.categories is None else np.array([])
        for number, feature in enumerate(description.features)
    ]
    n_codes = [0 if feature.categories is None else feature.n_codes for feature in description.features]
    offsets = np.cumsum([0, *map(len, edges)])
    parts = [
        _table(f"const char *const {name}_features[]", (_quote(f.name) for f in description.features), is_public=True),
        _table("double edges[]", map(_number, np.concatenate(edges))),
        _table("int32_t edge_offsets[]", offsets),
        _table("int16_t n_codes[]", n_codes),
    ]
    if description.has_categories:
        parts.append(_write_categories(description, name))
    lookup = """\
/* The code of a value: the number of edges below it, or that of a category; 255 is missing. */
static uint8_t code_of(int feature, double value) {
  if (isnan(value)) return 255;
  if (n_codes[feature] > 0) return value >= 0 && value < n_codes[feature] ? (uint8_t)value : 255;
  int32_t low = edge_offsets[feature], high = edge_offsets[feature + 1];
  while (low < high) {
    const int32_t middle = low + (high - low) / 2;
    if (value <= edges[middle])
      high = middle;
    else
      low = middle + 1;
  }
  return (uint8_t)(low - edge_offsets[feature]);
}
"""
    return "\n".join([*parts, lookup])


def _write_categories(description: Description, name: str) -> str:
    words = [list(map(str, f.categories.values)) if f.categories else [] for f in description.features]
    others = [len(f.categories.values) if f.categories and f.categories.has_other else -1 for f in description.features]
    offsets = np.cumsum([0, *map(len, words)])
    lookup = f"""\
/* The code of a category, to be put into a row: NAN if it did not occur in training. */
double {name}_category(int feature, const char *text) {{
  for (int32_t i = category_offsets[feature]; i < category_offsets[feature + 1]; ++i)
    if (strcmp(category_names[i], text) == 0) return i - category_offsets[feature];
  return other_codes[feature] < 0 ? NAN : other_codes[feature];
}}
"""
    return "\n".join(
        [
            _table("char *const category_names[]", (_quote(word) for each in words for word in each), empty='""'),
            _table("int32_t category_offsets[]", offsets),
            _table("int16_t other_codes[]", others),
            lookup,
        ]
    )


def _write_trees(description: Description) -> str:
    """Write the splits, and what finds the leaf of a row.

    A missing value has code 255. Where it goes left, one is added to all codes, so that it becomes 0, and to the bin:
    one comparison of bytes serves all splits on numbers.
    """
    trees = description.trees
    shift = trees.missing_left.astype(int)
    columns = [trees.left, trees.right, trees.features, np.minimum(trees.bins.astype(int) + shift, 255), shift]
    fields = "int32_t left, right, feature; uint8_t bin, shift;"
    test = "(uint8_t)(codes[split->feature] + split->shift) <= split->bin"
    sets = ""
    if len(trees.category_sets):
        fields = "int32_t left, right, feature, set; uint8_t bin, shift;"
        test = f"split->set < 0 ? {test} : is_member(sets[split->set], codes[split->feature])"
        columns.insert(3, trees.sets)
        sets = _write_sets(description)
    rows = (",".join(map(str, row)) for row in zip(*(column.tolist() for column in columns), strict=True))
    table = _table("struct Split splits[]", (f"{{{row}}}" for row in rows), empty="{0}")
    roots = np.append(trees.roots, np.full(-len(trees) % SIDE_BY_SIDE, -1))  # none are left over
    return f"""\
/* A child is the number of a split, or the complement (~) of the number of a leaf. */
struct Split {{ {fields} }};
{sets}{table}
{_table("int32_t roots[]", roots)}
static int32_t step(int32_t node, const uint8_t *codes) {{
  const struct Split *split = &splits[node < 0 ? 0 : node];
  const int32_t next = ({test}) ? split->left : split->right;
  return node < 0 ? node : next;
}}

/* Some trees side by side: the processor need not wait for a step in one before it takes a step in the next. */
static void find_leaves(int32_t *nodes, const uint8_t *codes) {{
  int32_t all;
  do {{
    all = -1;
    for (int k = 0; k < {SIDE_BY_SIDE}; ++k) all &= nodes[k] = step(nodes[k], codes);
  }} while (all >= 0); /* until all are negative */
}}
"""


def _write_sets(description: Description) -> str:
    """Write the sets of categories that go left, a bit for each code; that of 255 is where missing values go."""
    trees = description.trees
    is_left = np.zeros((len(trees.category_sets), MISSING + 1), dtype=bool)
    is_left[:, :MISSING] = trees.category_sets
    splits = np.flatnonzero(trees.sets >= 0)
    is_left[trees.sets[splits], MISSING] = trees.missing_left[splits]
    packed = np.packbits(is_left, axis=1, bitorder="little")
    rows = (f"{{{','.join(map(str, row))}}}" for row in packed.tolist())
    member = "static int is_member(const uint8_t *set, uint8_t code) { return set[code >> 3] >> (code & 7) & 1; }"
    return "\n".join([_table("uint8_t sets[][32]", rows), member, ""])


def _write_leaves(description: Description) -> str:
    sums = description.sums
    match description.ending:
        case TwoClassVotes():
            return _table("uint8_t votes[]", sums.weights.astype(int))
        case ManyClassVotes() if sums.are_single:
            return _table("uint16_t votes[]", sums.targets)
        case ManyClassVotes():
            return _table("uint8_t values[]", sums.to_matrix(slice(0, description.trees.n_leaves)).astype(int).ravel())
        case _:
            return _table("double values[]", map(_number, sums.weights))


def _write_sums(description: Description) -> str:
    """Write what adds up the leaves of a row."""
    n_sums, n_trees = description.sums.n_sums, len(description.trees)
    if isinstance(description.ending, TwoClassVotes):
        add = "sums[0] += votes[leaf];"
    elif isinstance(description.ending, ManyClassVotes) and description.sums.are_single:
        add = "sums[votes[leaf]] += 1;"
    elif n_sums == 1:
        add = "sums[0] += values[leaf];"
    else:
        add = f"for (int k = 0; k < {n_sums}; ++k) sums[k] += values[(size_t)leaf * {n_sums} + k];"
    used = np.unique(description.trees.features)
    return f"""\
{_table("int32_t features_used[]", used, empty="0")}
static void add_up(const double *row, double *sums) {{
  uint8_t codes[{len(description.features)}] = {{0}};
  for (int i = 0; i < {len(used)}; ++i) codes[features_used[i]] = code_of(features_used[i], row[features_used[i]]);
  for (int k = 0; k < {n_sums}; ++k) sums[k] = 0;
  for (int t = 0; t < {n_trees}; t += {SIDE_BY_SIDE}) {{
    int32_t nodes[{SIDE_BY_SIDE}];
    memcpy(nodes, roots + t, sizeof nodes);
    find_leaves(nodes, codes);
    for (int i = 0; i < {SIDE_BY_SIDE} && t + i < {n_trees}; ++i) {{
      const int32_t leaf = ~nodes[i];
      {add}
    }}
  }}
}}
"""


def _write_ending(description: Description, name: str) -> str:
    """Write the function that predicts."""
    n_sums, ending = description.sums.n_sums, description.ending
    match ending:
        case MeanValue(n_trees):
            body = f"  return sums[0] / {n_trees};"
        case RawValue(baseline, False):
            body = f"  return sums[0] + {_number(baseline)};"
        case RawValue(baseline, True):
            body = f"  return exp(fmin(fmax(sums[0] + {_number(baseline)}, -700), 700));"
        case TwoClassVotes(winners, probabilities, _):
            tables = [
                _table("uint8_t winners[]", winners),
                _table("double shares[]", map(_number, probabilities.ravel())),
            ]
            body = """\
  const int n_votes = (int)sums[0];
  if (probabilities) memcpy(probabilities, shares + 2 * n_votes, 2 * sizeof(double));
  return winners[n_votes];"""
            return "\n".join([*tables, _wrap(name, "int", body, n_sums)])
        case LogOdds(baseline):
            body = f"""\
  const double raw = sums[0] + {_number(baseline)}, odds = exp(-fabs(raw));
  if (probabilities) {{
    probabilities[1] = (raw < 0 ? odds : 1) / (1 + odds);
    probabilities[0] = 1 - probabilities[1];
  }}
  return raw >= 0;"""
        case ClassScores(baseline):
            body = f"""\
  int best = 0;
  for (int k = 0; k < {n_sums}; ++k) sums[k] += baseline[k];
  for (int k = 1; k < {n_sums}; ++k)
    if (sums[k] > sums[best]) best = k;
  if (probabilities) {{
    double total = 0;
    for (int k = 0; k < {n_sums}; ++k) total += probabilities[k] = exp(sums[k] - sums[best]);
    for (int k = 0; k < {n_sums}; ++k) probabilities[k] /= total;
  }}
  return best;"""
            return "\n".join([_table("double baseline[]", map(_number, baseline)), _wrap(name, "int", body, n_sums)])
        case ManyClassVotes(order, slopes, _):
            tables = [_table("int32_t order[]", order), _table("double slopes[]", map(_number, slopes))]
            return "\n".join([*tables, _wrap(name, "int", _write_votes(n_sums), n_sums)])
    return _wrap(name, "int" if description.classes is not None else "double", body, n_sums)


def _write_votes(n_classes: int) -> str:
    return f"""\
  int best = order[0], n_best = 0;
  for (int k = 1; k < {n_classes}; ++k)
    if (sums[order[k]] > sums[best]) best = order[k];
  for (int k = 0; k < {n_classes}; ++k) n_best += sums[k] == sums[best];
  if (probabilities) {{
    /* At a tie the winner gets a quarter of a vote more, and the others a quarter less. */
    const double most = sums[best], quarter = n_best > 1 ? 0.25 : 0, top = log(2 * (most + quarter) + 1);
    double total = 0;
    for (int k = 0; k < {n_classes}; ++k) {{
      const double votes = sums[k] + (k == best ? quarter : sums[k] == most ? -quarter : 0);
      total += probabilities[k] = exp(fmax(slopes[best] * (log(2 * votes + 1) - top), -{MAX_LOGIT}));
    }}
    for (int k = 0; k < {n_classes}; ++k) probabilities[k] /= total;
  }}
  return best;"""


def _wrap(name: str, kind: str, body: str, n_sums: int) -> str:
    arguments = "const double *row, double *probabilities" if kind == "int" else "const double *row"
    return f"""\
{kind} {name}_predict({arguments}) {{
  double sums[{n_sums}];
  add_up(row, sums);
{body}
}}
"""


def _table(declaration: str, values: Iterable[Any], *, is_public: bool = False, empty: str = "0") -> str:
    """Write an array, in lines of a fair length; one element if it would be empty, which C does not know."""
    texts = [str(value) for value in (values.tolist() if isinstance(values, np.ndarray) else values)] or [empty]
    lines, line = [], ""
    for text in texts:
        if len(line) + len(text) > WIDTH:
            lines.append(line)
            line = ""
        line += f"{text},"
    beginning = "" if is_public else "static const "
    return "\n".join([f"{beginning}{declaration} = {{", *lines, line.rstrip(","), "};"])


def _number(value: Any) -> str:
    """Write a number so that C reads the same one."""
    number = float(value)
    if np.isinf(number):
        return "INFINITY" if number > 0 else "-INFINITY"
    return repr(number)


def _quote(text: Any) -> str:
    """Write a text of C: ASCII as it is, all else by octal codes of its bytes in UTF-8."""
    letters = [
        chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}" for byte in str(text).encode()
    ]
    return f'"{"".join(letters)}"'


def _plain(text: str) -> str:
    """Make a text safe in a comment."""
    return text.replace("*/", "* /").replace("\n", " ").replace("\\", "/")
