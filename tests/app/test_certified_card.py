"""The card of certificates: its figures, what the hub reads of it, and what repeats it."""

from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

import numpy as np
import pytest
import yaml
from huggingface_hub import ModelCard, parse_eval_result_entries
from markdown_it import MarkdownIt
from torch import nn

import randsmooth as rs
from nasty import NASTY
from randsmooth import metrics
from randsmooth.app import benchmark_results, card, repeating
from randsmooth.cards import Card
from randsmooth.certificates import Header, from_counts, from_radii
from randsmooth.escape import printable
from randsmooth.noise import Deviations, HoldingFixed, Uniform

MARKDOWN = MarkdownIt("commonmark").enable("table")
TABLE = from_radii(np.linspace(0.0, 1.2, 40), sigma=0.5, n=1000, alpha=0.001).renamed(
    "gaussian"
)


def front_of(text: str) -> dict[str, Any]:
    return Card.parse(text).front


def test_the_hub_reads_the_figures_of_the_table() -> None:
    read: Any = ModelCard(card(TABLE, title="mine")).data
    assert read.model_name == "mine"
    results = read.eval_results
    accuracy = {
        result.metric_args["radius"]: result
        for result in results
        if result.metric_type == "certified_accuracy"
    }
    assert [*accuracy] == metrics.usual_radii([TABLE])
    for radius, result in accuracy.items():
        expected = metrics.certified_accuracy(TABLE, radius)
        assert result.metric_value == round(expected.value, 5)
        assert result.metric_args["interval_95"] == [
            round(expected.low, 5),
            round(expected.high, 5),
        ]
        assert (result.metric_args["n"], result.metric_args["alpha"]) == (1000, 0.001)
    others = {result.metric_type: result.metric_value for result in results}
    assert others["average_certified_radius"] == round(metrics.acr(TABLE).value, 5)
    assert others["abstention"] == round(metrics.abstention(TABLE).value, 5)


def test_a_card_keeps_the_words_of_its_owner() -> None:
    own = Card({"license": "mit", "pipeline_tag": "tabular-classification"}, "# Mine\n")
    once = card(TABLE, own.text)
    twice = card(TABLE, once)
    assert once == twice
    front = front_of(once)
    assert (front["license"], front["pipeline_tag"]) == (
        "mit",
        "tabular-classification",
    )
    assert Card.parse(once).body.startswith("# Mine\n")
    # Another table takes the place of the first, between the words before and after.
    changed = card(TABLE.renamed("other"), f"{once}\nMy last words.\n")
    assert "### other" in changed
    assert "### gaussian" not in changed
    assert changed.endswith("\nMy last words.\n")


def test_a_front_matter_that_is_no_mapping_is_refused() -> None:
    for front in ("- a list", "a: [", "a: &x 1\nb: *x"):
        with pytest.raises(rs.Problem):
            card(TABLE, f"---\n{front}\n---\n# Mine\n")
    assert Card.parse("---\n---\n# Mine").front == {}


def test_several_tables_have_a_result_each() -> None:
    exact = from_counts(
        np.array([[5, 995], [990, 10]]),
        counts0=np.array([[1, 99], [99, 1]]),
        sigma=0.25,
        dataset="mnist",
        split="test",
        name="counts",
    )
    front = front_of(card([TABLE, exact]))
    results = front["model-index"][0]["results"]
    assert [result["dataset"]["name"] for result in results] == [
        "not recorded",
        "mnist",
    ]
    assert "/mnist" in results[1]["dataset"]["type"]
    # Without labels there is no accuracy.
    kinds = {metric["type"] for metric in results[1]["metrics"]}
    assert kinds == {"abstention"}


def test_a_routed_table_has_a_card() -> None:
    rows = np.arange(6) % 2
    counts = np.full((6, 2), 10)
    counts[np.arange(6), rows] = 990
    parts = [
        from_counts(counts, counts0=counts, label=rows, sigma=sigma, name=str(sigma))
        for sigma in (1.0, 0.25, 0.5)
    ]
    routed = rs.route(parts[0], parts[1:])
    text = card(routed)
    assert front_of(text)["model-index"][0]["results"][0]["metrics"][0]["value"] == 1.0
    assert repeating(routed.header) is None


@pytest.mark.parametrize(
    "name", ["front matter", "fence", "script", "pipes", "heading", "link", "list"]
)
def test_names_stay_text(name: str) -> None:
    def tokens(text: str) -> list[str]:
        header = TABLE.header.replace(dataset=text)
        table = replace(TABLE, header=header, name=text)
        written = Card.parse(card(table, commands={text: f"certify {text}"}))
        entry = written.front["model-index"][0]
        assert entry["results"][0]["dataset"]["name"] == printable(PurePath(text).name)
        return [token.type for token in MARKDOWN.parse(written.body)]

    assert tokens(NASTY[name]) == tokens("plain")


def test_a_run_is_repeated_by_what_the_card_says() -> None:
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
    settings: dict[str, Any] = {
        "sigma": 0.3,
        "n": 200,
        "n0": 10,
        "alpha": 0.01,
        "rule": "grid",
    }
    table = rs.certify(model, "digits", take=4, seed=7, **settings)
    said = repeating(table.header)
    assert said is not None
    again = rs.certify(model, said.pop("dataset"), **said)
    assert again.header == table.header
    assert np.array_equal(np.asarray(again.counts), np.asarray(table.counts))
    assert "rs.certify(model, 'digits', " in card(table)


def test_what_repeats_a_run_is_spelt_as_users_spell_it() -> None:
    deviations = Deviations(0.25).noise_for([1.0, 2.0])
    for noise, spelt in (
        (deviations, {"sigma": "0.25std"}),
        (HoldingFixed(deviations, (1,), ("city",)), {"sigma": "0.25std"}),
        (Uniform(0.6), {"noise": "uniform=0.6"}),
    ):
        header = Header(noise=noise, n0=100, n=100_000, alpha=0.001, dataset="mine")
        assert repeating(header) == {"dataset": "mine", **spelt}
    log = Header(sigma=0.5)
    other = Header(sigma=0.5, n=1000, source="another program")
    assert repeating(log) is repeating(other) is None


def test_a_benchmark_gets_the_accuracy_at_one_radius() -> None:
    (entry,) = parse_eval_result_entries(
        yaml.safe_load(benchmark_results(TABLE, "me/images:robust", at=0.5))
    )
    assert (entry.dataset_id, entry.task_id) == ("me/images", "robust")
    assert entry.value == round(metrics.certified_accuracy(TABLE, 0.5).value, 5)
    for wrong in ("images:robust", "me/images", "me/images:", "/:a"):
        with pytest.raises(rs.Problem) as caught:
            benchmark_results(TABLE, wrong, at=0.5)
        assert caught.value.field == "benchmark"


def test_a_path_of_this_machine_is_not_told(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Flatten(), nn.Linear(4, 2)).eval()
    np.savez(tmp_path / "mine.npz", x=np.ones((2, 1, 2, 2)), y=[0, 1])
    table = rs.certify(model, tmp_path / "mine.npz", sigma=0.25, n=100)
    text = card(table)
    assert str(tmp_path) not in text
    assert "'mine.npz'" in text
