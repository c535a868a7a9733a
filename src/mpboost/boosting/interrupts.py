"""Ctrl-C stops a fit between two iterations and keeps the model learned so far."""

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
    """Context manager that delays interrupts while a run is being changed or published.

    Inside ``allowed``, where the run is consistent, an interrupt takes effect at once; elsewhere it waits for the next
    such block, or for the end of the context. Inside ``caught``, a ``KeyboardInterrupt`` from such a block, by the
    keyboard or a callback, stops the run and is not raised further. It is raised if no iteration is done yet, and in a
    fit inside another fit, so that the outer one stops. At the end of the context the model is published, so an
    interrupt that waited until then is not raised either.

    Signal handlers are changed in the main thread only, because only the main thread receives signals.

    Parameters
    ----------
    run : BoostingRun
        The run to stop.
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
            if callable(previous) and not self._nested:  # otherwise SIGINT is ignored or not handled by Python
                self._previous = previous
                signal.signal(signal.SIGINT, self._handle)
        return self

    @contextmanager
    def caught(self) -> Iterator[None]:
        """Let an interrupt in this block stop the run."""
        try:
            yield
            with self.allowed():  # for an interrupt that came in the last iteration
                pass
        except KeyboardInterrupt:
            if not self._whole or self._nested or self._run.iteration == 0:
                raise
            self._run.interrupt()

    def allowed(self) -> "_Allowed":
        """Let interrupts take effect in a block that does not change the run."""
        return _Allowed(self)

    def open(self) -> None:
        """Begin such a block."""
        self._whole = self._allowed = True
        if self._held:
            self._deliver(None)

    def close(self, *, is_whole: bool) -> None:
        """End such a block; the run stays whole if an exception leaves it."""
        self._allowed = False
        self._whole = is_whole

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Interrupts are not allowed here, so none can prevent that the old handler is restored.
        if self._previous is not None and signal.getsignal(signal.SIGINT) == self._handle:
            signal.signal(signal.SIGINT, self._previous)
        if self._held and kind is None:
            try:
                self._deliver(None)
            except KeyboardInterrupt:
                self._run.interrupt()
        self._allowed = True  # a callback may have installed a handler that calls ours

    def _handle(self, signum: int, frame: FrameType | None) -> None:
        self._held = True
        if self._allowed:
            self._deliver(frame)

    def _deliver(self, frame: FrameType | None) -> None:
        # A second interrupt must not interrupt the handling of the first.
        was_allowed, self._allowed, self._held = self._allowed, False, False
        assert self._previous is not None
        self._previous(signal.SIGINT, frame)  # usually raises KeyboardInterrupt
        self._allowed = was_allowed


class _Allowed:
    """A block in which interrupts take effect; three times as fast as a generator, and each iteration has some."""

    def __init__(self, interrupts: Interrupts):
        self._interrupts = interrupts

    def __enter__(self) -> None:
        self._interrupts.open()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._interrupts.close(is_whole=kind is not None)


def warn_if_interrupted(run: BoostingRun) -> None:
    """Warn that an interrupted fit has left a usable model; must be called by fit itself (stacklevel)."""
    if run.stop_reason is StopReason.INTERRUPTED:
        warnings.warn(
            f"The fit was interrupted after {run.iteration} iterations; the model learned so far can be used.",
            RuntimeWarning,
            stacklevel=4,
        )
