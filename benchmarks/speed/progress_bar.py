"""What our progress bar costs: ``python -m benchmarks.speed.progress_bar`` fits with and without it, on a terminal."""

import os
import pty
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout

from benchmarks.common.command import make_parser, parse, print_machine
from benchmarks.common.measure import median_ratio, take_turns
from benchmarks.common.output import print_heading, print_line
from benchmarks.common.results import show_table
from benchmarks.data.made_up import make_table
from mpboost import MPBoostClassifier, ProgressBar
from mpboost.boosting.run import BoostingRun


class CountingBar(ProgressBar):
    """Counts how often it draws, and the processor's seconds that it takes: all of them, for it has no thread."""

    n_drawn = 0
    seconds = 0.0

    def on_fit_begin(self, run: BoostingRun) -> None:
        """Count the start."""
        self._count(super().on_fit_begin, run)

    def on_fit_end(self, run: BoostingRun) -> None:
        """Count the end."""
        self._count(super().on_fit_end, run)

    def on_iteration_end(self, run: BoostingRun) -> None:
        """Count the drawings; to look at the clock is too short to be counted, and is in the whole."""
        if time.monotonic() >= self._next_draw:
            self._count(super().on_iteration_end, run)
            self.n_drawn += 1

    def _count(self, call: Callable[[BoostingRun], object], run: BoostingRun) -> None:
        start = time.thread_time()
        call(run)
        self.seconds += time.thread_time() - start


@contextmanager
def terminal() -> Iterator[None]:
    """Let the standard output be a terminal that somebody reads."""
    os.environ["TERM"] = "xterm-256color"
    reader, writer = pty.openpty()

    def read() -> None:
        while not os.read(reader, 1 << 16).endswith(b"\0"):
            pass

    thread = threading.Thread(target=read)
    thread.start()
    with open(writer, "w", encoding="utf-8") as file:
        with redirect_stdout(file):
            yield
        file.write("\0")
        file.flush()
        thread.join()
    os.close(reader)


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    options, folder = parse(parser, arguments, "speed")
    n_iterations, n_turns = (100, 2) if options.quick else (2000, 11)
    X, y = make_table(20_000, 50)
    parameters = {"n_estimators": n_iterations, "stopping": None, "random_state": 0}
    bars: list[CountingBar] = []

    def fit(*callbacks: CountingBar) -> float:
        start = time.process_time()  # of this process alone: one per cent is little on a busy machine
        MPBoostClassifier(**parameters, callbacks=callbacks).fit(X, y)
        return time.process_time() - start

    def fit_with_bar() -> float:
        bars.append(CountingBar())
        return fit(bars[-1])

    with terminal():
        fit_with_bar()  # loads rich
        times = take_turns({"silent": fit, "with a bar": fit_with_bar}, n_turns)

    print_machine()
    print_heading(f"A fit of {n_iterations} iterations on {len(X):,} rows, {n_turns} turns")
    medians = [(name, f"{statistics.median(taken):.3f}") for name, taken in times.items()]
    show_table(folder / "progress_bar.csv", ["fit", "seconds of the processor"], medians)
    overhead = median_ratio(times["with a bar"], times["silent"]) - 1
    share = statistics.median(bar.seconds / taken for bar, taken in zip(bars[1:], times["with a bar"], strict=True))
    n_drawn = statistics.median(bar.n_drawn for bar in bars[1:])
    print_line(f"drawn {n_drawn:g} times; {100 * share:.2f} % of the time went into the bar (at most 1 % is allowed);")
    print_line(f"the whole fit took {100 * overhead:.2f} % longer")
    return 0


if __name__ == "__main__":
    sys.exit(main())
