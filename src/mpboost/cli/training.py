"""The commands fit and tune: train a model and save it. Functions import what takes long, so that help is quick."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from shlex import quote
from types import FrameType
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from mpboost.cli.choices import Preset, TargetKind
from mpboost.cli.options import (
    Drop,
    Force,
    Json,
    Keep,
    KeepAll,
    Quiet,
    Settings,
    TablesOrDataset,
    Target,
    takes_reading_options,
)
from mpboost.table_files.options import ReadingOptions

if TYPE_CHECKING:
    from mpboost.cli.output import Output
    from mpboost.cli.training_set import TrainingSet
    from mpboost.estimators.base import MinipatchBooster
    from mpboost.tuning.search import OOPSearch

#: Candidates of a search that are shown, the best first.
MAX_SHOWN_CANDIDATES = 8

OutputPath = Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Model file to write.")]
TaskOption = Annotated[
    TargetKind,
    typer.Option(
        "--task", metavar="KIND", help="auto, classification or regression; auto decides by the values of the target."
    ),
]
PresetOption = Annotated[
    Preset,
    typer.Option(
        "--preset",
        metavar="NAME",
        help="gradient: gradient boosting, better on most tables; votes: MP-Boost with our defaults; paper: MP-Boost "
        "exactly as in the paper.",
    ),
]
OnDisk = Annotated[
    bool | None,
    typer.Option(
        "--on-disk/--in-memory",
        help="Whether Parquet files are binned on disk first, as by bin, or read into memory.",
        show_default="on disk if they take more than half of the free memory",
    ),
]


@takes_reading_options
def fit(
    tables: TablesOrDataset,
    target: Target = None,
    output: OutputPath = Path("model.mpb"),
    task: TaskOption = TargetKind.AUTO,
    preset: PresetOption = Preset.GRADIENT,
    settings: Settings = None,
    keep: Keep = None,
    keep_all: KeepAll = False,
    drop: Drop = None,
    on_disk: OnDisk = None,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
    *,
    reading: ReadingOptions,
) -> None:
    """Train a model on a table and save it. Ctrl-C stops training and keeps the model so far."""
    from mpboost.boosting.progress import ProgressBar
    from mpboost.cli.estimators import WORDS, make_estimator
    from mpboost.cli.output import Output

    with Output(as_json=as_json, quiet=quiet) as out, ExitStack() as stack:
        choice = Choice(target, task, None if keep_all else keep or [], drop or [], on_disk)
        data = _open_training_set(tables, choice, reading, output, force, out, stack)
        model = make_estimator(data.kind, preset, settings or [])
        data.show(out)
        out.say(f"Training {type(model).__name__}: {WORDS[preset]} …")
        start = time.perf_counter()
        with _one_interrupt():
            with out.progress() as is_shown:
                model.set_params(callbacks=[ProgressBar()] if is_shown else None).fit(data.X, data.y)
            _finish(model, data, tables, output, time.perf_counter() - start, out)


@takes_reading_options
def tune(
    tables: TablesOrDataset,
    target: Target = None,
    output: OutputPath = Path("model.mpb"),
    grid: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE,...", help="Values to try for a parameter. Repeatable.", show_default=False),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", help="Stop after so many seconds and keep the best model so far.", show_default=False
        ),
    ] = None,
    task: TaskOption = TargetKind.AUTO,
    preset: PresetOption = Preset.GRADIENT,
    settings: Settings = None,
    keep: Keep = None,
    keep_all: KeepAll = False,
    drop: Drop = None,
    on_disk: OnDisk = None,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
    *,
    reading: ReadingOptions,
) -> None:
    """Try several parameter values and save the best model. Out-of-patch scores decide."""
    from mpboost.cli.estimators import WORDS, make_estimator, make_grid
    from mpboost.cli.output import Output
    from mpboost.tuning.search import OOPSearch

    with Output(as_json=as_json, quiet=quiet) as out, ExitStack() as stack:
        choice = Choice(target, task, None if keep_all else keep or [], drop or [], on_disk)
        data = _open_training_set(tables, choice, reading, output, force, out, stack)
        model = make_estimator(data.kind, preset, settings or [])
        candidates = make_grid(model, grid or [])
        data.show(out)
        tried = "; ".join(f"{key} in {values}" for key, values in candidates.items())
        out.say(f"Tuning {type(model).__name__}: {WORDS[preset]}", f"Candidates: {tried}")
        start = time.perf_counter()
        with out.progress() as is_shown:
            search = OOPSearch(model, candidates, time_limit=time_limit, verbose=int(is_shown), random_state=0)
            search.fit(data.X, data.y)
        _show_candidates(search, out)
        _finish(search.best_estimator_, data, tables, output, time.perf_counter() - start, out)


class Choice(NamedTuple):
    """What the user chose about the training set.

    Attributes
    ----------
    target : str or None
        Name of the column to predict.
    task : TargetKind
        Classification or regression.
    keep, drop : list of str
        Columns to use in any case, None for all of them, and columns not to use.
    on_disk : bool or None
        Whether to bin the table on disk first; None if it is large.
    """

    target: str | None
    task: TargetKind
    keep: list[str] | None
    drop: list[str]
    on_disk: bool | None


def _open_training_set(
    tables: list[str],
    choice: Choice,
    reading: ReadingOptions,
    output: Path,
    force: bool,
    out: "Output",
    stack: ExitStack,
) -> "TrainingSet":
    """Open a dataset, bin large Parquet files into one for as long as the stack is open, or read a table."""
    from mpboost.cli.dataset_building import Plan, choose_parquet_columns
    from mpboost.cli.dataset_files import find_dataset, open_dataset
    from mpboost.cli.training_dataset import bin_for_training, is_large, read_training_dataset
    from mpboost.cli.training_set import choose_target_name, read_training_table
    from mpboost.cli.writing import check_writable
    from mpboost.table_files.parquet import open_parquet

    flag = "--on-disk" if choice.on_disk else "--in-memory"
    only_tables = {
        "--keep": choice.keep,
        "--keep-all": choice.keep is None,
        "--drop": choice.drop,
        flag: choice.on_disk is not None,
    }
    dataset = find_dataset(tables, reading=reading, others=only_tables)
    target = choose_target_name(choice.target, tables) if dataset is None else choice.target
    check_writable(output, force)
    if dataset is not None:
        return read_training_dataset(open_dataset(dataset, target, needs_target=True), dataset, choice.task)
    assert target is not None
    files = None if choice.on_disk is False else open_parquet(tables)
    if files is None and choice.on_disk:
        raise ValueError("--on-disk is for Parquet files: tables of other kinds are read into memory.")
    if files is not None and (choice.on_disk or is_large(files)):
        source = choose_parquet_columns(files, Plan(target=target, keep=choice.keep, drop=choice.drop))
        return stack.enter_context(bin_for_training(source, choice.task, output.parent, out))
    return read_training_table(tables, target, choice.task, reading, keep=choice.keep, drop=choice.drop)


@contextmanager
def _one_interrupt() -> Iterator[None]:
    """Let only the first Ctrl-C take effect: it ends the training, and a second one must not prevent the saving."""

    def interrupt(signum: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise KeyboardInterrupt

    is_ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # nobody else handles interrupts
    is_ours = is_ours and threading.current_thread() is threading.main_thread()
    if is_ours:
        signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        if is_ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _show_candidates(search: "OOPSearch", out: "Output") -> None:
    import numpy as np

    results = search.results_
    best = np.argsort(results["rank"], kind="stable")
    names = list(search.best_params_)
    shown = best[:MAX_SHOWN_CANDIDATES]
    out.title("Candidates", f"the {len(shown)} best of {len(best)}; {search.stop_reason_}")
    out.table(
        {name: [results[f"param_{name}"][i] for i in shown] for name in names}
        | {
            "out-of-patch score": [f"{results['oop_score'][i]:.4f}" for i in shown],
            "iterations": [results["n_iterations"][i] for i in shown],
        },
        right=("out-of-patch score", "iterations"),
    )
    out.record(
        best_parameters=search.best_params_,
        candidates=[
            {"parameters": results["params"][i], "oop_score": results["oop_score"][i], "rank": results["rank"][i]}
            for i in best
        ],
    )


def _finish(
    model: "MinipatchBooster", data: "TrainingSet", tables: list[str], output: Path, seconds: float, out: "Output"
) -> None:
    """Save a model, summarise it, and suggest the next commands."""
    from mpboost._wording import format_seconds
    from mpboost.cli.model_summary import describe_model, show_features, show_model
    from mpboost.cli.training_dataset import TrainingDataset
    from mpboost.model_files.model_file import save_model

    model.target_name_, model.table_habits_ = data.target, data.habits
    save_model(model, output)
    out.title("Model", f"saved to {output}, trained in {format_seconds(seconds)}")
    show_model(model, out)
    show_features(model, out)
    what = "evaluate" if isinstance(data, TrainingDataset) else "report"
    table = "NEW_TABLE" if isinstance(data, TrainingDataset) else " ".join(map(quote, tables))
    out.say(f"Next:  mpboost {what} {output} {table}", f"       mpboost predict {output} NEW_TABLE -o predictions.csv")
    out.record(model=str(output), seconds=seconds, **describe_model(model))
