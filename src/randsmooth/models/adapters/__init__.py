"""Whatever a user has as a base classifier: a module for each kind, and the table of them in `registry`."""
