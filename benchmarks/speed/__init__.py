"""Speed and memory: an iteration and its steps, a tree, kernels, sparse matrices, the progress bar."""
