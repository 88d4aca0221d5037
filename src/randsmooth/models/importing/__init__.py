"""Checkpoints of other projects: how they are read, recognised, normalised and kept as model folders."""
