"""Learning tasks: two classes, many classes, numbers, gradients of a loss."""
