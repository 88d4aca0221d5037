"""Values that show themselves in a notebook."""

from importlib import import_module

# The module that draws them: loaded when a value is shown, and by its name, since the
# rooms below it know nothing of reports.
DRAWN_BY = "randsmooth.report.notebook"


class ShownInNotebooks:
    """A value that a notebook shows as HTML, without scripts.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> from_radii([0.5, 0.2], name="a")._repr_html_()[:4]
        '<div'
    """

    def _repr_html_(self) -> str:
        html: str = import_module(DRAWN_BY).html_of(self)
        return html
