"""Logs of the literature in all their forms: what is read is right, and what is not is named for what it is."""

import time
import tracemalloc
from pathlib import Path

import pytest

from models.refusing import refusal
from randsmooth import data, metrics
from randsmooth.certificates import PredictionLog, find_certificates, looks_like_log, read, write_tsv
from randsmooth.certificates.logs import tsv
from randsmooth.certificates.logs.inferred import CLASSES, DATASETS

HEAD = "idx\tlabel\tpredict\tradius\tcorrect\ttime"
ROWS = [(0, 3, 3, "0.644", 1), (20, 7, 2, "2.5e-05", 0), (40, 1, -1, "0.0", 0), (60, 9, 9, "1.91", 1)]


def text(time: str = "0:00:03.5", newline: str = "\n", correct: tuple[int, ...] = (1, 0, 0, 1), more: str = "") -> str:
    head = HEAD + ("\tearly_stopping_ratio\testimated_pr" if more else "")
    cells = zip(ROWS, correct, strict=True)
    lines = ["\t".join(map(str, (*row[:4], right, time))) + more for row, right in cells]
    return newline.join([head, *lines, ""])


FORMS = {
    "h:mm:ss.ffffff": (text("0:00:03.500000"), 3.5),
    "h:mm:ss": (text("1:02:03"), 3723.0),
    "days": (text("1 day, 0:00:03"), 86403.0),
    "plain seconds": (text("15.4"), 15.4),
    "CRLF": (text("0:00:03.500000", newline="\r\n"), 3.5),
    "running total": (text(correct=(1, 1, 1, 2)), 3.5),
    "a mark in front, as some editors put it": ("\ufeff" + text(), 3.5),
    "further columns": (text(more="\t0.5\t0.99"), 3.5),
}


def test_every_form_gives_the_same_rows(tmp_path: Path) -> None:
    path = tmp_path / "noise_0.50_4490"  # no suffix, as in most repositories
    for form, (content, seconds) in FORMS.items():
        path.write_bytes(content.encode())
        table = read(path)
        assert looks_like_log(path) and table.name == "noise_0.50_4490", form
        assert table.idx.tolist() == [0, 20, 40, 60] and table.label.tolist() == [3, 7, 1, 9], form
        assert table.predict.tolist() == [3, 2, -1, 9] and table.radius.tolist() == [0.644, 2.5e-05, 0.0, 1.91], form
        assert table.seconds.tolist() == [seconds] * 4, form
    path.write_text(text().replace("0:00:03.5", "15.4", 1))  # both in one log
    assert read(path).seconds.tolist() == [15.4, 3.5, 3.5, 3.5]
    path.write_text(text().replace("0:00:03.5", "1 day, 1:02:03.000001", 1))
    assert read(path).seconds[0] == 90123.000001


def bare(order: list[int]) -> str:
    return "".join("\t".join(map(str, (*ROWS[i][1:], "0:00:01.2"))) + "\n" for i in order)


def test_a_log_without_header_and_idx_is_read_but_paired_with_none(tmp_path: Path) -> None:
    (tmp_path / "bare.txt").write_text(bare([2, 0, 3, 1]))
    (tmp_path / "usual.tsv").write_text(text())
    table = read(tmp_path / "bare.txt")
    assert looks_like_log(tmp_path / "bare.txt") and table.label.tolist() == [1, 3, 9, 7]
    assert table.idx.tolist() == [-1, -2, -3, -4] and "does not say which images" in table.header.notes[0]
    assert metrics.acr(table).value == metrics.acr(read(tmp_path / "usual.tsv")).value
    for other in (read(tmp_path / "usual.tsv"), table):  # not even two such logs are known to be about the same images
        assert "bare does not say which images it is about" in refusal(metrics.pair, table, other)


def row(**facts: str) -> str:
    usual = {"idx": "4", "label": "3", "predict": "3", "radius": "0.644", "correct": "1", "time": "0:00:03.5"}
    return "\t".join((usual | facts).values()) + "\n"


REFUSED = {  # the whole text, and what the refusal names
    "predictions": ("idx\tlabel\tpredict\tcorrect\ttime\n0\t3\t3\t1\t0:00:01.5\n", "log of predictions"),
    "base": ("idx\tlabel\tpredict\tbasePredict\tcorrect\ttime\n0\t3\t3\t2\t1\t0:00:01.5\n", "(basePredict)"),
    "adaptive": (
        "idx\tlabel\tpredict\tradius proved\tcorrect\tlevels_needed\ttime\n0\t3\t3\t1\t1\t0\t0:00:01\n",
        "from_radii",
    ),
    "empty": ("", "lacks idx"),
    "commas": (text().replace("\t", ","), "with tabs between"),
    "counts": ("label,counts_0\n0,1\n", "`randsmooth from-counts FILE"),
    "neither 0/1 nor a total": (text(correct=(1, 1, 1, 3)), "line 3: correct='1' contradicts"),
    "negative seconds": (text("-3"), "line 2: time='-3'"),
    "seconds cut short": (text("15.4")[:-1], "ends inside its last line"),
    "no text": ("\udcff\udcfe" + text(), "no text in UTF-8"),
}
BAD = {  # rows under the usual header
    "a radius of 1e18": (row(radius="1e18"), "line 2: radius='1e18'"),
    "a radius below 0": (row(radius="-0.5"), "line 2: radius='-0.5'"),
    "an image of 1e18": (row(idx="1e18"), "from 0 to 1,000,000,000"),
    "images that fall": (row() + row(idx="3"), "line 3: idx='3' is below that of the row before: sort the rows"),
    "an image twice": (row() * 2, "stands twice; keep one row an image"),
    "an abstention with a radius": (row(predict="-1", correct="0"), "line 2: radius='0.644' stands where predict=-1"),
    "neither right nor wrong": (row() + row(idx="5", correct="2") + row(idx="6", correct="2"), "line 3: correct='2'"),
    "beyond floating point": (row(radius="1e999"), "line 2: radius='1e999'"),
    "not a number": (row(radius="nan"), "line 2: radius='nan'"),
    "digits of another script": (row(label="٣", predict="٣"), "line 2: label='٣'"),
    "a long time": (row(time="1e9"), "line 2: time='1e9'"),
    "a time of 99 minutes": (row(time="0:99:01"), "line 2: time='0:99:01'"),
    "a cell too few": (row() + "5\t3\t3\n", "line 3: 3 cells instead of 6"),
    "a wrong cell behind a blank line": (row() + "\n\n" + row(idx="9", label="x"), "line 5: label='x'"),
    "a zero byte": (row() + row(idx="5", time="0:00:0\0"), "line 3: time="),
}


def test_what_cannot_be_read_without_guessing_is_named_by_its_line(tmp_path: Path) -> None:
    path = tmp_path / "log.tsv"
    under = {what: (f"{HEAD}\n{rows}", named) for what, (rows, named) in BAD.items()}
    for what, (content, named) in (REFUSED | under).items():
        path.write_bytes(content.encode(errors="surrogateescape"))
        said = refusal(read, path)
        assert named in said and str(path) in said and len(said) < 600, (what, said)


def test_a_log_cut_short_is_refused_or_ends_at_a_line(tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole.tsv", tmp_path / "cut.tsv"
    whole.write_text(text("0:00:03.500000"))
    write_tsv(read(whole), whole)
    content = whole.read_bytes()
    for length in range(len(HEAD) + 1, len(content)):
        cut.write_bytes(content[:length])
        complete = content[:length].endswith(b"\n") or content[length : length + 1] == b"\n"
        if complete:
            assert len(read(cut)) == content[:length].decode().strip("\n").count("\n"), length
        else:
            assert "cut" in refusal(read, cut), length


def test_labels_are_among_the_classes_of_the_data_set_that_the_path_names(tmp_path: Path) -> None:
    for dataset in sorted(set(DATASETS.values())):
        path = tmp_path / f"{dataset}-sigma0.5" / "gaussian.tsv"
        path.parent.mkdir()
        last = CLASSES[dataset] - 1
        path.write_text(f"{HEAD}\n" + row(label=str(last), predict=str(last)))
        assert read(path).label.tolist() == [last], dataset
        path.write_text(f"{HEAD}\n" + row(label=str(last + 1), predict=str(last + 1)))
        assert f"from 0 to {last}, the classes of {dataset}" in refusal(read, path)
        if dataset in data.DATASETS:
            assert data.DATASETS[dataset].num_classes == CLASSES[dataset]


def test_what_is_no_log_takes_neither_time_nor_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tsv, "MOST_LINES", 1000)
    monkeypatch.setattr(tsv, "MOST_BYTES", 10**6)
    floods = {
        "lacks idx": "\t".join(map(str, range(100_000))) + "\n",
        "101 cells instead of 6": f"{HEAD}\n" + "\t" * 500_000 + "\n",
        "more than 1,000 lines": HEAD + "\n" * 500_000,
        "expected at most 1,000,000": f"{HEAD}\n" + row() * 100_000,
    }
    for named, content in floods.items():
        (tmp_path / "log.tsv").write_text(content)
        tracemalloc.start()
        began = time.process_time()
        assert named in refusal(read, tmp_path / "log.tsv")
        took, (_, peak) = time.process_time() - began, tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert took < 1.0 and peak < 2**23, named


def test_logs_are_found_by_their_first_line(tmp_path: Path) -> None:
    for name in ("sigma_0.25", "noise_0.50_4490", "predictions", "README.md", "notes.txt", "log.tsv"):
        (tmp_path / name).write_text(text() if name[0] in "snp" and name != "notes.txt" else "words\tand words\n")
    found = [path.name for path in find_certificates(tmp_path)]
    assert found == ["log.tsv", "noise_0.50_4490", "predictions", "sigma_0.25"]


def parsed(path: Path) -> list[list[str]] | None:
    """The rows of a log by the plainest means; None for a log of predictions."""
    head, *lines = path.read_text().replace("\r", "").strip("\n").split("\n")
    return [line.split("\t") for line in lines] if head == HEAD else None


@pytest.mark.slow
def test_every_released_log_is_read_and_none_misread(logs: Path) -> None:
    released = find_certificates(logs / "as-released")
    assert len(released) == 116
    predictions = []
    for path in released:
        rows = parsed(path)
        if rows is None:
            predictions.append(path.name)
            with pytest.raises(PredictionLog, match="log of predictions"):
                read(path)
            continue
        table = read(path)
        for column, place in (("idx", 0), ("label", 1), ("predict", 2), ("radius", 3)):
            assert getattr(table, column).tolist() == [float(row[place]) for row in rows], (path, column)
        assert table.correct.tolist() == [row[4] == "1" for row in rows], path
        assert table.seconds[0] == pytest.approx(seconds(rows[0][5])), path
        acr = sum(float(row[3]) for row in rows if row[1] == row[2]) / len(rows)
        assert (table.radius * table.correct).mean() == pytest.approx(acr, abs=1e-12), path
    assert sorted(predictions) == ["N_1000", "predictions"]


def seconds(time: str) -> float:
    total = 0.0
    for part in time.split(":"):
        total = 60.0 * total + float(part)
    return total
