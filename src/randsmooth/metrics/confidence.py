"""How sure intervals and outcomes are. It is read without loading SciPy."""

# The probability that an interval holds what it is for, unless another is asked for.
LEVEL = 0.95
