"""Ctrl-C while a fit runs elsewhere."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self


class ControlC:
    """Context manager that notes the first Ctrl-C, for someone to look at; the second one raises as usual.

    Signals reach the main thread only, so in other threads it does nothing.

    Attributes
    ----------
    is_pressed : bool
        Whether there was a Ctrl-C that nobody has dealt with.
    """

    def __init__(self) -> None:
        self.is_pressed = False
        self._n_pressed = 0
        self._raises = False
        self._previous: Callable[[int, FrameType | None], Any] | None = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            previous = signal.getsignal(signal.SIGINT)
            if callable(previous):
                self._previous = previous
                signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._previous is not None and signal.getsignal(signal.SIGINT) == self._handle:
            signal.signal(signal.SIGINT, self._previous)

    @contextmanager
    def raised(self) -> Iterator[None]:
        """Let Ctrl-C raise at once in a block, say in code of the user."""
        self._raises = True
        try:
            yield
        finally:
            self._raises = False

    def _handle(self, signum: int, frame: FrameType | None) -> None:
        self._n_pressed += 1
        self.is_pressed = True
        if self._raises or self._n_pressed > 1:
            self.is_pressed = False
            assert self._previous is not None
            self._previous(signum, frame)
