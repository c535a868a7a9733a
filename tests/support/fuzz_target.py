"""A target for the pool of the fuzzers; by itself, so that a child process starts quickly."""

import os
import signal
import time


def misbehave(case):
    """Die, raise or hang in some cases."""
    if case == 3:
        os.kill(os.getpid(), signal.SIGSEGV)
    if case == 5:
        raise KeyError("x")
    if case == 7:
        time.sleep(60)
    return "fine", str(case)
