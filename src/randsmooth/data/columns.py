"""The columns of a table, or the arrays of a file, that hold images and labels."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from randsmooth.data.labels import composed
from randsmooth.documents import shown
from randsmooth.errors import NotFound, Setting, Words, WrongData

# A user gives this as the label column where there are no labels.
NONE = "none"

# A user, or a model of texts, asks so for the only column of texts.
ONLY_TEXTS = "only"

# Usual names of the columns, in groups. The first group with a column in the table counts.
# If several columns of that group are there, an error asks the user which one is meant.
IMAGE_NAMES = (
    ("image", "img", "images", "pixel_values"),
    ("x", "X", "data", "path", "file", "file_name", "filename", "image_path"),
)
LABEL_NAMES = (
    ("label", "fine_label", "labels", "y", "target", "class", "cls", "Y", "targets"),
)

# Usual names of columns of texts, in small letters.
TEXT_NAMES = ("text", "sentence", "review", "content", "document", "comment", "message")

# How a user says which columns to read, for the end of an error.
NAME_COLUMNS = (
    "name them as ",
    Setting("image_column"),
    " and ",
    Setting("label_column"),
    f"; {NONE} as the label column means that there are no labels",
)


@dataclass(frozen=True)
class ColumnNames:
    """The columns that a user names; None: those with a usual name.

    Where a column of texts is named, inputs are texts.

    Example:
        >>> ColumnNames().find(["img", "fine_label", "coarse_label"], "cifar100")
        ('img', 'fine_label')
        >>> ColumnNames(label="none").find(["img", "size"], "mine")
        ('img', None)
    """

    image: str | None = None
    label: str | None = None
    text: str | None = None

    def text_among(self, names: list[str], holding: Sequence[str], source: str) -> str:
        """Return the name of the column of texts: the one named, a usual name, or the only.

        Args:
            names: the columns that there are.
            holding: those of them that hold texts.
            source: names the table in errors.

        Raises:
            Problem: there is no such column, or several could be meant.
        """
        asked = self.text
        if asked is not None and (asked != ONLY_TEXTS or ONLY_TEXTS in names):
            return _text_column(asked, names, holding, source)
        usual_labels = {self.label, *LABEL_NAMES[0]}
        others = [name for name in holding if name not in usual_labels]
        usual = [name for name in others if name.casefold() in TEXT_NAMES]
        for columns in (usual, others):
            if len(columns) == 1:
                return columns[0]
        found = shown(", ".join(others)) or "none"
        raise WrongData(
            f"{source} has several columns that may hold the texts, or none: {found}",
            field="text_column",
            fix=(
                "say which, such as ",
                Setting("text_column", (others or ["text"])[0]),
            ),
        )

    def find(self, names: Iterable[str], source: str) -> tuple[str, str | None]:
        """Return the names of the image column and of the label column.

        The label column is None where there are no labels: the user says so, or the table
        has an image column and no other.

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
        """Return the name of the label column, or None where there are no labels.

        Args:
            names: the columns that there are.
            source: names the table in errors.
            image: the image column, which is not the label column; None: there is none.

        Raises:
            Problem: in the cases of `find`.
        """
        if self.label is None and not {*names} - {image}:
            return None
        # A column may itself be called "none".
        if self.label == NONE and NONE not in names:
            return None
        return _column(self.label, LABEL_NAMES, names, source, image)


# The request of a user who names no columns.
USUAL = ColumnNames()


def _text_column(
    asked: str, names: list[str], holding: Sequence[str], source: str
) -> str:
    """Return the column of texts that a user names.

    Raises:
        NotFound: there is none of that name.
    """
    columns = _called((asked,), names)
    if columns:
        return columns[0]
    way_out = (
        "name the one that holds the texts, such as ",
        Setting("text_column", (holding or ["text"])[0]),
    )
    raise _none_called(asked, names, source, way_out, field="text_column")


def _column(
    asked: str | None,
    usual: tuple[tuple[str, ...], ...],
    names: list[str],
    source: str,
    taken: str | None = None,
) -> str:
    """Return the column that the user asks for, or else the one with a usual name.

    Args:
        asked: the name that the user gives; None: the user gives none.
        usual: IMAGE_NAMES or LABEL_NAMES.
        names: the columns that there are.
        source: names the table in errors.
        taken: a column that holds something else, and is passed over; None: there is none.

    Raises:
        Problem: there is no such column, or several could be meant.
    """
    groups = usual if asked is None else ((asked,),)
    others = [name for name in names if name != taken]
    for group in groups:
        columns = _called(group, others)
        if len(columns) > 1:
            raise _several(
                columns,
                is_asked=asked is not None,
                are_labels=usual is LABEL_NAMES,
                source=source,
            )
        if columns:
            return columns[0]

    raise _none_called(groups[0][0], names, source, NAME_COLUMNS)


def _none_called(
    wanted: str,
    names: Sequence[str],
    source: str,
    way_out: Words,
    field: str | None = None,
) -> NotFound:
    """Return the problem of a table that has no column of the name `wanted`."""
    there = shown(", ".join(names)) or "no names"
    return NotFound(
        f"{source} has the columns {there}, none called {shown(repr(wanted))}",
        field=field,
        fix=way_out,
    )


def _called(group: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return those `names` that are in `group`.

    A letter with an accent may be stored as one character in the one, and as two in the
    other (see `composed`).
    """
    wanted = {composed(name) for name in group}
    return [name for name in names if composed(name) in wanted]


def _several(
    columns: Sequence[str], *, is_asked: bool, are_labels: bool, source: str
) -> WrongData:
    """Return the problem of several columns that could be meant.

    Args:
        columns: the names of these columns.
        is_asked: whether the user gave their name, which they share.
        are_labels: whether a column of labels is looked for, or one of images.
        source: names the table.
    """
    if is_asked or len(set(columns)) == 1:
        return WrongData(
            f"{source} has the column {columns[0]!r} twice", fix="rename one of them"
        )

    option = "label_column" if are_labels else "image_column"
    content = "labels" if are_labels else "images"
    names = " and ".join(repr(name) for name in columns)
    return WrongData(
        f"{source} has the columns {names}, and either may hold the {content}",
        field=option,
        fix=("say which, such as ", Setting(option, columns[0])),
    )
