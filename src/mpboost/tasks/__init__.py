"""What is learned: two classes, many classes, numbers, gradients of a loss."""
