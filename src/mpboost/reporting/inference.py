"""Summarise which features help: what is lost without them, with intervals and p-values."""

from typing import Any

from mpboost.inspection.feature_inference import LEVEL, FeatureInference
from mpboost.reporting.plain import simplify


def summarise_inference(inference: Any, n_features: int) -> dict[str, Any]:
    """Summarise the most significant features of what ``infer_features`` returned."""
    if not isinstance(inference, FeatureInference):
        raise TypeError(f"inference must be a FeatureInference, from infer_features, not {type(inference).__name__}.")
    shown = inference.rank()[:n_features]
    return {
        "loss": inference.loss,
        "coverage": inference.coverage,
        "level": LEVEL,
        "n_learners": inference.n_learners,
        "n_rows": inference.n_samples,
        "n_features": len(inference),
        "n_clear": int((inference.adjusted_p_value < LEVEL).sum()),
        "range": [float(min(0.0, inference.low[shown].min())), float(max(0.0, inference.high[shown].max()))],
        "ranking": [
            {
                "rank": place + 1,
                "name": str(simplify(inference.features[k])),
                "importance": float(inference.importance[k]),
                "low": float(inference.low[k]),
                "high": float(inference.high[k]),
                "p_value": float(inference.p_value[k]),
                "adjusted_p_value": float(inference.adjusted_p_value[k]),
                "is_clear": bool(inference.adjusted_p_value[k] < LEVEL),
            }
            for place, k in enumerate(shown.tolist())
        ],
    }
