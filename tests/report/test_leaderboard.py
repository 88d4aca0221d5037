"""The leaderboard: true to the tables, ranked at a radius named beforehand, safe, offline."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from models.refusing import check_refusals, refusal
from randsmooth import bounds, metrics
from randsmooth.certificates import Certificates
from randsmooth.cli.rankings import ranking_lines, records_of
from randsmooth.errors import BadValue, NotFound, WrongTable
from randsmooth.report import charts, leaderboard_page, measure, write_leaderboard
from randsmooth.report.entries import P_A_GRID, RADIUS_STEPS, Entry, curves_of
from randsmooth.report.leaderboard import to_json
from randsmooth.report.ranking import by_setting, distinct_names, usual_radii
from report.browser import opened
from report.conftest import Make
from report.reading import Read
from values import Refusal

LOGGED = {"sigma": 0.5, "n": 1000, "alpha": 0.001}
SCHEMA = Path(__file__).parents[2] / "docs" / "schemas" / "leaderboard.json"


def measured(tables: Sequence[Certificates]) -> list[Entry]:
    return [measure(table, f"deep/{table.name}.parquet") for table in tables]


def test_a_line_tells_the_tables_figures(make: Make) -> None:
    table = make("amplify", model={"method": "amplify"}, split="test")
    (line,) = Read(leaderboard_page(measured([table]), radii=[0.25, 0.5])).lines
    p_a = {
        x: f"{100 * metrics.p_a(table).share(x).value:.1f}" for x in metrics.P_A_LEVELS
    }
    accuracy = {
        r: f"{100 * metrics.certified_accuracy(table, r).value:.1f}"
        for r in (0.0, 0.25, 0.5)
    }
    acr = f"{metrics.acr(table).value:.3f}"
    assert line == [
        "amplifydeep",
        "digits",
        "sigma 0.5",
        "amplify",
        "150",
        accuracy[0.5],
        p_a[0.9],
        accuracy[0.0],
        *(p_a[0.75], p_a[0.99]),
        *(accuracy[0.25], accuracy[0.5]),
        acr,
    ]


def ranked(
    tables: Sequence[Certificates], at: float | None = None
) -> list[tuple[str, ...]]:
    """The names of the tables in the order of the ranking, of each setting."""
    _, settings = by_setting(measured(tables), at=at)
    return [tuple(row.entry.table.name for row in setting.rows) for setting in settings]


def test_tables_are_ranked_at_sigma_or_at_the_radius_named_and_not_by_acr(
    log: Make,
) -> None:
    few_far = log([1.2, 1.2, -1.0, -1.0], "few-far", **LOGGED)
    middle = log([0.5, 0.5, 0.5, -1.0], "middle", **LOGGED)
    all_near = log([0.3, 0.3, 0.3, 0.3], "all-near", **LOGGED)
    tables = [few_far, all_near, middle]
    assert metrics.acr(few_far).value > metrics.acr(middle).value
    assert ranked(tables) == [("middle", "few-far", "all-near")]
    assert ranked(tables, at=0.3) == [("all-near", "middle", "few-far")]
    assert ranked(tables, at=1.0) == [("few-far", "all-near", "middle")]
    lines = Read(leaderboard_page(measured(tables), at=0.3)).lines
    assert [line[0] for line in lines] == [
        "all-neardeep",
        "middledeep",
        "few-fardeep",
    ]
    far = Read(leaderboard_page(measured(tables), radii=[9.0], at=9.0)).lines
    # No n certifies that far, so that nothing is measured there: the others decide.
    assert {(line[5], line[-2]) for line in far} == {("–", "–")}
    assert ranked(tables, at=9.0) == [("few-far", "all-near", "middle")]


def test_what_certifies_all_images_to_next_to_nothing_does_not_come_first(
    log: Make, tmp_path: Path
) -> None:
    """Accuracy at radius 0, the share with p_A above 1/2, would put it there."""
    facts = {**LOGGED, "n": 100_000}
    near_nothing = [0.03] * 11 + [1.9]
    ordinary = [1.0] * 3 + [0.7] * 3 + [0.3] * 2 + [-1.0] * 4
    tables = [
        log(near_nothing * 25, "near-nothing", **facts),
        log(ordinary * 25, "ordinary", **facts),
    ]
    entries = measured(tables)
    first, second = (entry.p_a[0.5].value for entry in entries)
    assert first == 1.0 > second
    assert ranked(tables) == [("ordinary", "near-nothing")]
    assert ranked(tables, at=0.25) == [("ordinary", "near-nothing")]
    write_leaderboard(entries, tmp_path / "board.html")
    records = records_of(tmp_path / "board.html")
    assert [(one["name"], one["rank"]) for one in records] == [
        ("ordinary", 1),
        ("near-nothing", 2),
    ]
    lines = Read((tmp_path / "board.html").read_text()).lines
    assert [line[0] for line in lines] == ["ordinarydeep", "near-nothingdeep"]
    printed = "\n".join(ranking_lines(records))
    assert printed.index("ordinary.parquet") < printed.index("near-nothing.parquet")


def test_each_setting_is_ranked_at_its_own_sigma(log: Make, make: Make) -> None:
    wide, narrow = {**LOGGED, "sigma": 1.0}, {**LOGGED, "sigma": 0.25}
    tables = [
        *(log([0.3, 0.3], "a", **narrow), log([0.6, 0.1], "b", **narrow)),
        *(log([0.3, 0.3], "c", **wide), log([1.1, 0.1], "d", **wide)),
    ]
    assert ranked(tables) == [("a", "b"), ("d", "c")]
    assert ranked(tables, at=0.25) == [("a", "b"), ("c", "d")]
    _, settings = by_setting(measured(tables))
    radii = [setting.at.radius for setting in settings if setting.at is not None]
    assert radii == [0.25, 1.0]
    for setting in settings:
        assert setting.at is not None and setting.at.is_sigma
        assert setting.at.least_p_a == pytest.approx(0.8413, abs=1e-4)
    _, (named,) = by_setting(measured([make("a", sigma=0.5)]), at=1.0)
    assert named.at is not None and named.at.least_p_a == pytest.approx(0.9772, 1e-3)
    _, (pairwise,) = by_setting(measured([make("a", bound="pairwise")]))
    assert pairwise.at is not None and pairwise.at.least_p_a is None


def test_without_sigma_or_a_named_radius_nothing_is_ranked(
    log: Make, tmp_path: Path
) -> None:
    tables = [log([0.1, 0.1], "a"), log([0.9, -1.0], "b")]
    _, (setting,) = by_setting(measured(tables))
    assert setting.at is None and setting.of_the_first == ""
    assert ranked([log([0.1, 0.1], "b"), log([0.9, -1.0], "a")]) == [("a", "b")]
    assert ranked(tables, at=0.5) == [("b", "a")]
    write_leaderboard(measured(tables), tmp_path / "board.html")
    for record in records_of(tmp_path / "board.html"):
        assert record["rank"] is None and record["ranked_by"] is None


def test_at_one_sigma_and_n_the_p_a_curve_is_that_of_certified_accuracy(
    make: Make,
) -> None:
    """What the guides say: the same shares, over another axis."""
    table = make("a", images=400)
    n, alpha = table.header.n, table.header.alpha
    assert n is not None and alpha is not None
    successes = np.arange(n // 2 + 50, n + 1)
    radii = table.noise.radius(bounds.q_upper(successes, n, alpha))
    over_p_a = metrics.p_a_curve(table, successes / n)
    over_radius = metrics.certified_shares(table, radii)
    assert over_p_a.tolist() == over_radius.tolist() and 0.0 < over_p_a[0] < 1.0


def test_other_settings_stand_apart(make: Make) -> None:
    usual = "digits, 150 images, sigma 0.5, n 500, alpha 0.001"
    others = {
        "sigma": (0.5, 1),
        "n": (500, 1000),
        "dataset": ("digits", "mnist"),
        "alpha": (0.001, 0.01),
    }
    for fact, (before, now) in (others | {"images": (150, 140)}).items():
        facts, words = {fact: now}, usual.replace(str(before), str(now), 1)
        _, groups = by_setting(
            entries := measured([make("a"), make("b", **facts), make("c", seed=1)])
        )
        named = {
            group.words: {row.entry.table.name for row in group.rows}
            for group in groups
        }
        assert named == {usual: {"a", "c"}, words: {"b"}}
        assert "made in 2 settings" in Read(leaderboard_page(entries)).text
    _, groups = by_setting(
        measured([make("a"), make("b", images=151).rows(np.arange(151) > 0)])
    )
    assert groups[1].words == f"{groups[0].words}; image set 2"
    _, groups = by_setting(
        measured([make("a"), make("b", dataset=""), make("c", dataset=None)])
    )
    assert [row.entry.table.name for group in groups for row in group.rows] == [
        "b",
        "a",
        "c",
    ]


def test_marks_are_given_within_a_setting_and_never_for_acr(log: Make) -> None:
    tables = [
        log([1.0, 0.6], "a", **LOGGED),
        log([1.0, -1.0], "b", **LOGGED),
        log([1.0, 0.6], "c", sigma=1.0),
    ]
    _, groups = by_setting(measured(tables), [0.5])
    marked = {row.entry.table.name: row for group in groups for row in group.rows}
    marks = {name: [cell.mark for cell in row.cells] for name, row in marked.items()}
    assert marks["a"][0] == "best" and not marks["b"][0]  # of two, none is second
    assert marks["a"][5] == "best" and not marks["b"][5]
    assert not marks["c"][5]  # alone in its setting
    assert not any(of[-1] for of in marks.values())
    _, (group,) = by_setting(
        measured([log([0.3, 0.3], "a", **LOGGED), log([0.2, 0.2], "b", **LOGGED)]),
        [0.25, 2.0],
    )
    assert [row.cells[5].mark for row in group.rows] == ["best", ""]
    assert not any(
        row.cells[6].mark or row.cells[2].mark for row in group.rows
    )  # equal figures


def test_of_the_first_of_several_the_choice_is_allowed_for(
    make: Make, tmp_path: Path
) -> None:
    entries = measured(
        [make(name, seed=seed) for seed, name in enumerate("abc")]
        + [make("d", sigma=1.0)]
    )
    _, (group, alone) = by_setting(entries)
    first = group.rows[0].entry
    figure = group.rows[0].ranked_by
    assert figure is not None
    chosen = metrics.share_if_chosen(figure, 3)
    assert chosen.low < figure.low <= figure.high < chosen.high
    said = f"{100.0 * chosen.low:.1f} to {100.0 * chosen.high:.1f}%"
    assert (
        group.of_the_first.startswith(f"{first.table.name} is the first of 3 ")
        and said in group.of_the_first
    )
    assert alone.of_the_first == ""
    assert Read(leaderboard_page(entries)).text.count(said) == 1
    write_leaderboard(entries, tmp_path / "board.html")
    records = records_of(tmp_path / "board.html")
    assert records[0]["ranked_by_if_chosen"] == {**asdict(chosen), "tables": 3}
    printed = " ".join(ranking_lines(records))
    # After the setting with several tables alone.
    assert printed.count(f"{chosen.low:.1%} to {chosen.high:.1%}") == 1


def test_what_does_not_tell_p_a_is_empty_last_and_explained(
    make: Make, log: Make
) -> None:
    read = Read(
        leaderboard_page(
            measured([log([1.0, 0.2], "bare", n=1000), make("a", images=2)])
        )
    )
    bare = next(line for line in read.lines if line[0].startswith("bare"))
    assert bare[1:6] == [
        "–",
        "–",
        "1,000",
        "–",
        "2",
    ]  # data set, sigma, n, method, images
    # Nothing but accuracy at radius 0 is known.
    assert bare[6:11] == ["–", "–", "100.0", "–", "–"]
    assert read.lines[-1] == bare
    assert (
        "p_A is not known of 1 table: a published log does not say its sigma, alpha; give"
        in read.text
    )
    said = "A published log gives the p_A of correctly certified images only"
    assert said in Read(leaderboard_page(measured([log([1.0], **LOGGED)]))).text
    assert said not in Read(leaderboard_page(measured([make("a"), log([1.0])]))).text


def test_records_are_the_lines_at_full_precision(make: Make) -> None:
    table, other = (
        make("a", split="test", model={"method": "macer"}),
        make("b", sigma=1.0, a=9.0),
    )
    first, second = told = json.loads(
        to_json(*by_setting(measured([other, table]), [0.5]))
    )
    jsonschema.validate(told, json.loads(SCHEMA.read_text()))
    assert (first["name"], first["file"], second["name"]) == (
        "a",
        "deep/a.parquet",
        "b",
    )
    known = {
        "dataset": "digits",
        "split": "test",
        "method": "macer",
        "rule": "fixed",
        "sigma": 0.5,
        "images": 150,
    }
    assert known.items() <= first.items() and second["method"] is None
    assert first["acr"] == asdict(metrics.acr(table))
    assert first["certified_accuracy"] == [
        {"radius": 0.5, **asdict(metrics.certified_accuracy(table, 0.5))}
    ]
    assert [share["at_least"] for share in first["p_A"]] == [0.5, 0.75, 0.9, 0.99]
    assert (first["rank"], second["rank"]) == (1, 1)
    assert first["ranked_by"] == {
        "radius": 0.5,
        "named": False,
        "least_p_A": pytest.approx(0.8413, abs=1e-4),
        **asdict(metrics.certified_accuracy(table, 0.5)),
    }


def test_nothing_to_rank_and_senseless_radii_are_refused(make: Make, log: Make) -> None:
    check_refusals(
        [
            (
                lambda: leaderboard_page(measured([make("a")]), radii=[-1.0]),
                Refusal(BadValue, "-1"),
            ),
            (
                lambda: leaderboard_page(measured([make("a")]), radii=[float("nan")]),
                Refusal(BadValue, "nan"),
            ),
            (
                lambda: leaderboard_page(measured([make("a")]), at=-1.0),
                Refusal(BadValue, "-1"),
            ),
            (lambda: leaderboard_page([]), Refusal(NotFound)),
            (lambda: measure(log([]), "empty.tsv"), Refusal(WrongTable)),
        ]
    )


def test_it_is_written_whole_with_its_json(make: Make, tmp_path: Path) -> None:
    write_leaderboard(
        measured([make("\ud800")]), tmp_path / "deep" / "board.html", title="Title"
    )
    assert (tmp_path / "deep" / "board.html").read_text().rstrip().endswith("</html>")
    assert (
        json.loads((tmp_path / "deep" / "board.json").read_text())[0]["images"] == 150
    )
    refusal(
        lambda: write_leaderboard(
            measured([make()]), tmp_path / "bad.html", radii=[-1.0]
        )
    )
    assert list(tmp_path.glob("bad*")) == []


@pytest.mark.slow
def test_sorting_and_filtering_work_in_a_browser(make: Make, tmp_path: Path) -> None:
    tables = [
        make("beta", a=2.0),
        make("alpha", a=8.0),
        make("gamma", a=20.0, b=0.5, sigma=1.0),
    ]
    path = tmp_path / "board.html"
    path.write_text(leaderboard_page(measured(tables)))
    assert opened(path, "sorting") == [
        "alpha,beta,gamma",  # each setting at its own sigma
        "alpha,beta,gamma",
        "beta,alpha,gamma",  # names downwards, the settings apart
        "gamma,beta,alpha",
        "gamma,alpha,beta",  # by ACR, the settings mixed
        "ACR\u00a0*1",
        "gamma",
        "beta",
        "1 of 3 tables shown.",
    ]


@pytest.mark.slow
def test_curves_and_more_lines_come_on_demand_in_a_browser(
    log: Make, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    tables = [
        log((1.2 * rng.random(50)).round(3).tolist(), f"log-{i}", **LOGGED)
        for i in range(210)
    ]
    path = tmp_path / "board.html"
    path.write_text(leaderboard_page(measured(tables)))
    assert opened(path, "curves") == [
        *(True, 202),  # of one setting, the eight best lines
        *(2, 2, 2),
        "100.0% at r = 0.00",
        True,  # a text says what each chart shows
        *(1, "false", "true", True),
        *(True, 0),  # intervals of the lines that show
        *(0, "210 of 210 tables found."),
        True,
    ]


def test_names_differ_where_settings_or_folders_do(log: Make, make: Make) -> None:
    facts: list[tuple[str, dict[str, object]]] = [
        ("a/x/log.tsv", {"hyperparameters": {"lbd": 10}}),
        ("b/x/log.tsv", {"hyperparameters": {"lbd": 20}}),
    ]
    set_apart = [
        measure(log([1.0], "log", model=model, **LOGGED), file) for file, model in facts
    ]
    assert distinct_names(set_apart) == ["log (lbd 10)", "log (lbd 20)"]
    table = make("counted")
    files = ["runs/a/tables/x.parquet", "runs/b/tables/x.parquet", "c/y.parquet"]
    alike = [measure(table, file) for file in files[:2]]
    assert distinct_names(alike) == ["counted (a/tables)", "counted (b/tables)"]
    assert distinct_names([measure(table, files[2])]) == ["counted"]
    in_one_folder = [measure(table, file) for file in ("c/y.parquet", "c/z.parquet")]
    assert distinct_names(in_one_folder) == ["c/y.parquet", "c/z.parquet"]


def test_a_method_has_the_colour_of_its_figures(make: Make) -> None:
    tables = [make(name, seed=k) for k, name in enumerate(["gaussian", "macer", "my"])]
    lines = Read(leaderboard_page(measured(tables))).data["lines"]
    colour_of_file = {line[2]: line[8] for line in lines}
    looks = charts.looks([table.name for table in tables])
    assert colour_of_file == {
        f"deep/{table.name}.parquet": look.colour
        for table, look in zip(tables, looks, strict=True)
    }


def test_curves_read_off_what_the_table_certifies(log: Make, make: Make) -> None:
    table, counted = log([0.5, 1.0, -1.0, 0.25], "a", **LOGGED), make("b")
    curves, ours = curves_of(table), curves_of(counted)
    for place, share in enumerate(curves.accuracy):
        r = place * curves.end / RADIUS_STEPS
        assert share == pytest.approx(
            1000 * metrics.certified_accuracy(table, min(r, 1.0)).value, abs=0.5
        )
    assert len(curves.p_a) == sum(P_A_GRID >= 0.5) and len(ours.p_a) == len(P_A_GRID)
    shares = [1000 * metrics.p_a(counted).share(x).value for x in P_A_GRID]
    assert ours.p_a == pytest.approx(shares, abs=0.51)


def test_methods_are_compared_with_the_gaussian_one_of_their_setting(
    make: Make,
) -> None:
    tables = [
        make("gaussian", a=4.0, b=1.5, images=600),
        make("polar", seed=1, a=0.6, b=0.3, images=600),
    ]
    entries = measured([*tables, make("elsewhere", seed=2, sigma=1.0)])
    (one,) = metrics.compare([(tables[1], tables[0])], usual_radii(entries))
    text = Read(leaderboard_page(entries)).text
    assert f"polar : {one.verdict}" in text and str(one.scope) in text
    told = {
        record["name"]: record["against"]
        for record in json.loads(to_json(*by_setting(entries)))
    }
    assert told["gaussian"] is told["elsewhere"] is None
    assert (
        told["polar"]["words"] == str(one.verdict)
        and told["polar"]["baseline"] == "gaussian"
    )
    assert told["polar"]["judged_together"]["critical"] == one.scope.critical
    named = [
        make(name, seed=seed, model={"method": name}).renamed("log")
        for seed, name in enumerate(["gaussian", "b"])
    ]
    text = Read(
        leaderboard_page(
            [
                measure(table, f"{place}/log.parquet")
                for place, table in enumerate(named)
            ]
        )
    ).text
    assert "Against log (0)" in text and "log (1) :" in text
