"""Of a log what can be checked is checked: each value that cannot be is named with its line, at once."""

import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from randsmooth import data
from randsmooth.certificates import infer, read
from randsmooth.certificates.logs import cells
from randsmooth.certificates.logs.paths import CLASSES, DATASETS
from randsmooth.errors import InputError

HEAD = "idx\tlabel\tpredict\tradius\tcorrect\ttime\n"
ROW = "{idx}\t{label}\t{predict}\t{radius}\t{correct}\t{time}\n"
FACTS = {"idx": "4", "label": "3", "predict": "3", "radius": "0.644", "correct": "1", "time": "0:00:03.5"}


def row(**facts: str) -> str:
    return ROW.format(**(FACTS | facts))


BAD: dict[str, tuple[str, str]] = {
    "a label of 1e18": (row(label="1e18"), "line 2: label=1e18 is above 99,999, more classes than any"),
    "a prediction of 1e18": (row(predict="1e18"), "line 2: predict=1e18 is above"),
    "a radius of 1e18": (row(radius="1e18"), "line 2: radius=1e18 is above 1000"),
    "an image below 0": (row(idx="-1"), "line 2: idx=-1 is below 0"),
    "an image of 1e18": (row(idx="1e18"), "line 2: idx=1e18 is above 1,000,000,000"),
    "images that fall": (row() + row(idx="3"), "line 3: idx=3 after 4; images rise"),
    "an image twice": (row() + row(), "line 3: idx=4 after 4"),
    "an abstention with a radius": (row(predict="-1", correct="0"), "line 2: radius=0.644 where predict=-1 abstains"),
    "neither right nor wrong": (row() + row(idx="5", correct="2") + row(idx="6", correct="2"), "line 3: correct=2"),
    "right beyond the rows": (row(correct="7"), "line 2: correct=7 is above 1"),
    "half right": (row(correct="0.5"), "line 2: correct='0.5' is no whole number"),
    "endless digits": (row(label="9" * 400), "line 2: label='99.*…? is no number"),
    "beyond floating point": (row(radius="1e999"), "line 2: radius='1e999' is too large a number"),
    "infinity": (row(radius="inf"), "line 2: radius='inf' is no number"),
    "not a number": (row(radius="nan"), "line 2: radius='nan' is no number"),
    "digits of another script": (row(label="٣", predict="٣"), "line 2: label='٣' is no number"),
    "an underscore": (row(idx="1_0"), "line 2: idx='1_0' is no number"),
    "a quoted cell": (row(label='"3"'), "line 2: label='\"3\"' is no number"),
    "a long time": (row(time="1e9"), "line 2: time='1e9' is neither"),
    "days beyond count": (row(time="99999999 days, 0:00:01"), "line 2: time="),
    "a time of 99 minutes": (row(time="0:99:01"), "line 2: time='0:99:01'"),
    "a cell too few": (row() + "5\t3\t3\n", r"line 3: 3 cells instead of 6 \(row cut short"),
    "a cell too many": (row() + "\n" + row().strip() + "\t1\n", "line 4: more cells than its header, which has 6"),
    "a zero byte": (row() + row(idx="5", time="0:00:0\0"), "line 3: a zero byte"),
    "a column twice": ("", "a column is|one twice"),
}


@pytest.mark.parametrize("what", BAD)
def test_what_cannot_be_is_named_by_its_line(what: str, tmp_path: Path) -> None:
    rows, named = BAD[what]
    path = tmp_path / "log.tsv"
    path.write_text((HEAD if rows else HEAD.replace("time", "idx")) + rows, encoding="utf-8")
    with pytest.raises(InputError, match=named) as told:
        read(path)
    assert str(path) in str(told.value) and len(str(told.value)) < 600


def test_bytes_that_are_no_text_are_named(tmp_path: Path) -> None:
    (tmp_path / "log.tsv").write_bytes((HEAD + row()).encode() + b"5\t3\t3\t0.5\t1\t\xff\n")
    with pytest.raises(InputError, match="line 3: byte 0xff is no text in UTF-8"):
        read(tmp_path / "log.tsv")


@pytest.mark.parametrize("dataset", sorted(set(DATASETS.values())))
def test_labels_are_among_the_classes_of_the_data_set_that_the_path_names(dataset: str, tmp_path: Path) -> None:
    path = tmp_path / f"{dataset}-sigma0.5" / "gaussian.tsv"
    path.parent.mkdir()
    last = CLASSES[dataset] - 1
    path.write_text(HEAD + row(label=str(last), predict=str(last)))
    assert read(path).label.tolist() == [last]
    for column in ("label", "predict"):
        path.write_text(HEAD + row(**{column: str(last + 1), "correct": "0"}))
        with pytest.raises(InputError, match=f"{column}={last + 1} is above {last}, the last class of {dataset}"):
            read(path)


def test_the_classes_of_a_data_set_are_counted_as_it_says() -> None:
    named = {name: data.DATASETS[name].num_classes for name in CLASSES if name in data.DATASETS}
    assert len(named) >= 6 and named.items() <= CLASSES.items()


REACH = [  # a radius that its sigma, n and alpha allow, and one that they do not
    ({"sigma": 0.5, "n": 1000, "alpha": 0.001}, "1.23", "1.3"),
    ({"sigma": 0.5, "n": 1000}, "1.599", "1.7"),
    ({"sigma": 0.5, "alpha": 0.001}, "2.8", "3.1"),
    ({"sigma": 0.5}, "3.0", "4.0"),
]


@pytest.mark.parametrize(("known", "within", "beyond"), REACH)
def test_a_radius_beyond_reach_is_refused(known: dict[str, float], within: str, beyond: str, tmp_path: Path) -> None:
    path = tmp_path / "log.tsv"
    path.write_text(HEAD + row(radius=within))
    assert infer(read(path), path, **known).radius.max() > 0.0  # type: ignore[arg-type]
    path.write_text(HEAD + row(radius=beyond))
    with pytest.raises(InputError, match=r"radius of image 4 is above .*, the most that"):
        infer(read(path), path, **known)  # type: ignore[arg-type]


def test_what_is_no_log_takes_neither_time_nor_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells, "MOST_LINES", 1000)
    monkeypatch.setattr(cells, "MOST_BYTES", 10**6)
    floods = {
        "more than 100 columns": "\t".join(map(str, range(100_000))) + "\n",
        "more cells than its header": HEAD + "\t" * 500_000 + "\n",
        "more than 1,000 lines": HEAD + "\n" * 500_000,
        "expected at most 1,000,000": HEAD + row() * 100_000,
    }
    for named, text in floods.items():
        (tmp_path / "log.tsv").write_text(text)
        tracemalloc.start()
        began = time.process_time()
        with pytest.raises(InputError, match=named):
            read(tmp_path / "log.tsv")
        took, (_, peak) = time.process_time() - began, tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert took < 1.0 and peak < 2**23, named


def test_blank_lines_and_a_mark_in_front_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "log.tsv"
    path.write_bytes(b"\xef\xbb\xbf" + (HEAD + "\n" + row() + "\n\n" + row(idx="9")).encode())
    assert read(path).idx.tolist() == [4, 9]
    path.write_bytes((HEAD + row() + "\n\n" + row(idx="9", label="x")).encode())
    with pytest.raises(InputError, match="line 5: label='x'"):  # of the file, blank ones counted
        read(path)


def test_a_time_is_what_it_says_to_the_last_digit(tmp_path: Path) -> None:
    path = tmp_path / "log.tsv"
    path.write_text(HEAD + row(time="0:00:03.546432") + row(idx="5", time="1 day, 1:02:03.000001"))
    assert read(path).seconds.tolist() == [3.546432, 90123.000001]


def test_a_whole_data_set_is_read_in_no_time(tmp_path: Path) -> None:
    rows = [row(idx=str(i), label=str(i % 10), correct=str(int(i % 10 == 3))) for i in range(50_000)]
    (tmp_path / "log.tsv").write_text(HEAD + "".join(rows))
    began = time.process_time()
    assert np.mean(read(tmp_path / "log.tsv").correct) == 0.1
    assert time.process_time() - began < 3.0
