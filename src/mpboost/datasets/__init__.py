"""Tables in bins on disk: built from batches of rows, larger than memory, and trained on as they are."""
