"""The command evaluate: judge a model by a table that has the target. It imports what takes long when it runs."""

from pathlib import Path
from shlex import quote
from typing import Any

from mpboost.cli.options import Json, KnownTarget, ModelPath, Quiet, TablesOrDataset, takes_reading_options
from mpboost.table_files.options import ReadingOptions


@takes_reading_options
def evaluate(
    model: ModelPath,
    tables: TablesOrDataset,
    target: KnownTarget = None,
    as_json: Json = False,
    quiet: Quiet = False,
    *,
    reading: ReadingOptions,
) -> None:
    """Judge a model by a table with the target: scores, how sure they are, and its mistakes."""
    from mpboost._wording import count
    from mpboost.cli.dataset_files import find_dataset, open_dataset
    from mpboost.cli.features import make_model_features
    from mpboost.cli.judgements import (
        MAX_CLASSES,
        VERDICTS,
        show_confusion,
        show_mistakes,
        show_residuals,
        show_scores,
        word_training,
    )
    from mpboost.cli.model_summary import open_model
    from mpboost.cli.output import Output
    from mpboost.cli.reading import read_dataset_target, read_labelled_table
    from mpboost.data.targets import spread_targets
    from mpboost.inspection.evaluation import evaluate as evaluate_model

    X: Any
    with Output(as_json=as_json, quiet=quiet) as out:
        fitted = open_model(model)
        if (path := find_dataset(tables, reading=reading)) is not None:
            dataset = open_dataset(path, target, needs_target=True)
            X, y = dataset, spread_targets(read_dataset_target(dataset, str(path), fitted))
            name, target = str(path), dataset.target_name or "y"
        else:
            data, y, target = read_labelled_table(tables, fitted, reading, out, target)
            X, name = make_model_features(data, fitted), data.name
        evaluation = evaluate_model(fitted, X, y)
        n_training = count(fitted.n_samples_, "row")
        kind = "the training table" if evaluation.is_training else f"new data (the model was trained on {n_training})"
        out.title(Path(name).name, f"{count(evaluation.n_rows, 'row')}: {kind}")
        show_scores(evaluation, out)
        if evaluation.is_training:
            out.note(word_training(evaluation))
        if evaluation.verdict is not None:
            out.say(VERDICTS[evaluation.verdict])
        if evaluation.confusion is None:
            show_residuals(evaluation, out)
        elif evaluation.confusion.n_classes <= MAX_CLASSES:
            show_confusion(evaluation, target, out)
        else:
            show_mistakes(evaluation, target, out)
        if not evaluation.is_training and path is None:
            out.say(f"Next:  mpboost report {model} {' '.join(map(quote, tables))}")
        out.record(**evaluation.to_dict() | {"model": str(model), "table": name, "target": target})
