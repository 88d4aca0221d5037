"""What a log was made with: from its path or its radii, never assumed; and judged anew where its alpha is another.

Of the released repositories, every path is placed as a reader of it would, every file at hand is read.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.refusing import problem_of, refusal
from randsmooth import bounds
from randsmooth.certificates import (
    Certificates,
    Header,
    find_certificates,
    from_radii,
    in_repository,
    path_facts,
    read,
    read_folder,
    unplaced,
)
from randsmooth.certificates.logs.budgets import possible_budgets
from randsmooth.certificates.logs.inferred import infer
from randsmooth.errors import BadValue
from randsmooth.noise import Gaussian
from randsmooth.notes import Note
from values import Refusal

PLACES: dict[
    str, tuple[Any, ...]
] = {  # beside the released ones: sigma, n, data set, method
    "cifar10-sigma0.5/catrs.tsv": (0.5, None, "cifar10", "cat-rs"),
    "digits-sigma0.25/my method.tsv": (0.25, None, "digits", "my method"),
    "data/cifar10/noise_0.5/stab/noise_0.5.tsv": (0.5, None, "cifar10", "stability"),
    "imagenet/ours/noise_0.25_N10000.txt": (
        0.25,
        10_000,
        "imagenet",
        "",
    ),  # whose "ours"?
    "cifar10c/severity_5/cohen/gaussian_noise.tsv": (
        None,
        None,
        "cifar10c",
        "gaussian",
    ),
    "noise_0.25/noise_0.50/log": (None, None, "", ""),  # which of the two?
    "runs/log.tsv": (None, None, "", ""),
}


def test_what_a_path_says() -> None:
    for path, facts in PLACES.items():
        place = path_facts(Path(path))
        assert (
            place.sigma,
            place.n,
            place.dataset,
            place.method,
        ) == facts and not place.settings, path


def printed(
    sigma: float,
    n: int,
    alpha: float,
    images: int = 400,
    digits: int = 3,
    full: int = 40,
) -> Certificates:
    """A log as certify.py prints it: radii of counts drawn at this budget, `full` of them with all samples right."""
    rng = np.random.default_rng(int(1000 * sigma) + n)
    k = rng.binomial(n, 1.0 - np.exp(rng.uniform(np.log(3.0 / n), np.log(0.6), images)))
    k[:full] = n
    radius = Gaussian(sigma).radius(bounds.q_upper(k, n, alpha))
    predict = np.where(radius > 0.0, 1, -1)
    shown = np.array([float(f"{r:.{digits}}") for r in radius])
    label = (rng.random(images) < 0.8).astype(np.int64)
    return Certificates(
        Header(), np.arange(images), label, predict, shown, np.ones(images), name="log"
    )


def test_the_largest_radii_tell_the_budget() -> None:
    budgets = [
        (100_000, 0.001),
        (100_000, 0.01),
        (10_000, 0.001),
        (10_000, 0.01),
        (1000, 0.05),
    ]
    for sigma in (0.12, 0.25, 0.5, 1.0):
        for n, alpha in budgets:
            table = printed(sigma, n, alpha)
            assert possible_budgets(table.radius, sigma) == [(n, alpha)], (
                sigma,
                n,
                alpha,
            )
            assert possible_budgets(table.radius, sigma, n=n) == [(n, alpha)], (
                sigma,
                n,
                alpha,
            )
            assert possible_budgets(table.radius, sigma, alpha=2 * alpha) == [], (
                sigma,
                n,
                alpha,
            )


def test_a_log_that_nothing_saturates_tells_no_budget() -> None:
    table = printed(0.5, 100_000, 0.01, full=0)
    table.radius[:] = np.minimum(table.radius, 1.62)
    made = infer(table, "noise_0.5.tsv")
    assert (made.header.sigma, made.header.n, made.header.alpha) == (0.5, None, None)
    assert made.header.notes[-1] == Note(
        "budget_unknown", lacking=["n", "alpha"], largest="1.62"
    )
    np.testing.assert_array_equal(made.radius, table.radius)


def test_another_alpha_is_found_and_the_log_bound_anew() -> None:
    table, usual = (
        printed(1.0, 100_000, 0.01, digits=6),
        printed(1.0, 100_000, 0.001, digits=6),
    )
    made = infer(table, "imagenet/gaussian/noise_1.0.tsv")
    assert (made.header.n, made.header.alpha) == (100_000, 0.001)
    np.testing.assert_allclose(
        made.radius, usual.radius, atol=2e-5
    )  # the same counts, bounded at .001
    before, after = (float((t.radius * t.correct).mean()) for t in (table, made))
    assert before != after
    assert made.header.notes[-1] == Note(
        "bound_anew", before=0.01, now=0.001, acr=after, logged_acr=before
    )
    inferred = made.header.notes[-2]
    assert inferred.kind == "budget_inferred"
    assert (inferred.facts["n"], inferred.facts["alpha"]) == (100_000, 0.01)


def test_what_the_user_says_comes_first_unless_the_radii_contradict_it() -> None:
    table = printed(1.0, 100_000, 0.01)
    kept = infer(table, "noise_1.00", alpha=0.01)
    assert kept.header.alpha == 0.01 and kept.header.n == 100_000
    np.testing.assert_array_equal(kept.radius, table.radius)  # asked for as it was made
    out = "its radii are those of n=100000 at alpha=0.01"
    assert out in refusal(infer, table, "noise_1.00", n=100_000, alpha=0.001)
    assert out in refusal(infer, table, "noise_1.00", alpha=0.001)
    Refusal(BadValue, f"n=10000, alpha=None: {out}").check(
        problem_of(infer, table, "noise_1.00_N10000")
    )
    (doubt,) = infer(table, "noise_2.00", n=100_000, alpha=0.01).header.notes[-1:]
    assert doubt.kind == "many_largest_radii"
    assert doubt.facts["possible"] == pytest.approx(7.8, abs=0.05)
    raised = replace(table, radius=np.minimum(1.02 * table.radius, table.radius.max()))
    for radii, note in ((table, False), (raised, True)):
        made = infer(radii, "noise_1.00", n=100_000, alpha=0.01)
        kinds = [each.kind for each in made.header.notes]
        assert ("radii_of_no_budget" in kinds) == note
    no_radius_too_large = printed(1.0, 100_000, 0.001)
    Refusal(BadValue, "n=100000, alpha=0.01").check(
        problem_of(infer, no_radius_too_large, "noise_1.00", n=100_000, alpha=0.01)
    )


REACH: list[
    tuple[dict[str, Any], float, float]
] = [  # a radius that sigma, n and alpha allow, and one that they do not
    ({"sigma": 0.5, "n": 1000, "alpha": 0.001}, 1.23, 1.3),
    ({"sigma": 0.5, "n": 1000}, 1.599, 1.7),
    ({"sigma": 0.5, "alpha": 0.001}, 2.8, 3.1),
    ({"sigma": 0.5}, 3.0, 4.0),
]


def test_a_radius_beyond_reach_is_refused() -> None:
    for known, within, beyond in REACH:
        assert infer(from_radii([within]), "log.tsv", **known).radius.max() > 0.0, known
        said = refusal(infer, from_radii([beyond]), "log.tsv", **known)
        assert "radius of image 0 is above" in said, known
        told = (
            f"{name}={known[name]}" if name in known else f"any {name}"
            for name in ("sigma", "n", "alpha")
        )
        assert all(each in said for each in told), known


OTHER_ALPHA = {  # of the released logs, by their path from the data set on: as logged, and at .001
    "imagenet/resnet50/noise_0.25/test/sigma_0.25": (0.477, 0.468),
    "imagenet/resnet50/noise_0.50/test/sigma_0.50": (0.733, 0.720),
    "imagenet/resnet50/noise_1.00/test/sigma_1.00": (0.875, 0.864),
    "cifar10/resnet110/noise_0.25/test/sigma_0.25": (0.429, 0.423),
}


def test_the_released_logs_of_another_alpha(logs: Path) -> None:
    other, unknown = {}, set()
    for path in find_certificates(
        logs / "as-released" / "locuslab+smoothing" / "data" / "certify"
    ):
        table, place = read(path), path.relative_to(logs)
        made = infer(table, place)
        facts = (made.header.n, made.header.alpha)
        assert facts in {(100_000, 0.001), (None, None)}, place
        if facts == (None, None):
            unknown.add(table.radius.max())
        elif made.header.notes[-1].kind == "bound_anew":
            assert table.radius.max() > 3.83 * (made.header.sigma or 0.0)
            name = place.as_posix().partition("certify/")[2]
            other[name] = tuple(
                round(float((t.radius * t.correct).mean()), 3) for t in (table, made)
            )
    assert len(other) == 8 and unknown == {1.51, 1.62, 3.56}
    assert {name: other[name] for name in OTHER_ALPHA} == OTHER_ALPHA


def test_what_a_reader_could_mistake_is_told(tmp_path: Path) -> None:
    """The method by a repository's name, another sigma in training, and radii that were left as they are."""
    folder = tmp_path / "locuslab+smoothing" / "cifar10" / "noise_0.25" / "test"
    folder.mkdir(parents=True)
    path = folder / "sigma_0.50"
    path.write_text(
        "idx\tlabel\tpredict\tradius\tcorrect\ttime\n0\t1\t1\t0.777\t1\t0:00:01\n"
    )
    told, trained, unknown = infer(read(path), path).header.notes
    assert told.facts["by_repository"] == ["method"]
    assert told.facts["repository"] == "locuslab/smoothing"
    assert trained == Note("training_sigma", sigma=0.25)
    assert unknown.kind == "budget_unknown"


# Read off each path by eye: data set, split, sigma of certification and of training, method, settings, run.
READ = [
    json.loads(line)
    for line in Path(__file__)
    .with_name("released_paths.jsonl")
    .read_text()
    .splitlines()
]


def test_a_released_log_is_placed_as_its_path_reads() -> None:
    for told in READ:
        place = path_facts(Path(told["path"]))
        settings = {key: pytest.approx(value) for key, value in place.settings.items()}
        assert told["settings"] == settings, told["path"]
        for name in ("dataset", "split", "sigma", "training_sigma", "method", "run"):
            assert getattr(place, name) == told[name], (name, told["path"])
        assert place.repository.replace("/", "+") == told["path"].partition("/")[0]
        assert place.n is None and place.alpha is None  # no path of these says them
    repositories = [told["path"].partition("/")[0] for told in READ]
    assert (
        len(READ) >= 60
        and min(repositories.count(name) for name in set(repositories)) >= 2
    )
    assert len(set(repositories)) == 6


def test_every_path_of_the_released_repositories_is_placed(logs: Path) -> None:
    paths = (logs / "as-released" / "PATHS.txt").read_text().split()
    assert len(paths) == 2654 and {told["path"] for told in READ} <= set(paths)
    for path in paths:
        place = path_facts(Path(path))
        where = (
            place.repository,
            place.dataset,
            place.sigma,
            place.training_sigma,
            place.method,
        )
        assert None not in where and "" not in where, path
        assert place.split or place.dataset not in ("cifar10c", "mnistc"), path
        words = set(place.other_parts)
        assert words <= {"adv", "alphat", "eta", "m", "restriction"}, (
            path
        )  # variations; all else is understood


HEAD = "idx\tlabel\tpredict\tradius\tcorrect\ttime\n"


def test_a_clone_is_known_by_its_folder() -> None:
    for path, method, repository in (
        (
            "smoothmix/data/certify/mnist/cohen/noise_0.25_3870",
            "gaussian",
            "jh-jeong/smoothmix",
        ),
        (
            "smoothing-main/data/certify/cifar10/resnet110/noise_0.12/test/sigma_0.12",
            "gaussian",
            "locuslab/smoothing",
        ),
        (
            "logs/mnist/smoothmix/noise_0.25",
            "smoothmix",
            "",
        ),  # the method, not the repository
        (
            "locuslab+smoothing-master/data/x/noise_0.25",
            "gaussian",
            "locuslab/smoothing",
        ),
    ):
        place = path_facts(Path(path))
        assert (place.method, place.repository) == (method, repository), path


def test_a_user_may_stand_in_a_clone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = (
        tmp_path
        / "smoothing"
        / "data/certify/imagenet/resnet50/noise_0.50/test/sigma_0.25"
    )
    log.parent.mkdir(parents=True)
    log.write_text(HEAD + "0\t1\t1\t0.3\t1\t0:00:01.500000\n")
    monkeypatch.chdir(log.parent)
    (file,) = read_folder(Path())
    assert (
        file.table is not None
        and file.place.parts[0] == "locuslab+smoothing"
        and unplaced(file.table) == ""
    )
    header = file.table.header
    assert (header.dataset, header.sigma, (header.model or {})["sigma"]) == (
        "imagenet",
        0.25,
        0.5,
    )
    assert in_repository(tmp_path / "anything" / "log") == tmp_path / "anything" / "log"


def test_the_history_of_a_clone_is_not_searched(tmp_path: Path) -> None:
    for folder in (".git/objects", "data"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "log.tsv").write_text(
            HEAD + "0\t1\t1\t0.3\t1\t0:00:01.500000\n"
        )
    assert [file.path for file in read_folder(tmp_path)] == [
        tmp_path / "data" / "log.tsv"
    ]
