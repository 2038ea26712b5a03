"""A graph of ONNX that grows by one operation at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, checker, helper, numpy_helper

OPSET = 19  # the first in which texts can be compared
IR_VERSION = 9

FLOAT, DOUBLE = TensorProto.FLOAT, TensorProto.DOUBLE
STRING, INT64 = TensorProto.STRING, TensorProto.INT64


class Graph:
    """Operations so far; each returns the name of its answer."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []

    def input(self, name: str, kind: int, n_columns: int) -> str:
        """Add a matrix of as many rows as one likes."""
        self.inputs.append(helper.make_tensor_value_info(name, kind, ["rows", n_columns]))
        return name

    def output(self, name: str, value: str, *sizes: int) -> None:
        """Make a value one of the answers, float64, one for each row."""
        self.nodes.append(helper.make_node("Identity", [value], [name]))
        self.outputs.append(helper.make_tensor_value_info(name, DOUBLE, ["rows", *sizes]))

    def constant(self, value: Any, dtype: Any = np.float64) -> str:
        """Add an array, or texts where `dtype` is object."""
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.array(value, dtype=dtype), name))
        return name

    def add(self, operation: str, *inputs: str, **options: Any) -> str:
        """Add an operation with one answer."""
        return self.several(operation, 1, *inputs, **options)[0]

    def several(self, operation: str, n_answers: int, *inputs: str, **options: Any) -> list[str]:
        """Add an operation with several answers."""
        names = [f"{operation.lower()}_{len(self.nodes)}_{i}" for i in range(n_answers)]
        self.nodes.append(helper.make_node(operation, list(inputs), names, **options))
        return names

    def cast(self, value: str, kind: int) -> str:
        """Change the type of numbers."""
        return self.add("Cast", value, to=kind)

    def model(self, metadata: dict[str, str], version: str) -> ModelProto:
        """Return all of it, checked."""
        graph = helper.make_graph(self.nodes, "illume", self.inputs, self.outputs, self.constants)
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="illume",
            producer_version=version,
        )
        helper.set_model_props(model, metadata)
        checker.check_model(model, full_check=True)
        return model
