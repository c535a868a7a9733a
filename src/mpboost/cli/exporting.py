"""The command export: write a model for other programs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from mpboost.cli.options import Force, Json, ModelPath, Quiet

if TYPE_CHECKING:
    from mpboost.estimators.base import MinipatchBooster

#: What each kind of file is for.
KINDS = {
    ".onnx": "ONNX, for onnxruntime and other programs",
    ".c": "C source, for any C99 compiler",
    ".tl": "treelite, for treelite.Model.deserialize",
}


def export(
    model: ModelPath,
    output: Annotated[
        Path, typer.Argument(metavar="FILE", help="File to write: .onnx, .c, or .tl (treelite).", show_default=False)
    ],
    float_type: Annotated[
        Literal["float64", "float32"], typer.Option(help="Type of numbers in rows and of probabilities, for .onnx.")
    ] = "float64",
    inputs: Annotated[
        Literal["auto", "table", "columns"],
        typer.Option(help="One input for all features or one for each, for .onnx; auto: for each if some are words."),
    ] = "auto",
    ml_opset: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Version of ONNX's operators for trees: 5, or 3 for programs older than onnxruntime 1.21.",
            show_default=False,
        ),
    ] = None,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a model as ONNX, C or treelite, for programs without mpboost."""
    from mpboost._files import write_whole
    from mpboost._wording import count, list_names
    from mpboost.cli.model_summary import open_model
    from mpboost.cli.output import Output
    from mpboost.cli.writing import check_writable

    with Output(as_json=as_json, quiet=quiet) as out:
        check_writable(output, force, KINDS)
        fitted = open_model(model)
        suffix = output.suffix.lower()
        if suffix == ".onnx":
            content, facts = _make_onnx(fitted, float_type, inputs, ml_opset)
        else:
            content, facts = (_make_c if suffix == ".c" else _make_treelite)(fitted)
        with write_whole(output, force=force) as temporary:
            temporary.write_bytes(content)
        n_trees = fitted.best_iteration_
        out.title("Export", f"of {model.name}, {count(n_trees, 'tree')}, written to {output}")
        shown = {name: list_names(names) for name, names in facts.items()}
        out.rows({"format": KINDS[suffix], "size": f"{len(content) / 1e6:.2f} MB", **shown})
        out.record(model=str(model), file=str(output), format=suffix[1:], trees=n_trees, bytes=len(content), **facts)


def _make_onnx(
    model: "MinipatchBooster", float_type: Any, inputs: Any, ml_opset: Any
) -> tuple[bytes, dict[str, list[str]]]:
    from mpboost.export.onnx_model import to_onnx

    exported = to_onnx(model, float_type=float_type, inputs=inputs, ml_opset=ml_opset)
    names = {
        "inputs": [each.name for each in exported.graph.input],
        "outputs": [each.name for each in exported.graph.output],
    }
    return exported.SerializeToString(), names


def _make_c(model: "MinipatchBooster") -> tuple[bytes, dict[str, list[str]]]:
    from mpboost.export.c_source import to_c

    return to_c(model).encode(), {"functions": ["model_predict"]}


def _make_treelite(model: "MinipatchBooster") -> tuple[bytes, dict[str, list[str]]]:
    from mpboost.export.treelite_model import to_treelite

    return to_treelite(model).serialize_bytes(), {}
