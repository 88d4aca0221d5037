"""The panels of the comparison page, a module and a template each."""
