"""Converters that skl2onnx calls, so that pipelines with models of mpboost can be converted to ONNX."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpboost.estimators.classifier import MPBoostClassifier
from mpboost.estimators.gradient_classifier import MPGradientBoostingClassifier
from mpboost.estimators.gradient_regressor import MPGradientBoostingRegressor
from mpboost.estimators.regressor import MPBoostRegressor
from mpboost.export.description import describe_model
from mpboost.export.onnx_graph import Graph
from mpboost.export.onnx_inputs import TABLE, add_table
from mpboost.export.onnx_model import add_predictions, list_classes
from mpboost.export.onnx_trees import DOMAIN, OLD_OPSET

ESTIMATORS = (MPBoostClassifier, MPGradientBoostingClassifier, MPBoostRegressor, MPGradientBoostingRegressor)

#: What skl2onnx may be asked about classifiers.
CLASSIFIER_OPTIONS = {
    "zipmap": [True, False, "columns"],
    "output_class_labels": [False, True],
    "nocl": [False, True],
    "raw_scores": [False, True],
}


def register_skl2onnx() -> None:
    """Let skl2onnx convert models of mpboost, also inside pipelines.

    Call it once, before ``skl2onnx.to_onnx`` or ``convert_sklearn``. A model in a pipeline reads one table of
    numbers, so it must have no categories of text. With ``options={"zipmap": False}`` probabilities are an array. By
    default skl2onnx makes maps of them, which can be done with float32 rows only. Also what uses decisions of a model,
    such as ``CalibratedClassifierCV``, is converted (``raw_scores``). Truth values become 0 and 1, as of other
    classifiers.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from mpboost import MPBoostClassifier
    >>> from mpboost.export import register_skl2onnx
    >>> X, y = load_iris(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), MPBoostClassifier(n_estimators=20, random_state=0)).fit(X, y)
    >>> register_skl2onnx()  # doctest: +SKIP
    >>> import skl2onnx  # doctest: +SKIP
    >>> exported = skl2onnx.to_onnx(model, X[:1], options={"zipmap": False})  # doctest: +SKIP
    """
    try:
        from skl2onnx import update_registered_converter
    except ImportError as error:
        raise ImportError("Pipelines are converted to ONNX by skl2onnx: pip install skl2onnx.") from error
    for estimator in ESTIMATORS:
        options = CLASSIFIER_OPTIONS if hasattr(estimator, "predict_proba") else None
        update_registered_converter(
            estimator, f"Mpboost{estimator.__name__}", _infer_shapes, _convert, overwrite=True, options=options
        )


def _infer_shapes(operator: Any) -> None:
    """Set the types of the outputs, as skl2onnx asks for them before it converts."""
    from skl2onnx.common import data_types

    table = operator.inputs[0]
    n_rows, known = table.get_first_dimension(), _list_labels(operator)
    make_floats = data_types.DoubleTensorType if _choose_type(table) == "float64" else data_types.FloatTensorType
    if known is None:
        operator.outputs[0].type = make_floats([n_rows, 1])
        return
    labels = {
        "string": data_types.StringTensorType,
        "int64": data_types.Int64TensorType,
        "float64": data_types.DoubleTensorType,
    }
    classes, dtype = list_classes(known)
    operator.outputs[0].type = labels[dtype]([n_rows])
    operator.outputs[1].type = make_floats([n_rows, len(classes)])


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the operators of a model to the graph of a pipeline."""
    if len(operator.inputs) != 1:
        raise ValueError("A model of mpboost reads one table of numbers: put a ColumnTransformer before it.")
    table = operator.inputs[0]
    model = operator.raw_operator
    description = replace(describe_model(model), classes=_list_labels(operator))
    has_decisions = (
        description.classes is not None and container.get_options(model, {"raw_scores": False})["raw_scores"]
    )
    graph = Graph(_choose_type(table), OLD_OPSET)
    outputs = add_predictions(graph, description, add_table(graph, description), has_decisions=has_decisions)
    names = dict(zip(outputs, (each.full_name for each in operator.outputs), strict=True))
    names[TABLE] = table.full_name
    if table.type.__class__.__name__ not in ("FloatTensorType", "DoubleTensorType"):
        names[TABLE] = scope.get_unique_variable_name("numbers")
        container.add_node("Cast", [table.full_name], [names[TABLE]], op_version=13, to=graph.type_of("float64"))
    for tensor in graph.constants:
        names[tensor.name] = scope.get_unique_variable_name(tensor.name)
        content = list(tensor.string_data) or tensor
        container.add_initializer(names[tensor.name], tensor.data_type, list(tensor.dims), content)
    for node in graph.nodes:
        for output in node.output:
            names.setdefault(output, scope.get_unique_variable_name(output))
        container.add_node(
            node.op_type,
            [names[each] for each in node.input],
            [names[each] for each in node.output],
            op_domain=node.domain,
            op_version=OLD_OPSET if node.domain == DOMAIN else 13,
            name=scope.get_unique_operator_name(node.op_type),
            **{each.name: graph.onnx.helper.get_attribute_value(each) for each in node.attribute},
        )


def _list_labels(operator: Any) -> NDArray[Any] | None:
    """List the labels of a classifier: its classes, of which truth values become whole numbers, or their codes."""
    model = operator.raw_operator
    if not hasattr(model, "classes_"):
        return None
    if operator.scope_inst.get_options(model, {"nocl": False})["nocl"]:
        return np.arange(len(model.classes_))
    classes: NDArray[Any] = model.classes_
    return classes.astype(np.int64) if classes.dtype.kind == "b" else classes


def _choose_type(table: Any) -> str:
    """Choose the type of numbers by that of the table: whole numbers and truth values become float64."""
    return "float32" if table.type.__class__.__name__ == "FloatTensorType" else "float64"
