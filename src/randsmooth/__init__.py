"""Train, certify and fairly compare classifiers with randomized smoothing."""

__version__ = "0.1.0"
