"""Tests, in folders named like the packages that they test, and what they share, in ``support``."""

import pytest

# Before anything of it is imported: a failing assert of a helper then shows its values.
pytest.register_assert_rewrite("tests.support")
