import sys

import pytest

from mpboost.dask.switching import INTERVAL, short_turns


def test_turns_are_short_until_the_last_one_who_wants_that_ends():
    before = sys.getswitchinterval()
    one, two = short_turns(), short_turns()
    one.__enter__()
    two.__enter__()
    one.__exit__(None, None, None)
    assert sys.getswitchinterval() == pytest.approx(INTERVAL)
    two.__exit__(None, None, None)
    assert sys.getswitchinterval() == pytest.approx(before)
