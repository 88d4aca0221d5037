"""One method, rule, data set, architecture, backend and report panel for randsmooth."""
