"""Commands that make models: fit and tune."""

import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from mpboost.boosting.progress import ProgressBar
from mpboost.cli.estimators import Preset, make_estimator, make_grid
from mpboost.cli.lessons import check_target, prepare_lesson, show_lesson
from mpboost.cli.models import describe_model, show_features, show_model
from mpboost.cli.options import Drop, Force, Json, Keep, KeepAll, Quiet, Settings, TablePath, Target
from mpboost.cli.output import Output
from mpboost.cli.tables import check_writable
from mpboost.cli.targets import Task
from mpboost.cli.wording import format_seconds
from mpboost.model_files.model_file import save_model
from mpboost.tuning.search import OOPSearch

#: Candidates of a search that are shown.
MANY_CANDIDATES = 8

OutputPath = Annotated[Path, typer.Option("--output", "-o", help="Where to save the model.")]
TaskOption = Annotated[Task, typer.Option("--task", help="What to learn; auto looks at the target.")]
PresetOption = Annotated[
    Preset,
    typer.Option(
        "--preset",
        help="default: MP-Boost, our parameters; paper: Algorithms 1 and 2 to the letter; gradient: gradient boosting.",
    ),
]


def fit(
    table: TablePath,
    target: Target = None,
    output: OutputPath = Path("model.mpb"),
    task: TaskOption = Task.AUTO,
    preset: PresetOption = Preset.DEFAULT,
    settings: Settings = None,
    keep: Keep = None,
    keep_all: KeepAll = False,
    drop: Drop = None,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a model on a table. Ctrl-C ends training with what was learned so far."""
    with Output(as_json=as_json, quiet=quiet) as out:
        target = check_target(target, table)
        check_writable(output, force)
        lesson = prepare_lesson(table, target, task, keep=None if keep_all else keep or [], drop=drop or [])
        model = make_estimator(lesson.task, preset, settings or [])
        show_lesson(lesson, table, out)
        out.say(f"Training {type(model).__name__} …")
        start = time.perf_counter()
        with out.progress() as is_shown:
            model.set_params(callbacks=[ProgressBar()] if is_shown else None).fit(lesson.X, lesson.y)
        _finish(model, lesson.target, table, output, time.perf_counter() - start, out)


def tune(
    table: TablePath,
    target: Target = None,
    output: OutputPath = Path("model.mpb"),
    grid: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE,...", help="Values to try; repeatable, ours if none.", show_default=False),
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds after which the best so far is taken.", show_default=False)
    ] = None,
    task: TaskOption = Task.AUTO,
    preset: PresetOption = Preset.DEFAULT,
    settings: Settings = None,
    keep: Keep = None,
    keep_all: KeepAll = False,
    drop: Drop = None,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Choose parameters by the out-of-patch score, and save the best model."""
    with Output(as_json=as_json, quiet=quiet) as out:
        target = check_target(target, table)
        check_writable(output, force)
        lesson = prepare_lesson(table, target, task, keep=None if keep_all else keep or [], drop=drop or [])
        model = make_estimator(lesson.task, preset, settings or [])
        choices = make_grid(model, grid or [])
        show_lesson(lesson, table, out)
        out.say(f"Tuning {type(model).__name__}: " + ", ".join(f"{key} of {values}" for key, values in choices.items()))
        start = time.perf_counter()
        with out.progress() as is_shown:
            search = OOPSearch(model, choices, time_limit=time_limit, verbose=int(is_shown), random_state=0)
            search.fit(lesson.X, lesson.y)
        _show_candidates(search, out)
        _finish(search.best_estimator_, lesson.target, table, output, time.perf_counter() - start, out)


def _show_candidates(search: OOPSearch, out: Output) -> None:
    results = search.results_
    best = np.argsort(results["rank"], kind="stable")
    names = list(search.best_params_)
    shown = best[:MANY_CANDIDATES]
    out.title("Candidates", f"the best {len(shown)} of {len(best)}; {search.stop_reason_}")
    out.table(
        {name: [results[f"param_{name}"][i] for i in shown] for name in names}
        | {
            "out-of-patch score": [f"{results['oop_score'][i]:.4f}" for i in shown],
            "iterations": [results["n_iterations"][i] for i in shown],
        },
        right=("out-of-patch score", "iterations"),
    )
    out.know(
        best_parameters=search.best_params_,
        candidates=[
            {"parameters": results["params"][i], "oop_score": results["oop_score"][i], "rank": results["rank"][i]}
            for i in best
        ],
    )


def _finish(model: Any, target: str, table: Path, output: Path, seconds: float, out: Output) -> None:
    """Save a model, and say what it is and what can be done with it."""
    model.target_name_ = target
    save_model(model, output)
    out.title("Model", f"saved as {output}, trained in {format_seconds(seconds)}")
    show_model(model, out)
    show_features(model, out)
    out.say(
        f"Next:  mpboost report {output} {table}",
        f"       mpboost predict {output} NEW_TABLE -o predictions.csv",
    )
    out.know(model=str(output), seconds=seconds, **describe_model(model))
