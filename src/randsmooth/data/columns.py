"""The columns of a table, or the arrays of a file, that hold images and labels."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from randsmooth.data.labels import composed
from randsmooth.documents import shown
from randsmooth.errors import NotFound, Setting, WrongData

# The name of the label column that says there are no labels.
NONE = "none"

# Usual names of a column. Those of the first group of which one is there are meant;
# where several of them are, the user is asked.
IMAGE_NAMES = (
    ("image", "img", "images", "pixel_values"),
    ("x", "X", "data", "path", "file", "file_name", "filename", "image_path"),
)
LABEL_NAMES = (
    ("label", "fine_label", "labels", "y", "target", "class", "cls", "Y", "targets"),
)

# How a user says which columns to read, for the end of an error.
NAME_COLUMNS = (
    "name them as ",
    Setting("image_column"),
    " and ",
    Setting("label_column"),
    f"; {NONE} as the label column says that there are no labels",
)


@dataclass(frozen=True)
class ColumnNames:
    """The columns that a user names; None: those with a usual name.

    Example:
        >>> ColumnNames().find(["img", "fine_label", "coarse_label"], "cifar100")
        ('img', 'fine_label')
        >>> ColumnNames(label="none").find(["img", "size"], "mine")
        ('img', None)
    """

    image: str | None = None
    label: str | None = None

    def find(self, names: Iterable[str], source: str) -> tuple[str, str | None]:
        """Return the names of the image and the label column.

        The latter is None where there are no labels: that is where the user says so, or
        where there is an image column and nothing else.

        Args:
            names: the columns that there are.
            source: names the table in errors.

        Raises:
            NotFound: there is no such column; the message lists what there is.
            WrongData: several columns could be the one.
        """
        names = list(names)
        image = _column(self.image, IMAGE_NAMES, names, source)
        return image, self.label_among(names, source, image)

    def label_among(
        self, names: list[str], source: str, image: str | None = None
    ) -> str | None:
        """Return the label column among `names` but `image`; None: there are no labels.

        Errors are those of `find`.
        """
        if self.label is None and not {*names} - {image}:
            return None
        # A column may itself be called "none".
        if self.label == NONE and NONE not in names:
            return None
        return _column(self.label, LABEL_NAMES, names, source, image)


# What a user asks for who names no columns.
USUAL = ColumnNames()


def _column(
    asked: str | None,
    usual: tuple[tuple[str, ...], ...],
    names: list[str],
    source: str,
    taken: str | None = None,
) -> str:
    """Return the column that is `asked` for, else the one with a `usual` name.

    Args:
        asked: the user's name of it; None: none.
        usual: groups of names, of which the first that is there counts.
        names: the columns that there are.
        source: names the table in errors.
        taken: the one of them that holds something else.

    Raises:
        Problem: there is none, or several could be meant.
    """
    groups = usual if asked is None else ((asked,),)
    others = [name for name in names if name != taken]
    for group in groups:
        columns = _called(group, others)
        if len(columns) > 1:
            raise _several(columns, asked is not None, usual is LABEL_NAMES, source)
        if columns:
            return columns[0]

    there = shown(", ".join(names)) or "no names"
    raise NotFound(
        f"{source} has the columns {there}, none called {shown(repr(groups[0][0]))}",
        fix=NAME_COLUMNS,
    )


def _called(group: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the `names` that are in a `group`, however their letters are composed."""
    wanted = {composed(name) for name in group}
    return [name for name in names if composed(name) in wanted]


def _several(
    columns: Sequence[str], asked: bool, labels: bool, source: str
) -> WrongData:
    """Return the problem of columns of which each could be meant.

    Args:
        columns: two or more.
        asked: whether a user gave their name.
        labels: whether they hold labels, else images.
        source: names the table.
    """
    if asked or len(set(columns)) == 1:
        return WrongData(
            f"{source} has the column {columns[0]!r} twice", fix="rename one of them"
        )

    option = "label_column" if labels else "image_column"
    content = "labels" if labels else "images"
    names = " and ".join(repr(name) for name in columns)
    return WrongData(
        f"{source} has the columns {names}, and either may hold the {content}",
        field=option,
        fix=("say which, such as ", Setting(option, columns[0])),
    )
