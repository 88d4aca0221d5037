"""Which arrays of an .npz file are the images and labels of which split.

Their names say it: x_test and y_test, test_images and test_labels, trainX and trainY.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from randsmooth.data.columns import IMAGE_NAMES, LABEL_NAMES, NONE
from randsmooth.data.notes import tell
from randsmooth.data.request import Request
from randsmooth.data.split_words import WHOLE, array_parts, split_or_short
from randsmooth.data.splits import chosen
from randsmooth.documents import shown
from randsmooth.errors import MissingValue, Setting, WrongData
from randsmooth.notes import Note

USUAL_IMAGE_NAMES = {name for group in IMAGE_NAMES for name in group}
USUAL_LABEL_NAMES = {name for group in LABEL_NAMES for name in group}

# The column of each array of a split -> the array's name in the file. The column is the name
# without the word for the split: {"x": "x_test", "images": "test_images"}.
Arrays = dict[str, str]


def arrays_by_word(names: Iterable[str], path: Path) -> dict[str, Arrays]:
    """Return the word for each split in the names of arrays -> its arrays.

    Args:
        names: the names of all arrays in the file.
        path: the path of the file, for errors.

    Raises:
        WrongData: two arrays of one split have the same column.
    """
    groups = dict[str, Arrays]()
    for name in names:
        word, column = array_parts(name, USUAL_IMAGE_NAMES | USUAL_LABEL_NAMES)
        arrays = groups.setdefault(word, {})
        if column in arrays:
            raise WrongData(
                f"{path} has two arrays {shown(column)} of one split, "
                f"{shown(arrays[column])} and {shown(name)}",
                fix="keep one of them",
            )
        arrays[column] = name
    return groups or {WHOLE: {}}


def without_labels(groups: Mapping[str, Arrays]) -> dict[str, Arrays]:
    """Return the arrays of each word, without those that have usual names of labels."""
    others = dict[str, Arrays]()
    for word, arrays in groups.items():
        labels = _labels_in(arrays)
        kept = {column: name for column, name in arrays.items() if name not in labels}
        if kept:
            others[word] = kept
    return others or {WHOLE: {}}


def arrays_of_splits(
    groups: Mapping[str, Arrays], request: Request, path: Path
) -> tuple[str, dict[str, Arrays]]:
    """Return which split is taken, and split -> its arrays.

    If the user names arrays by their whole names, the split is that of these names.

    Args:
        groups: all arrays, by the word for their split.
        request: the split and the columns that the user asks for.
        path: the path of the file, for errors.

    Raises:
        Problem: the split is not there, or the user names arrays of two splits.
    """
    asked = _asked_for(groups, request)
    if not asked:
        # An array without a word for a split, beside others with one, may hold the names of
        # classes: it is no split.
        of_splits = {word: arrays for word, arrays in groups.items() if word != WHOLE}
        return chosen(of_splits or groups, request.split, path, whole=request.called)

    words = [_word_of(name, groups) for name in asked]
    if len(set(words)) == 2:
        return _of_two_words(asked, words, groups, request, path)
    return _of_one_word(asked, words[0], groups, request)


def _asked_for(groups: Mapping[str, Arrays], request: Request) -> list[str]:
    """Return the arrays that the user names by their whole names, images before labels."""
    names = all_names(groups)
    columns = (request.columns.image, request.columns.label)
    return [column for column in columns if column is not None and column in names]


def all_names(groups: Mapping[str, Arrays]) -> list[str]:
    """Return the names of all arrays."""
    return [name for arrays in groups.values() for name in arrays.values()]


def _of_one_word(
    asked: Sequence[str],
    word: str,
    groups: Mapping[str, Arrays],
    request: Request,
) -> tuple[str, dict[str, Arrays]]:
    """Return which split is taken, and its arrays, if the names of arrays tell one split.

    Args:
        asked: the names of the arrays that the user asks for.
        word: the word for their split; WHOLE: their names tell no split.
        groups: as in `arrays_of_splits`.
        request: as in `arrays_of_splits`.
    """
    if word == WHOLE:
        # Any other array may be the partner, whatever its name says.
        return request.called, {
            request.called: {name: name for name in all_names(groups)}
        }

    split = split_or_short(word) or request.called
    others = {
        column: name for column, name in groups[word].items() if name not in asked
    }
    # The user's arrays are looked up by the whole names that the user gave.
    return split, {split: others | {name: name for name in asked}}


def _of_two_words(
    asked: Sequence[str],
    words: Sequence[str],
    groups: Mapping[str, Arrays],
    request: Request,
    path: Path,
) -> tuple[str, dict[str, Arrays]]:
    """Return which split is taken, and its arrays, if two arrays have different words.

    The user may join such arrays if neither has a partner of its own, as "x_test" and
    "labels".

    Args:
        asked: the names of the array of images and of that of labels.
        words: the words for their splits.
        groups: as in `arrays_of_splits`.
        request: as in `arrays_of_splits`.
        path: as in `arrays_of_splits`.

    Raises:
        WrongData: one of the two has a partner of its own.
    """
    image_word, label_word = words
    if _labels_in(groups[image_word]) or _images_in(groups[label_word]):
        names = " and ".join(map(shown, asked))
        raise WrongData(f"{path}: {names} are of two splits", fix="name arrays of one")
    split = split_or_short(image_word or label_word) or request.called
    return split, {split: {name: name for name in asked}}


def _word_of(name: str, groups: Mapping[str, Arrays]) -> str:
    """Return the word for the split of an array."""
    return next(word for word, arrays in groups.items() if name in arrays.values())


def _images_in(arrays: Arrays, asked: str | None = None) -> list[str]:
    """Return the arrays with usual names of images, or only the one that is asked for."""
    if asked is not None and asked in arrays:
        return [arrays[asked]]
    return [name for column, name in arrays.items() if column in USUAL_IMAGE_NAMES]


def _labels_in(arrays: Arrays) -> list[str]:
    """Return the arrays that have usual names of labels."""
    return [name for column, name in arrays.items() if column in USUAL_LABEL_NAMES]


def paired(
    taken: Arrays,
    asked: str | None,
    groups: Mapping[str, Arrays],
    lengths: Mapping[str, int | None],
    path: Path,
) -> Arrays:
    """Return the arrays of a split, with a partner of another word if it lacks one.

    A split may have images and no labels, or labels and no images, as with x_test and y.
    Two arrays are paired, with a `Note`, if they have one length and no other two could be
    meant.

    Args:
        taken: the arrays of the split.
        asked: the column of the images that the user asks for; None: one with a usual name.
        groups: all arrays of the file, by the word for their split.
        lengths: the name of each array -> its N; None where its header does not tell.
        path: the path of the file, for errors.

    Raises:
        MissingValue: several pairs could be meant, or no two arrays have one length.
    """
    own_images = _images_in(taken, asked)
    own_labels = _labels_in(taken)
    # With both, nothing is missing. With neither, looking for the columns raises an error.
    if bool(own_images) == bool(own_labels):
        return taken

    images = list(dict.fromkeys([*own_images, *_images_alone(groups)]))
    labels = _labels_alone(groups)
    if not images or not labels:
        return taken

    pairs = [
        (image, label)
        for image in images
        for label in labels
        if lengths[image] is not None and lengths[image] == lengths[label]
    ]
    # Labels of another split must never be taken for those of these images.
    pair = _only_pair(pairs, {*own_images, *own_labels})
    if pair is None:
        listed = [
            f"{shown(name)} {_length(lengths[name])}"
            for name in dict.fromkeys(images + labels)
        ]
        raise _unclear(
            path,
            ", ".join(listed),
            image=(own_images or images)[0],
            label=(own_labels or labels)[0],
        )

    image, label = pair
    tell(
        Note("labels_paired", path=str(path), labels=shown(label), images=shown(image))
    )
    columns = _columns_of([*groups.values(), taken])
    return taken | {columns[image]: image, columns[label]: label}


def _images_alone(groups: Mapping[str, Arrays]) -> list[str]:
    """Return the arrays of images that have no labels with the same word."""
    alone = [arrays for arrays in groups.values() if not _labels_in(arrays)]
    return [name for arrays in alone for name in _images_in(arrays)]


def _labels_alone(groups: Mapping[str, Arrays]) -> list[str]:
    """Return the arrays of labels that have no images with the same word."""
    alone = [arrays for arrays in groups.values() if not _images_in(arrays)]
    return [name for arrays in alone for name in _labels_in(arrays)]


def _only_pair(
    pairs: Sequence[tuple[str, str]], own: set[str]
) -> tuple[str, str] | None:
    """Return the only pair of an image and a label array that can be meant.

    Args:
        pairs: all pairs of images and labels with one length.
        own: the arrays of the split, of which the pair has one.

    Returns:
        The pair; None where there is no such pair, or where one of its arrays is in
        another pair too.
    """
    with_own = [pair for pair in pairs if not own.isdisjoint(pair)]
    if len(with_own) != 1:
        return None
    (pair,) = with_own
    rivals = [other for other in pairs if not set(pair).isdisjoint(other)]
    return pair if len(rivals) == 1 else None


def _columns_of(groups: Iterable[Arrays]) -> dict[str, str]:
    """Return the name of each array -> its column; the last group that has it counts."""
    return {name: column for arrays in groups for column, name in arrays.items()}


def _length(length: int | None) -> str:
    """Return the length of an array in the words of an error."""
    return "()" if length is None else f"({length})"


def _unclear(path: Path, listed: str, *, image: str, label: str) -> MissingValue:
    """Return the problem of a file in which it is not clear which labels are whose.

    Args:
        path: the path of the file.
        listed: the arrays that may be meant, with their lengths, in words.
        image: one of the arrays of images, for the example in the advice.
        label: one of the arrays of labels, for the same.
    """
    return MissingValue(
        f"{path} does not tell which labels belong to which images, of {listed}",
        fix=(
            "name both, such as ",
            Setting("image_column", image),
            " and ",
            Setting("label_column", label),
            ", or say that there are no labels, ",
            Setting("label_column", NONE),
        ),
    )
