"""The page of the field's results in a real browser, where one is installed, with files that a reader drops on it."""

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from docs.field import page
from docs.field.pairs import LEVELS, judged_of, setting_of
from docs.field.rows import Row
from jinja2.utils import htmlsafe_json_dumps

from randsmooth.certificates import Certificates, Header, from_evidence
from randsmooth.report import measure, write_leaderboard
from report.browser import opened


def asked(field: Path, name: str, **content: Any) -> Any:
    """What the probe of this name, amid what all of them do and with what it needs as constants, tells of the page."""
    given = "".join(
        f"const {name} = {htmlsafe_json_dumps(value)};"
        for name, value in content.items()
    )
    outer, body = (
        (Path(__file__).parent / "probes" / f"{each}.js").read_text()
        for each in ("steps", name)
    )
    return opened(field, outer.replace("BODY", given + body), size=(1280, 1000))


@pytest.fixture(scope="module")
def kept() -> tuple[list[Row], dict[str, Any]]:
    return page.read_kept()


@pytest.fixture
def field(kept: tuple[list[Row], dict[str, Any]], tmp_path: Path) -> Path:
    path = tmp_path / "field.html"
    path.write_text(page.whole_page(*kept))
    return path


def test_the_page_asks_for_nothing_and_names_nobody_else(
    kept: tuple[list[Row], dict[str, Any]],
) -> None:
    site, alone = (
        without_data(page.whole_page(*kept, site=site)) for site in (True, False)
    )
    assert "default-src 'none'" in site and "'unsafe-eval'" not in site
    assert set(re.findall(r'(?:src|href)="([^"]*)"', site)) == {
        "index.html",
        "../why-not-acr.html",
    }
    assert "http" not in re.sub("http-equiv", "", site) and "href" not in alone


def settings_words(row: Row) -> str:
    return f"{row['dataset']}, {row['images']:,.0f} images ({row['image_set']}), sigma {row['sigma']:g},"


def without_data(text: str) -> str:
    return re.sub(
        r'<script type="application/json".*?</script>',
        "",
        unescape(text),
        flags=re.DOTALL,
    )


@pytest.mark.slow
def test_sorting_and_filtering(
    field: Path, kept: tuple[list[Row], dict[str, Any]]
) -> None:
    told = asked(field, "sorting")
    judged = [row for row in kept[0] if row["status"] == "judged"]
    mine = [row for row in judged if row["dataset"] == "cifar100"]
    far_ends = sorted(
        (row["p_a_0.9"] for row in judged if row["p_a_0.9"] is not None), reverse=True
    )
    acrs = sorted((row["acr"] for row in judged), reverse=True)
    opening = [
        row
        for row in judged
        if told["first"].startswith(settings_words(row)) and not row["more_data"]
    ]
    best: dict[str, float] = {}
    for row in opening:
        best[row["method"]] = max(best.get(row["method"], 0.0), row["accuracy_0.25"])
    assert {row["images"] for row in opening} == {10_000} and len(best) > 7
    # The setting's own radius is its sigma.
    assert {page.ranking_radius(row) for row in opening} == {0.25}
    assert {row["sigma"] for row in opening} == {0.25}
    assert told["methods"] == [
        [name, f"{100 * p + 1e-9:.1f}"]
        for name, p in sorted(best.items(), key=lambda item: -item[1])
    ]
    assert (
        told["unfolded"] == int(told["more"].removeprefix("+ ")) > 0 == told["folded"]
    )
    assert told["fits"]  # verdict and ACR on the screen at 1280
    assert told["heads"] == len(
        {(setting_of(row), bool(row["more_data"])) for row in judged}
    )
    assert told["start"][0] == f"{len(judged):,} of {len(judged):,} logs found."
    assert [float(text) for text in told["start"][1]] == pytest.approx(
        [100 * x for x in far_ends[:50]], abs=0.051
    )
    assert [float(text) for text in told["acr"]] == pytest.approx(acrs, abs=6e-4)
    assert (
        float(told["up"][0]) == pytest.approx(acrs[-1], abs=6e-4) and told["sorts"] == 1
    )
    assert told["unknown"] == "–"  # below 1/2: comes last, whichever way
    assert told["data"] == 1 and told["shown"].startswith(f"{len(mine)} of")
    assert told["found"] == sum("macer" in row["path"] for row in mine) == 2
    assert told["focus"]


@pytest.mark.slow
def test_two_logs_are_compared_image_by_image(
    field: Path, kept: tuple[list[Row], dict[str, Any]]
) -> None:
    paths = [
        f"eth-sri/acr-weakness/data/certify/cifar10/{name}/noise_0.5.tsv"
        for name in ("ours", "gaussian")
    ]
    third = (
        "locuslab/smoothing/data/certify/imagenet/resnet50/noise_0.50/test/sigma_0.50"
    )
    told = asked(field, "two_logs", PATHS=paths, THIRD=third)
    rows = {f"{row['repository']}/{row['path']}": row for row in kept[0]}
    ours, gaussian = (rows[path] for path in paths)
    judged = judged_of(kept[0])
    i, j = (
        judged.index(gaussian),
        judged.index(ours),
    )  # in this order, so that all ends change their signs
    (ends,) = (
        ends
        for *pair, ends in ([*each[:2], each[2:]] for each in kept[1]["pairs"])
        if pair == [i, j]
    )
    assert told["one"] == [False, 1, 0] and told["paths"] == [2, 2]
    for place, level in enumerate(LEVELS):
        value = ours[f"p_a_{level:g}"] - gaussian[f"p_a_{level:g}"]
        low, high = (
            -end / kept[1]["finest"] for end in ends[2 * place : 2 * place + 2][::-1]
        )
        shown = told["rows"][place][3].replace("−", "-")
        assert [float(x) for x in re.findall(r"[-+][\d.]+", shown)] == pytest.approx(
            [100 * x for x in (value, low, high)], abs=0.051
        )
    assert told["rows"][0][3].startswith("−") and told["rows"][-1][3].startswith(
        "+"
    )  # fewer images, higher ACR
    assert (
        "misleading" in told["rows"][-1][0] and "same 10,000 images" in told["together"]
    )
    at = [row["p_a_0.75"] for row in (ours, gaussian)]
    assert [
        float(text.partition("%")[0]) / 100 for text in told["read"]
    ] == pytest.approx(at, abs=0.02)
    assert told["third"] == ["false", "true"] and told["cleared"] is True


def leaderboard(folder: Path, **facts: object) -> str:
    """The JSON that the command writes of two tables."""
    rng = np.random.default_rng(0)
    entries = []
    for name, a in (("mine", 8.0), ("theirs", 2.0)):
        p = rng.beta(a, 1.0, 80)
        counts = np.stack([rng.binomial(1000, p), np.zeros(80, np.int64)], axis=1)
        counts[:, 1] = 1000 - counts[:, 0]
        header = Header(
            sigma=0.5,
            n0=1000,
            n=1000,
            alpha=0.001,
            dataset="digits",
            model={"method": "macer"},
            **facts,
        )
        idx = np.arange(80)
        table: Certificates = from_evidence(
            header,
            idx=idx,
            label=idx * 0,
            counts0=counts,
            counts=counts,
            seconds=np.zeros(80),
            name=name,
        )
        entries.append(measure(table, f"deep/{name}.parquet"))
    write_leaderboard(entries, folder / "board.html")
    return (folder / "board.json").read_text()


@pytest.mark.slow
def test_a_leaderboard_of_ones_own_joins_the_table(field: Path, tmp_path: Path) -> None:
    text = leaderboard(tmp_path)
    told = asked(field, "leaderboard", MINE=text)
    theirs = next(record for record in json.loads(text) if record["name"] == "theirs")
    shares = pytest.approx([100 * point["value"] for point in theirs["p_A"]], abs=0.051)
    assert told["more"] == 2 and told["added"] == ["mine.json (2 tables) take away"]
    assert told["row"][0].startswith("theirs") and told["row"][1:4] == [
        "digits",
        "0.5",
        "80",
    ]
    assert [float(text) for text in told["row"][4:8]] == shares
    assert float(told["row"][-1]) == pytest.approx(theirs["acr"]["value"], abs=6e-4)
    assert told["first"][1] == told["row"][4]  # the one that was pressed first
    assert "nothing is paired" in told["together"] and told["paths"] == [2, 2]
    assert told["after"] == [0, True, ""] and told["chosen"] == [2, ["chosen.json"]]


EVIL = [
    "</script><script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked = 1'>",
    "\u202egnp.exe",
    "a\nb\x00",
]


@pytest.mark.slow
def test_what_a_dropped_file_says_stays_text(field: Path, tmp_path: Path) -> None:
    records = json.loads(leaderboard(tmp_path))
    wicked = [
        records[0]
        | dict.fromkeys(
            ("name", "file", "dataset", "split", "method", "settings", "repository"),
            word,
        )
        | {
            "against": {"baseline": word, "words": word},
            "__proto__": {"name": word},
            "onclick": word,
        }
        for word in EVIL
    ]
    told = asked(field, "evil", WICKED=json.dumps(wicked), EVIL=EVIL)
    spelled = [*EVIL[:2], "\\u202egnp.exe", "a\\u000ab\\u0000"]
    assert told["hacked"] and told["none"] == told["scripts"] == 0
    assert sorted(told["names"]) == sorted(spelled) and set(spelled) <= set(
        told["options"]
    )
    assert told["added"] == [f"{EVIL[1]}.json"]
    first, second = told["refused"][0].split("\n")
    assert first.startswith("<b>.json is not JSON.") and second.startswith(
        'b.json: table 1, "images" must be'
    )
    assert told["refused"][1] == 0


def wrong(**changes: object) -> str:
    record: dict[str, object] = {
        "name": "a",
        "images": 10,
        "p_A": [{"at_least": 0.5, "value": 0.5}],
    }
    return json.dumps([record | changes])


BAD = {
    "text": ("not json", "is not JSON"),
    "empty": ("[]", "must be a list of tables"),
    "number": ("[1]", "table 1 must be a table"),
    "unnamed": (wrong(name=""), '"name" must be a text'),
    "sigma": (wrong(sigma="0.5"), '"sigma" must be a number of at least 0 or null'),
    "share": (
        wrong(p_A=[{"at_least": 0.5, "value": 1.5}]),
        '"p_A" must be a list of shares',
    ),
    "acr": (
        wrong(acr={"value": -1, "low": 0, "high": 1}),
        '"acr" must be three numbers',
    ),
    "infinite": (
        wrong(acr={"value": 1, "low": 0, "high": 1}).replace(
            '"high": 1', '"high": 1e999'
        ),
        '"acr" must be',
    ),
    "deep": ("[" * 100_000, "is not JSON"),
    "crowd": (json.dumps([{"name": "a", "images": 1}] * 5001), "has 5001 tables"),
}


@pytest.mark.slow
def test_bad_files_are_refused_with_a_sentence_and_change_nothing(field: Path) -> None:
    told = asked(
        field,
        "bad_files",
        BAD={name: text for name, (text, _) in BAD.items()},
        GOOD=wrong(),
    )
    for name, (_, words) in BAD.items():
        assert (
            told["said"][name].startswith(f"{name}.json")
            and words in told["said"][name]
        ), name
    assert "more than 20 MB" in told["said"]["big"]
    assert told["same"] and told["fine"] == ["", 1]
