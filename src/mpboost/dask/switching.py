"""Lets the threads of a worker take turns more often while a shard runs there."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

#: Seconds that a thread may keep Python to itself while another one waits: of 5 ms, by default, the other shards would
#: wait several times for each result that the event loop of this worker sends.
INTERVAL = 0.0002


class _Turns:
    """How many shards want short turns, and how long turns were before."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.n_users, self.before = 0, 0.0


_turns = _Turns()


@contextmanager
def short_turns() -> Iterator[None]:
    """Let threads take turns every ``INTERVAL`` seconds, as long as anyone in this process wants that.

    Examples
    --------
    >>> import sys
    >>> with short_turns():
    ...     round(sys.getswitchinterval(), 6)
    0.0002
    """
    with _turns.lock:
        if _turns.n_users == 0:
            _turns.before = sys.getswitchinterval()
            sys.setswitchinterval(INTERVAL)
        _turns.n_users += 1
    try:
        yield
    finally:
        with _turns.lock:
            _turns.n_users -= 1
            if _turns.n_users == 0:
                sys.setswitchinterval(_turns.before)
