"""The command info: show what is in a model file or a dataset, quickly, without trees and scikit-learn."""

from pathlib import Path
from typing import Annotated

import typer

from mpboost.cli.options import Json


def info(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="Model written by fit, or dataset written by bin.", show_default=False),
    ],
    as_json: Json = False,
) -> None:
    """Show what is in a model file or a dataset."""
    from mpboost.cli.dataset_files import check_dataset_exists, is_dataset
    from mpboost.cli.output import Output

    with Output(as_json=as_json) as out:
        if is_dataset(file):
            from mpboost.cli.dataset_summary import show_dataset

            check_dataset_exists(file)
            show_dataset(file, out)
            return
        from mpboost.cli.model_summary import check_exists, describe_model, show_features, show_model
        from mpboost.model_files.facts import read_facts

        check_exists(file)
        facts = read_facts(file)
        out.title(file.name, facts.estimator)
        show_model(facts, out)
        show_features(facts, out)
        out.record(model=str(file), target=facts.target_name, **describe_model(facts))
