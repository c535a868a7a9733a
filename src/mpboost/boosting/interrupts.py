"""Ctrl-C during a run: it ends the run between two iterations, instead of discarding what was learned."""

import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self

from mpboost.boosting.run import BoostingRun
from mpboost.boosting.stop_reasons import StopReason


class Interrupts:
    """Holds interrupts back while a run is being changed, and turns one that comes through into the end of the run.

    An interrupt takes effect at once inside ``allowed``, where the run is whole; elsewhere it waits for the next such
    block. A ``KeyboardInterrupt`` that leaves one, be it from the keyboard or from a callback, goes no further: the run
    is stopped. It does go on if nothing was learned yet, and out of a fit inside a fit, which is for the outer to end.

    Signals are touched in the main thread only, as no other gets them.

    Parameters
    ----------
    run : BoostingRun
        What is interrupted.
    """

    def __init__(self, run: BoostingRun):
        self._run = run
        self._nested = False
        self._previous: Callable[[int, FrameType | None], Any] | None = None
        self._allowed = False
        self._held = False
        self._whole = True

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            previous = signal.getsignal(signal.SIGINT)
            self._nested = isinstance(getattr(previous, "__self__", None), Interrupts)
            if callable(previous) and not self._nested:  # else it is ignored, or not Python's to handle
                self._previous = previous
                signal.signal(signal.SIGINT, self._handle)
        return self

    @contextmanager
    def allowed(self) -> Iterator[None]:
        """Let interrupts through: inside, nothing of the run changes."""
        self._whole = self._allowed = True
        if self._held:
            self._deliver(None)
        try:
            yield
        finally:
            self._allowed = False
        self._whole = False  # unless an exception leaves the block

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        # No interrupt is allowed here: none can come between and leave the handler in place.
        if self._previous is not None and signal.getsignal(signal.SIGINT) == self._handle:
            signal.signal(signal.SIGINT, self._previous)
        interrupted = kind is not None and issubclass(kind, KeyboardInterrupt) and self._whole
        if self._held and kind is None:
            try:
                self._deliver(None)
            except KeyboardInterrupt:
                interrupted = True
        self._allowed = True  # for a handler that a callback has put on top of ours
        if not interrupted or self._nested or self._run.iteration == 0:
            return False
        self._run.interrupt()
        return True

    def _handle(self, signum: int, frame: FrameType | None) -> None:
        self._held = True
        if self._allowed:
            self._deliver(frame)

    def _deliver(self, frame: FrameType | None) -> None:
        # One at a time: a second interrupt must not break into the handling of the first.
        was_allowed, self._allowed, self._held = self._allowed, False, False
        assert self._previous is not None
        self._previous(signal.SIGINT, frame)  # raises KeyboardInterrupt, as a rule
        self._allowed = was_allowed


def warn_if_interrupted(run: BoostingRun) -> None:
    """Tell the user who interrupted a fit what is left of it; to be called by fit itself."""
    if run.stop_reason is StopReason.INTERRUPTED:
        warnings.warn(
            f"The fit was interrupted after {run.iteration} iterations; the model is made of these and can be used.",
            RuntimeWarning,
            stacklevel=4,
        )
