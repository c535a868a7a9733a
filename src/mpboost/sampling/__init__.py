"""The two learned distributions, p over observations and q over features, and draws from them."""
