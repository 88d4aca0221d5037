"""Logs of the literature in all their forms: what is read is right, and what is not is named for what it is."""

import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

from models.refusing import problem_of
from randsmooth import data, metrics
from randsmooth.certificates import (
    PredictionLog,
    find_certificates,
    infer,
    log_at_alpha,
    looks_like_log,
    read,
    write_tsv,
)
from randsmooth.certificates.logs import text as log_text
from randsmooth.certificates.logs.paths import DATASETS
from randsmooth.certificates.logs.repositories import CLASSES
from randsmooth.cli import certificate_files
from randsmooth.errors import BadValue, SeveralProblems, WrongFile, WrongTable
from randsmooth.notes import Note
from values import Refusal, refused

HEAD = "idx\tlabel\tpredict\tradius\tcorrect\ttime"
ROWS = [
    (0, 3, 3, "0.644", 1),
    (20, 7, 2, "2.5e-05", 0),
    (40, 1, -1, "0.0", 0),
    (60, 9, 9, "1.91", 1),
]


def text(
    time: str = "0:00:03.5",
    newline: str = "\n",
    correct: tuple[int, ...] = (1, 0, 0, 1),
    more: str = "",
) -> str:
    head = HEAD + ("\tearly_stopping_ratio\testimated_pr" if more else "")
    cells = zip(ROWS, correct, strict=True)
    lines = [
        "\t".join(map(str, (*row[:4], right, time))) + more for row, right in cells
    ]
    return newline.join([head, *lines, ""])


def sorted_by(log: str, column: str) -> str:
    """The log with its rows in the order of what a column says, as text."""
    head, *rows = log.splitlines()
    place = head.split("\t").index(column)
    return "\n".join([head, *sorted(rows, key=lambda row: row.split("\t")[place]), ""])


def appended(first: str, more: list[str]) -> str:
    """The first rows of a log, then its header again, as a job that opens its log to append writes it, and `more`."""
    head, *rows = first.splitlines()
    return "\n".join([head, *rows[:2], head, *more, ""])


FORMS = {
    "h:mm:ss.ffffff": (text("0:00:03.500000"), 3.5),
    "h:mm:ss": (text("1:02:03"), 3723.0),
    "days": (text("1 day, 0:00:03"), 86403.0),
    "plain seconds": (text("15.4"), 15.4),
    "CRLF": (text("0:00:03.500000", newline="\r\n"), 3.5),
    "running total": (text(correct=(1, 1, 1, 2)), 3.5),
    "a mark in front, as some editors put it": ("\ufeff" + text(), 3.5),
    "further columns": (text(more="\t0.5\t0.99"), 3.5),
    "another name of idx": (text().replace("idx", "original_idx", 1), 3.5),
    "another name of radius": (text().replace("radius", "radius_L2", 1), 3.5),
    "capitals and spaces": (
        text().replace(HEAD, HEAD.title().replace("\t", " \t")),
        3.5,
    ),
    "correct as Python prints it": (text(correct=(True, False, False, True)), 3.5),
    "no header, but idx": (text().partition("\n")[2], 3.5),
    "in another order": (sorted_by(text(), "radius"), 3.5),
    "a running total, then another order": (
        sorted_by(text(correct=(1, 1, 1, 2)), "label"),
        3.5,
    ),
    "a run that went on in the same file": (
        appended(text(), text().splitlines()[3:]),
        3.5,
    ),
    "a running total that began again": (
        appended(text(), text(correct=(0, 0, 0, 1)).splitlines()[3:]),
        3.5,
    ),
    "misclassified images that were not certified": (
        text().replace("\t-1\t", "\t-2\t"),
        3.5,
    ),
}
NOTE_OF_FORM = {  # the header's note on forms in which something was done
    "further columns": Note(
        "columns_not_read", columns="early_stopping_ratio, estimated_pr"
    ),
    "in another order": Note("sorted_by_idx"),
    "a running total, then another order": Note("sorted_by_idx"),
    "a run that went on in the same file": Note("second_header", lines="4"),
    "a running total that began again": Note("second_header", lines="4"),
    "misclassified images that were not certified": Note("misclassified", images=1),
}


def test_every_form_gives_the_same_rows(tmp_path: Path) -> None:
    path = tmp_path / "noise_0.50_4490"  # no suffix, as in most repositories
    for form, (content, seconds) in FORMS.items():
        path.write_bytes(content.encode())
        table = read(path)
        assert looks_like_log(path) and table.name == "noise_0.50_4490", form
        assert table.idx.tolist() == [0, 20, 40, 60] and table.label.tolist() == [
            3,
            7,
            1,
            9,
        ], form
        assert table.predict.tolist() == [3, 2, -1, 9] and table.radius.tolist() == [
            0.644,
            2.5e-05,
            0.0,
            1.91,
        ], form
        assert table.seconds.tolist() == [seconds] * 4, form
        expected = [NOTE_OF_FORM[form]] if form in NOTE_OF_FORM else []
        assert list(table.header.notes) == expected, form
    path.write_text(text().replace("0:00:03.5", "15.4", 1))  # both in one log
    assert read(path).seconds.tolist() == [15.4, 3.5, 3.5, 3.5]
    path.write_text(text().replace("0:00:03.5", "1 day, 1:02:03.000001", 1))
    assert read(path).seconds[0] == 90123.000001


def bare(order: list[int]) -> str:
    return "".join(
        "\t".join(map(str, (*ROWS[i][1:], "0:00:01.2"))) + "\n" for i in order
    )


def test_a_log_without_header_and_idx_is_read_but_paired_with_none(
    tmp_path: Path,
) -> None:
    (tmp_path / "bare.txt").write_text(bare([2, 0, 3, 1]))
    (tmp_path / "usual.tsv").write_text(text())
    table = read(tmp_path / "bare.txt")
    assert looks_like_log(tmp_path / "bare.txt") and table.label.tolist() == [
        1,
        3,
        9,
        7,
    ]
    assert table.idx.tolist() == [-1, -2, -3, -4] and table.header.notes[0] == Note(
        "unnumbered"
    )
    assert metrics.acr(table).value == metrics.acr(read(tmp_path / "usual.tsv")).value
    for other in (
        read(tmp_path / "usual.tsv"),
        table,
    ):  # not even two such logs are known to be about the same images
        Refusal(WrongTable).check(problem_of(metrics.pair, table, other))


def row(**facts: str) -> str:
    usual = {
        "idx": "4",
        "label": "3",
        "predict": "3",
        "radius": "0.644",
        "correct": "1",
        "time": "0:00:03.5",
    }
    return "\t".join((usual | facts).values()) + "\n"


# A whole text, and its problem.
REFUSED = {
    "predictions": (
        "idx\tlabel\tpredict\tcorrect\ttime\n0\t3\t3\t1\t0:00:01.5\n",
        Refusal(PredictionLog),
    ),
    "base": (
        "idx\tlabel\tpredict\tbasePredict\tcorrect\ttime\n0\t3\t3\t2\t1\t0:00:01.5\n",
        Refusal(PredictionLog, "basePredict"),
    ),
    "adaptive": (
        "idx\tlabel\tpredict\tradius proved\tcorrect\tlevels_needed\ttime\n0\t3\t3\t1\t1\t0\t0:00:01\n",
        Refusal(WrongFile, "from_radii"),
    ),
    "empty": ("", Refusal(WrongFile)),
    "commas": (text().replace("\t", ","), Refusal(WrongFile, "commas")),
    "words above it": (
        "Namespace(N=100000)\n" + text(),
        Refusal(WrongFile, "'Namespace(N=100000)'"),
    ),
    "words below it": (
        text() + "sigma 0.25 accuracy 0.66\n",
        Refusal(WrongFile, "line 6", "1 cell", "6"),
    ),
    "UTF-16": ("\udcff\udcfei\0d\0", Refusal(WrongFile, "UTF-16")),
    "gzip": ("\udc1f\udc8b".replace("\udc1f", "\x1f"), Refusal(WrongFile, "gzip")),
    "a second run": (
        appended(text(), text().splitlines()[1:]),
        Refusal(WrongFile, "line 5", "idx='0'", "line 2", "line 4"),
    ),
    "a second run without header": (
        text() + text().partition("\n")[2],
        Refusal(WrongFile, "line 6", "idx='0'", "line 2"),
    ),
    "several radii": (
        text().replace("radius", "radius_L2", 1).replace("time", "radius_L1", 1),
        Refusal(WrongFile, "radius_L2, radius_L1"),
    ),
    "two radii": (
        text().replace("time", "radius", 1),
        Refusal(WrongFile, "radius, radius"),
    ),
    "VERONA's results": (
        "network,image_id,original_label,epsilon_value\nRS,9,5,0.0\n",
        Refusal(WrongFile, "VERONA"),
    ),
    "counts": ("label,counts_0\n0,1\n", Refusal(WrongFile, "`randsmooth from-counts")),
    "neither 0/1 nor a total": (
        text(correct=(1, 1, 1, 3)),
        Refusal(WrongFile, "line 3", "correct='1'"),
    ),
    "negative seconds": (text("-3"), Refusal(WrongFile, "line 2", "time='-3'")),
    "seconds cut short": (text("15.4")[:-1], Refusal(WrongFile)),
    "no text": ("\udcff\udcff" + text(), Refusal(WrongFile, "UTF-8")),
}
# Rows under the usual header, and their problem.
BAD = {
    "a radius of 1e18": (
        row(radius="1e18"),
        Refusal(WrongFile, "line 2", "radius='1e18'"),
    ),
    "a radius below 0": (
        row(radius="-0.5"),
        Refusal(WrongFile, "line 2", "radius='-0.5'"),
    ),
    "an image of 1e18": (row(idx="1e18"), Refusal(WrongFile, "1e18", "1,000,000,000")),
    "an image twice": (
        row() * 2,
        Refusal(WrongFile, "line 3", "idx='4'", "line 2"),
    ),
    "misclassified with a radius": (
        row(predict="-2", correct="0"),
        Refusal(WrongFile, "line 2", "radius='0.644'", "predict"),
    ),
    "a class below any": (
        row(predict="-3", correct="0"),
        Refusal(WrongFile, "line 2", "predict='-3'"),
    ),
    "an abstention with a radius": (
        row(predict="-1", correct="0"),
        Refusal(WrongFile, "line 2", "radius='0.644'", "predict"),
    ),
    "neither right nor wrong": (
        row() + row(idx="5", correct="2") + row(idx="6", correct="2"),
        Refusal(WrongFile, "line 3", "correct='2'"),
    ),
    "beyond floating point": (
        row(radius="1e999"),
        Refusal(WrongFile, "line 2", "radius='1e999'"),
    ),
    "not a number": (row(radius="nan"), Refusal(WrongFile, "line 2", "radius='nan'")),
    "digits of another script": (
        row(label="٣", predict="٣"),
        Refusal(WrongFile, "line 2", "label='٣'"),
    ),
    "a long time": (row(time="1e9"), Refusal(WrongFile, "line 2", "time='1e9'")),
    "a time of 99 minutes": (
        row(time="0:99:01"),
        Refusal(WrongFile, "line 2", "time='0:99:01'"),
    ),
    "a cell too few": (
        row() + "5\t3\t3\n",
        Refusal(WrongFile, "line 3", "3 cells", "6"),
    ),
    "a wrong cell behind a blank line": (
        row() + "\n\n" + row(idx="9", label="x"),
        Refusal(WrongFile, "line 5", "label='x'"),
    ),
    "a zero byte": (
        row() + row(idx="5", time="0:00:0\0"),
        Refusal(WrongFile, "line 3", "time="),
    ),
}


def test_what_cannot_be_read_without_guessing_is_named_by_its_line(
    tmp_path: Path,
) -> None:
    path = tmp_path / "log.tsv"
    under = {
        what: (f"{HEAD}\n{rows}", expected) for what, (rows, expected) in BAD.items()
    }
    for content, expected in (REFUSED | under).values():
        path.write_bytes(content.encode(errors="surrogateescape"))
        problem = problem_of(read, path)
        expected.check(problem)
        assert problem.file == path and str(path) in str(problem)
        assert len(str(problem)) < 600


def test_a_log_cut_short_is_refused_or_ends_at_a_line(tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole.tsv", tmp_path / "cut.tsv"
    whole.write_text(text("0:00:03.500000"))
    write_tsv(read(whole), whole)
    content = whole.read_bytes()
    for length in range(len(HEAD) + 1, len(content)):
        cut.write_bytes(content[:length])
        complete = (
            content[:length].endswith(b"\n") or content[length : length + 1] == b"\n"
        )
        if complete:
            assert len(read(cut)) == content[:length].decode().strip("\n").count(
                "\n"
            ), length
        else:
            Refusal(WrongFile, "cut").check(problem_of(read, cut))


def test_labels_are_among_the_classes_of_the_data_set_that_the_path_names(
    tmp_path: Path,
) -> None:
    for dataset in sorted(set(DATASETS.values())):
        path = tmp_path / f"{dataset}-sigma0.5" / "gaussian.tsv"
        path.parent.mkdir()
        last = CLASSES[dataset] - 1
        path.write_text(f"{HEAD}\n" + row(label=str(last), predict=str(last)))
        assert read(path).label.tolist() == [last], dataset
        path.write_text(f"{HEAD}\n" + row(label=str(last + 1), predict=str(last + 1)))
        Refusal(WrongFile, str(last), str(dataset)).check(problem_of(read, path))
        if dataset in data.DATASETS:
            assert data.DATASETS[dataset].num_classes == CLASSES[dataset]


OTHER_FILES = {
    "web page (404)": "<!DOCTYPE html><html><title>404</title></html>\n",
    "pointer of Git LFS": "version https://git-lfs.github.com/spec/v1\n",
    "commas between": (HEAD + "\n" + row()).replace("\t", ","),
    "semicolons between": (HEAD + "\n" + row()).replace("\t", ";"),
    "spaces between": (HEAD + "\n" + row()).replace("\t", "   "),
    "quotes around": "\t".join(f'"{name}"' for name in HEAD.split("\t")) + "\n",
}


def test_what_a_file_is_comes_before_the_columns_it_lacks(tmp_path: Path) -> None:
    for cause, content in OTHER_FILES.items():
        (tmp_path / "log.tsv").write_text(content)
        problem = problem_of(read, tmp_path / "log.tsv")
        Refusal(WrongFile, cause).check(problem)
        assert "lacks" not in str(problem)


def test_what_is_no_log_takes_neither_time_nor_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_text, "MOST_LINES", 1000)
    monkeypatch.setattr(log_text, "MOST_BYTES", 10**6)
    floods = {
        "idx": "\t".join(map(str, range(100_000))) + "\n",
        "101 cells": f"{HEAD}\n" + "\t" * 500_000 + "\n",
        "1,000 lines": HEAD + "\n" * 500_000,
        "1,000,000": f"{HEAD}\n" + row() * 100_000,
    }
    for named, content in floods.items():
        (tmp_path / "log.tsv").write_text(content)
        tracemalloc.start()
        began = time.process_time()
        Refusal(WrongFile, named).check(problem_of(read, tmp_path / "log.tsv"))
        took, (_, peak) = time.process_time() - began, tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert took < 1.0 and peak < 2**23, named


# Six images under sigmas of their own; n = 100,000 at alpha 0.001. All samples agree but for the last image.
SIGMAS = [0.25, 0.12, 0.12, 0.07, 0.20, 0.25]
P_LOWER = [0.001**1e-5] * 5 + [0.75]


def with_columns(radii: list[float], **columns: list[float]) -> str:
    """A log of right images with further columns before its last."""
    head = ["idx", "label", "predict", "radius", "correct", *columns, "time"]
    rows = ["\t".join(head)]
    for place, radius in enumerate(radii):
        further = [str(cells[place]) for cells in columns.values()]
        rows.append(
            "\t".join(
                [
                    str(20 * place),
                    "3",
                    "3",
                    str(radius),
                    "1",
                    *further,
                    "0:00:01.500000",
                ]
            )
        )
    return "\n".join([*rows, ""])


def own_radii(sigmas: list[float], p_lower: list[float] = P_LOWER) -> list[float]:
    return [
        sigma * float(norm.ppf(p)) for sigma, p in zip(sigmas, p_lower, strict=True)
    ]


@pytest.mark.parametrize("column", ["best_sigma", "sigma"])
@pytest.mark.parametrize("stated", [True, False])
def test_p_a_of_images_with_sigmas_of_their_own_is_recovered_by_these(
    tmp_path: Path, column: str, stated: bool
) -> None:
    path = tmp_path / "noise_0.25" / "log.tsv"  # of the training
    path.parent.mkdir()
    more = {"pABar": P_LOWER} if stated else {}
    path.write_text(with_columns(own_radii(SIGMAS), **{column: SIGMAS}, **more))
    table = infer(read(path), path)
    assert (table.header.sigma, table.header.n, table.header.alpha) == (
        None,
        100_000,
        0.001,
    )
    assert table.sigmas is not None and table.sigmas.tolist() == SIGMAS
    assert table.header.notes[0] == Note(
        "sigmas_column", low=0.07, high=0.25, column=column
    )
    assert (
        metrics.p_a(table).share(0.99).value == 5 / 6
    )  # one sigma for all would say 1 / 6
    assert metrics.p_a(table).values[-1] == pytest.approx(0.75, abs=0.005)
    turned = table.rows(np.arange(6)[::-1])
    assert turned.sigmas is not None and turned.sigmas.tolist() == SIGMAS[::-1]
    assert log_at_alpha(table, 0.01).radius[0] == pytest.approx(
        0.25 * norm.ppf(0.01**1e-5), rel=1e-6
    )
    for taken in (infer, lambda table, _, sigma: table.assuming(sigma=sigma)):
        problem = problem_of(taken, table, path, sigma=0.25)
        Refusal(WrongTable, "0.07", "0.25").check(problem)
    Refusal(WrongTable).check(problem_of(write_tsv, table, tmp_path / "out.tsv"))
    Refusal(WrongTable).check(problem_of(metrics.acr_at, table, n=1000))
    Refusal(WrongTable).check(problem_of(lambda: table.noise))


def test_a_given_sigma_is_that_of_the_logs_that_do_not_say_theirs(
    tmp_path: Path,
) -> None:
    own, usual = tmp_path / "own.tsv", tmp_path / "usual.tsv"
    own.write_text(with_columns(own_radii(SIGMAS), best_sigma=SIGMAS))
    usual.write_text(with_columns(own_radii([0.5] * 6)))
    tables = certificate_files.load([own, usual], sigma=0.5)
    assert [table.header.sigma for table in tables] == [None, 0.5]
    assert [metrics.p_a(table).share(0.99).value for table in tables] == [5 / 6, 5 / 6]
    Refusal(SeveralProblems).check(problem_of(certificate_files.load, [own], sigma=0.5))


def test_a_sigma_that_all_images_share_is_the_logs_and_may_not_be_contradicted(
    tmp_path: Path,
) -> None:
    path = tmp_path / "sigma_0.25"
    path.write_text(with_columns(own_radii([0.5] * 6), sigma=[0.5] * 6))
    table = infer(read(path), path)
    assert (table.header.sigma, table.header.n, table.sigmas) == (0.5, 100_000, None)
    assert metrics.p_a(table).share(0.99).value == 5 / 6
    Refusal(BadValue, "0.5").check(problem_of(infer, read(path), path, sigma=0.25))
    head, *rows = path.read_text().splitlines()
    moved = [
        "\t".join([*line.split("\t")[:5], *line.split("\t")[:4:-1]])
        for line in (head, *rows)
    ]
    path.write_text("\n".join(moved))  # a sigma that was cut is a number, too
    assert moved[0].endswith("time\tsigma")
    Refusal(WrongFile).check(problem_of(read, path))


def test_bounds_on_p_a_that_a_log_states_are_used_and_contradict_a_wrong_sigma(
    tmp_path: Path,
) -> None:
    path = tmp_path / "log.tsv"
    path.write_text(with_columns(own_radii([0.5] * 6), pABar=P_LOWER))
    table = infer(read(path), path)
    assert (table.header.sigma, table.header.n, table.header.alpha) == (
        None,
        100_000,
        0.001,
    )
    assert metrics.p_a(table).share(0.99).value == 5 / 6
    assert infer(read(path), path, sigma=0.5).header.sigma == 0.5
    problem = problem_of(infer, read(path), path, sigma=1.0)
    Refusal(BadValue, "1.905", "pABar").check(problem)
    path.write_text(with_columns([0.4] * 6, pABar=[0.4] * 6))
    Refusal(WrongFile, "line 2: pABar='0.4'").check(problem_of(read, path))
    path.write_text(with_columns([0.4] * 6, pABar=[1.4] * 6))
    Refusal(WrongFile, "line 2: pABar='1.4'").check(problem_of(read, path))
    path.write_text(with_columns([0.4] * 6, sigma=SIGMAS, best_sigma=SIGMAS))
    Refusal(WrongFile, "best_sigma").check(problem_of(read, path))
    path.write_text(with_columns([0.4] * 6, sigma=[0.0] * 6))
    Refusal(WrongFile, "sigma='0.0'").check(problem_of(read, path))


def test_logs_are_found_by_their_first_line(tmp_path: Path) -> None:
    for name in (
        "sigma_0.25",
        "noise_0.50_4490",
        "predictions",
        "README.md",
        "notes.txt",
        "log.tsv",
    ):
        (tmp_path / name).write_text(
            text() if name[0] in "snp" and name != "notes.txt" else "words\tand words\n"
        )
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
            with refused(PredictionLog, file=path):
                read(path)
            continue
        table = read(path)
        for column, place in (("idx", 0), ("label", 1), ("predict", 2), ("radius", 3)):
            assert getattr(table, column).tolist() == [
                float(row[place]) for row in rows
            ], (path, column)
        assert table.correct.tolist() == [row[4] == "1" for row in rows], path
        assert table.seconds[0] == pytest.approx(seconds(rows[0][5])), path
        acr = sum(float(row[3]) for row in rows if row[1] == row[2]) / len(rows)
        assert (table.radius * table.correct).mean() == pytest.approx(acr, abs=1e-12), (
            path
        )
    assert sorted(predictions) == ["N_1000", "predictions"]


def seconds(time: str) -> float:
    total = 0.0
    for part in time.split(":"):
        total = 60.0 * total + float(part)
    return total
