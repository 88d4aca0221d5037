"""The panels of the comparison page: a module each, with its template beside it."""
