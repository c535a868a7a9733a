"""How good the models are at what they do: classes, numbers, probabilities, wrong labels, search, categories."""
