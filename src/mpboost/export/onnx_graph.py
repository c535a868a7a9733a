"""A graph of ONNX operators, built line by line."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray


def import_onnx() -> Any:
    """Import onnx, or say what to install."""
    try:
        import onnx
        import onnx.helper
        import onnx.numpy_helper
    except ImportError as error:
        raise ImportError("Exports to ONNX need onnx: pip install 'mpboost[onnx]'.") from error
    return onnx


class Graph:
    """Operators, and the constants that they use.

    Parameters
    ----------
    float_type : {"float32", "float64"}
        The type of numbers in tables and of probabilities.
    ml_opset : int
        The version of the operators for trees, ai.onnx.ml.
    """

    def __init__(self, float_type: str, ml_opset: int):
        self.onnx = import_onnx()
        self.float_type = float_type
        self.ml_opset = ml_opset
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._inputs: frozenset[str] = frozenset()

    def name_inputs(self, names: Iterable[str]) -> None:
        """Tell the names of the inputs, before anything is added: nothing else may have them."""
        self._inputs = frozenset(names)

    def make_name(self, name: str) -> str:
        """Make a name that no input has, by underscores at its end."""
        while name in self._inputs:
            name += "_"
        return name

    def type_of(self, dtype: str) -> int:
        """Return ONNX's number of a type: "float32", "float64", "int64", "string" or "bool"."""
        names = {"float32": "FLOAT", "float64": "DOUBLE", "int64": "INT64", "string": "STRING", "bool": "BOOL"}
        return int(getattr(self.onnx.TensorProto, names[dtype]))

    def add(self, operator: str, *inputs: str, domain: str = "", output: str | None = None, **attributes: Any) -> str:
        """Add an operator with one output; return the name of that."""
        name = f"{operator}_{len(self.nodes)}"
        output = output or self.make_name(f"{name}_out")
        node = self.onnx.helper.make_node(operator, list(inputs), [output], name=name, domain=domain, **attributes)
        self.nodes.append(node)
        return output

    def constant(self, values: Any) -> str:
        """Add a constant; return its name."""
        array = np.asarray(values)
        name = self.make_name(f"constant_{len(self.constants)}")
        if array.dtype.kind in "OU":
            texts = [str(value).encode() for value in array.ravel()]
            tensor = self.onnx.helper.make_tensor(name, self.type_of("string"), array.shape, texts)
        else:
            tensor = self.tensor(array, name)
        self.constants.append(tensor)
        return name

    def tensor(self, array: NDArray[Any], name: str = "") -> Any:
        """Make a tensor of numbers: an attribute of an operator, or a constant."""
        return self.onnx.numpy_helper.from_array(np.ascontiguousarray(array), name)

    def cast(self, name: str, dtype: str, output: str | None = None) -> str:
        """Add a conversion to another type."""
        return self.add("Cast", name, to=self.type_of(dtype), output=output)
