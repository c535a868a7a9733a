"""Fitted models for other programs: ONNX, treelite, shap and C, all from one description of the trees."""

from mpboost.export.c_source import to_c
from mpboost.export.description import describe_model
from mpboost.export.onnx_model import to_onnx
from mpboost.export.rows import encode_rows
from mpboost.export.shap_trees import to_shap
from mpboost.export.skl2onnx_converters import register_skl2onnx
from mpboost.export.treelite_model import to_treelite

__all__ = ["describe_model", "encode_rows", "register_skl2onnx", "to_c", "to_onnx", "to_shap", "to_treelite"]
