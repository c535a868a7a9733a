"""Private names of scikit-learn that mpboost uses, and stand-ins for what old versions lack."""

from sklearn.base import _fit_context as fit_context
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions, validate_params
from sklearn.utils.validation import _check_sample_weight as check_sample_weight
from sklearn.utils.validation import _check_y as check_y

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # scikit-learn < 1.9 has no callbacks: an estimator then has no set_callbacks

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stand-in without methods."""


__all__ = [
    "CallbackSupportMixin",
    "HasMethods",
    "Interval",
    "StrOptions",
    "check_sample_weight",
    "check_y",
    "fit_context",
    "validate_params",
]
