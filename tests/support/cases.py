"""Named cases for ``parametrize``."""

import pytest


def list_cases(cases, quick):
    """List named cases; those whose names are not among the quick ones are marked slow."""
    assert set(quick) <= cases.keys(), "a quick case that does not exist"
    return [
        pytest.param(case, id=name, marks=() if name in quick else pytest.mark.slow) for name, case in cases.items()
    ]
