"""How time and memory of a fit grow with rows and columns."""
