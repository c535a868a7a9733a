"""Writes models as ONNX graphs: trees, calibration, labels and probabilities."""

import json
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mpboost._versions import find_version
from mpboost.estimators.base import MinipatchBooster
from mpboost.export.description import Description, describe_model
from mpboost.export.endings import ClassScores, LogOdds, ManyClassVotes, MeanValue, RawValue, TwoClassVotes
from mpboost.export.onnx_graph import Graph
from mpboost.export.onnx_inputs import Layout, add_inputs
from mpboost.export.onnx_trees import DOMAIN, NEW_OPSET, OLD_OPSET, add_trees, choose_opset
from mpboost.outputs.calibration import MAX_LOGIT

FloatType = Literal["float32", "float64"]

#: Version of the operators, all of which are the same from 13 on; and, for both versions of ai.onnx.ml that trees use,
#: version of the file format.
OPSET, IR_VERSIONS = 17, {OLD_OPSET: 8, NEW_OPSET: 10}

LABEL, PROBABILITIES, PREDICTION = "label", "probabilities", "prediction"


def to_onnx(
    model: MinipatchBooster,
    *,
    float_type: FloatType = "float64",
    inputs: Layout = "auto",
    ml_opset: Literal[3, 5] | None = None,
) -> Any:
    """Convert a fitted model to ONNX, for onnxruntime and other programs that need neither Python nor mpboost.

    The labels are those of ``predict`` for every row, with missing values, infinities and unseen categories; the
    probabilities those of ``predict_proba``, calibration included.

    Parameters
    ----------
    model : estimator
        A fitted model of mpboost, with native trees. A loss of your own must have no ``inverse_link``.
    float_type : {"float64", "float32"}, default="float64"
        The type of numbers in rows and of probabilities. With "float32" the thresholds of trees are rounded so that
        every float32 row goes the same way as in ``predict``. Rounding a row to float32 can move it across a threshold;
        a warning names the features for which float32 is too coarse.
    inputs : {"auto", "table", "columns"}, default="auto"
        What the ONNX model is given: "table" is one input ``X`` of shape (n_rows, n_features), "columns" one input of
        shape (n_rows, 1) for each feature, with its name, or x0, x1, ... if that is empty. "auto" means "columns" if
        features have categories of text or whole numbers. Text is missing if it is empty, unless the empty text is a
        category of its own; a whole number if it is -2^63. Categories that did not occur in training are treated as in
        ``predict``.
    ml_opset : {3, 5} or None, default=None
        Version of the operators for trees, ai.onnx.ml. 5 gives smaller files and needs onnxruntime 1.21 or newer; 3 is
        for older programs. None takes 5, but for models with several numbers in a leaf, which need 3: gradient models
        of more than two classes, and ``multiclass="oc"``.

    Returns
    -------
    model : onnx.ModelProto
        A classifier has the outputs ``label`` of shape (n_rows,) and ``probabilities`` of shape (n_rows, n_classes), a
        regressor ``prediction`` of shape (n_rows, 1); if a feature has this name, it gets an underscore at its end.
        ``metadata_props`` has the version of mpboost, the estimator, the target, the classes and the categories.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mpboost import MPBoostClassifier
    >>> from mpboost.export import to_onnx
    >>> X, y = load_iris(return_X_y=True)
    >>> exported = to_onnx(MPBoostClassifier(n_estimators=20, random_state=0).fit(X, y))
    >>> [output.name for output in exported.graph.output]
    ['label', 'probabilities']
    >>> with open("iris.onnx", "wb") as file:  # doctest: +SKIP
    ...     file.write(exported.SerializeToString())
    """
    if float_type not in ("float32", "float64"):
        raise ValueError(f"float_type must be 'float32' or 'float64', not {float_type!r}.")
    if inputs not in ("auto", "table", "columns"):
        raise ValueError(f"inputs must be 'auto', 'table' or 'columns', not {inputs!r}.")
    description = describe_model(model)
    graph = Graph(float_type, choose_opset(description.sums, ml_opset))
    given, table = add_inputs(graph, description, inputs)
    outputs = add_predictions(graph, description, table)
    return _assemble(graph, description, given, outputs)


def add_predictions(
    graph: Graph, description: Description, table: str, *, has_decisions: bool = False
) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Add trees and what follows them; return the type and the shape of each output, but for the number of rows.

    With ``has_decisions``, a classifier has decisions in place of probabilities: of two classes -d and d.
    """
    sums = add_trees(graph, description, table)
    label, shares, prediction = map(graph.make_name, (LABEL, PROBABILITIES, PREDICTION))
    if description.classes is None:
        graph.cast(_add_value(graph, description.ending, sums), graph.float_type, output=prediction)
        return {prediction: (graph.float_type, (1,))}
    winners, wanted = _add_classes(graph, description.ending, sums, has_decisions)
    graph.cast(wanted, graph.float_type, output=shares)
    classes, dtype = list_classes(description.classes)
    graph.add("Gather", graph.constant(classes), winners, axis=0, output=label)
    return {label: (dtype, ()), shares: (graph.float_type, (len(classes),))}


def list_classes(classes: NDArray[Any]) -> tuple[NDArray[Any], str]:
    """List the classes as ONNX can hold them, and name their type."""
    match classes.dtype.kind:
        case "b":
            return classes, "bool"
        case "i" | "u" if classes.size and classes.max() <= np.iinfo(np.int64).max:
            return classes.astype(np.int64), "int64"
        case "f":
            return classes.astype(np.float64), "float64"
        case _:
            return np.array([str(value) for value in classes.tolist()], dtype=object), "string"


def _add_value(graph: Graph, ending: Any, sums: str) -> str:
    match ending:
        case MeanValue(n_trees):
            return graph.add("Div", sums, graph.constant(np.array(float(n_trees))))
        case RawValue(baseline, is_log):
            raw = graph.add("Add", sums, graph.constant(np.array(baseline)))
            if not is_log:
                return raw
            bounds = (graph.constant(np.array(bound)) for bound in (-700.0, 700.0))
            return graph.add("Exp", graph.add("Clip", raw, *bounds))
    raise AssertionError(ending)


def _add_classes(graph: Graph, ending: Any, sums: str, has_decisions: bool) -> tuple[str, str]:
    """Add what turns sums into codes of classes, of shape (n_rows,), and into probabilities or decisions."""
    match ending:
        case TwoClassVotes(winners, probabilities, decisions):
            flat = graph.add("Squeeze", graph.cast(sums, "int64"), graph.constant(np.array([1])))
            wanted = np.column_stack([-decisions, decisions]) if has_decisions else probabilities
            return (
                graph.add("Gather", graph.constant(winners), flat, axis=0),
                graph.add("Gather", graph.constant(wanted), flat, axis=0),
            )
        case ManyClassVotes():
            return _add_votes(graph, ending, sums, has_decisions)
        case LogOdds(baseline):
            raw = graph.add("Add", sums, graph.constant(np.array(baseline)))
            is_second = graph.add("GreaterOrEqual", raw, graph.constant(np.array(0.0)))
            winner = graph.add("Squeeze", graph.cast(is_second, "int64"), graph.constant(np.array([1])))
            if has_decisions:
                return winner, graph.add("Concat", graph.add("Neg", raw), raw, axis=1)
            second = graph.add("Sigmoid", raw)
            first = graph.add("Sub", graph.constant(np.array(1.0)), second)
            return winner, graph.add("Concat", first, second, axis=1)
        case ClassScores(baseline):
            raw = graph.add("Add", sums, graph.constant(baseline[None]))
            winner = graph.add("ArgMax", raw, axis=1, keepdims=0)
            return winner, raw if has_decisions else graph.add("Softmax", raw, axis=1)
    raise AssertionError(ending)


def _add_votes(graph: Graph, ending: ManyClassVotes, sums: str, has_decisions: bool) -> tuple[str, str]:
    """Add what finds the class with the most votes, and the calibration of votes, or their decisions."""
    order, n_classes = graph.constant(ending.order), len(ending.order)
    ranked = graph.add("Gather", sums, order, axis=1)
    winner = graph.add("Gather", order, graph.add("ArgMax", ranked, axis=1, keepdims=0), axis=0)
    column = graph.add("Unsqueeze", winner, graph.constant(np.array([1])))
    most = graph.add("GatherElements", sums, column, axis=1)
    is_winner = graph.cast(graph.add("Equal", column, graph.constant(np.arange(n_classes)[None])), "float64")
    # Ties: the winner gets a quarter of a vote more, the others that are tied a quarter less.
    is_top = graph.cast(graph.add("Equal", sums, most), "float64")
    axis = graph.constant(np.array([1]))
    n_top = graph.add("ReduceSum", is_top, axis, keepdims=1)
    is_tie = graph.cast(graph.add("Greater", n_top, graph.constant(np.array(1.5))), "float64")
    quarter = graph.add("Mul", is_tie, graph.constant(np.array(0.25)))
    sign = graph.add("Sub", graph.add("Add", is_winner, is_winner), is_top)
    votes = graph.add("Add", sums, graph.add("Mul", quarter, sign))
    if has_decisions:
        return winner, graph.add("Mul", votes, graph.constant(np.array(ending.learning_rate)))
    # log(2 v + 1), less that of the winner, times the slope of the winner.
    logs = graph.add("Log", graph.add("Add", graph.add("Add", votes, votes), graph.constant(np.array(1.0))))
    top_log = graph.add("GatherElements", logs, column, axis=1)
    slope = graph.add("Gather", graph.constant(ending.slopes), column, axis=0)
    logits = graph.add("Mul", graph.add("Sub", logs, top_log), slope)
    odds = graph.add("Exp", graph.add("Max", logits, graph.constant(np.array(-MAX_LOGIT))))
    return winner, graph.add("Div", odds, graph.add("ReduceSum", odds, axis, keepdims=1))


def _assemble(
    graph: Graph,
    description: Description,
    given: dict[str, tuple[str, int]],
    outputs: dict[str, tuple[str, tuple[int, ...]]],
) -> Any:
    helper = graph.onnx.helper

    def describe(name: str, dtype: str, *shape: int) -> Any:
        return helper.make_tensor_value_info(name, graph.type_of(dtype), ["n_rows", *shape])

    made = helper.make_graph(
        graph.nodes,
        description.estimator,
        [describe(name, dtype, n_columns) for name, (dtype, n_columns) in given.items()],
        [describe(name, dtype, *shape) for name, (dtype, shape) in outputs.items()],
        graph.constants,
    )
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(DOMAIN, graph.ml_opset)]
    model = helper.make_model(made, opset_imports=opsets, producer_name="mpboost")
    model.ir_version = IR_VERSIONS[graph.ml_opset]
    model.producer_version = find_version("mpboost")
    helper.set_model_props(model, _list_facts(description))
    return model


def _list_facts(description: Description) -> dict[str, str]:
    """List what a user of the file may want to know, as text or JSON."""
    facts: dict[str, Any] = {
        "mpboost_version": find_version("mpboost"),
        "estimator": description.estimator,
        "n_trees": len(description.trees),
        "feature_names": [feature.name for feature in description.features],
    }
    if description.target is not None:
        facts["target"] = description.target
    if description.classes is not None:
        facts["classes"] = list_classes(description.classes)[0].tolist()
    if description.has_categories:
        facts["categories"] = {
            feature.name: feature.categories.values for feature in description.features if feature.categories
        }
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in facts.items()}
