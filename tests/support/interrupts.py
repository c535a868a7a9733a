"""Ctrl-C, pressed where a test says."""

import signal


def press_ctrl_c():
    """Press Ctrl-C in this process."""
    signal.raise_signal(signal.SIGINT)


def interrupt_in(monkeypatch, owner, method, call=5):
    """Press Ctrl-C in the middle of a step of the loop, at its fifth call."""
    original = getattr(owner, method)
    calls = []

    def interrupted(self, *args):
        calls.append(args)
        if len(calls) == call:
            press_ctrl_c()
        result = original(self, *args)
        if len(calls) == call:
            press_ctrl_c()
        return result

    monkeypatch.setattr(owner, method, interrupted)
