"""
Text in a pipeline
==================

mpboost estimators are scikit-learn estimators: they work in a pipeline, and take the
sparse matrix that a vectorizer makes without unpacking it. Afterwards the
probabilities q tell which words matter.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from mpboost import FeatureProbabilitiesDisplay, MPBoostClassifier

# %%
# Made-up reviews of a shop: most words say nothing, a few praise or complain.

rng = np.random.default_rng(0)
plain = [
    f"{start}{end}"
    for start in ("ba", "do", "ke", "li", "mu", "no", "pa", "ri", "su", "ta")
    for end in ("len", "mir", "nit", "rex", "san")
]
praise, blame = (
    ["excellent", "lovely", "quick", "recommend"],
    ["broken", "late", "refund", "rude"],
)


def write_review(is_happy):
    """Write twelve words; with few exceptions, some of them fit the mood."""
    mood = praise if is_happy != (rng.random() < 0.05) else blame
    return " ".join(rng.permutation([*rng.choice(plain, 10), *rng.choice(mood, 2)]))


n_reviews = 800
is_happy = rng.random(n_reviews) < 0.6
reviews = pd.DataFrame(
    {
        "text": [write_review(happy) for happy in is_happy],
        "price": rng.gamma(2, 20, n_reviews).round(2),
    }
)
print(reviews["text"][0])

# %%
# The transformer turns words into columns and passes the price through.

pipeline = make_pipeline(
    make_column_transformer(
        (TfidfVectorizer(), "text"),
        ("passthrough", ["price"]),
        verbose_feature_names_out=False,
    ),
    MPBoostClassifier(random_state=0),
)
print(
    f"five-fold accuracy     {cross_val_score(pipeline, reviews, is_happy).mean():.3f}"
)
pipeline.fit(reviews, is_happy)
model = pipeline[-1]
print(f"out-of-patch accuracy  {model.oop_score_:.3f}")

# %%
# The model in the pipeline numbers its columns; the transformer knows their names.

display = FeatureProbabilitiesDisplay(
    {model.best_iteration_: model.feature_probabilities_},
    feature_names=pipeline[0].get_feature_names_out(),
).plot(n_features=12)
display.ax_.set_title("The likeliest columns of the reviews", loc="left")
plt.show()
