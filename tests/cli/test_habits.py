"""What every verb does alike: where it prints what, `--quiet`, `--format json`, groups of help, and words of errors."""

import json
from pathlib import Path

from cli.processes import Run
from randsmooth.cli.command import settings_of
from randsmooth.cli.help import HEADINGS
from randsmooth.cli.settings import Given
from randsmooth.cli.verbs import VERBS, verb_named
from randsmooth.cli.wording import spelling
from randsmooth.errors import Setting

SILENT = {"serve", "completion"}  # which print no answer, but run or print a script
FEW = ("--take", 3, "--n", 100, "--n0", 10)
ANSWERS = {  # verb and its words -> what its answer as JSON holds
    "certify {model} --take 2 --n 60 --out b.parquet": "certificates",
    "evaluate {table}": "tables",
    "leaderboard {folder} --out board.html": "written",
    "export {table} --out a.tsv": "written",
    "explain {model} digits:3 --n 100 --no-attack --no-training": "label",
    "train digits --sigma 0.5 --epochs 1 --take 20 --out m": "model",
    "data describe digits": "shape",
}


def test_answers_are_on_stdout_and_all_else_on_stderr(cli: Run, made: Path) -> None:
    loud = cli("certify", made / "model", *FEW, "--out", "a.parquet")
    quiet = cli("certify", made / "model", *FEW, "--out", "b.parquet", "--quiet")
    assert (
        "images/s" in loud.err and "without noise the model is right about" in loud.err
    )
    assert (quiet.code, quiet.err) == (0, "") and quiet.out.replace(
        "b.pa", "a.pa"
    ).replace("b ", "a ") == loud.out
    assert cli.refused("certify", "nothing", "--quiet").startswith(
        "randsmooth: nothing names no model"
    )


def test_answers_for_programs(cli: Run, made: Path) -> None:
    places = {"model": made / "model", "table": made / "a.parquet", "folder": made}
    for words, held in ANSWERS.items():
        told = cli(*words.format(**places).split(), "--format", "json")
        assert told.code == 0 and held in json.loads(told.out), (words, told)


def test_every_verb_is_quiet_and_answers_programs(cli: Run) -> None:
    for verb in VERBS:
        fields = settings_of(verb.load()).model_fields
        assert verb.name in SILENT or "format" in fields, verb.name
        assert "--quiet" in cli(*verb.name.split(), "--help").out, verb.name


def test_help_has_each_option_once_below_its_heading(cli: Run) -> None:
    said = cli("certify", "--help").out
    assert [
        line.rstrip(":") for line in said.splitlines() if line.rstrip(":") in HEADINGS
    ] == [*HEADINGS]
    fields = settings_of(verb_named("certify").load()).model_fields
    for option in (
        name for name, field in fields.items() if not Given.of(field).by_place
    ):
        assert (
            said.count(f"\n  --{option.replace('_', '-')} ")
            + said.count(f"\n  --{option}\n")
            == 1
        ), option


def test_errors_say_settings_as_they_were_given(cli: Run) -> None:
    spell = spelling(settings_of(verb_named("certify").load()))
    for setting, option in (
        (Setting("n", 5), "--n 5"),
        (Setting("resume", True), "--resume"),
        (Setting("out"), "--out"),
        (Setting("sound", False), "without --sound"),
        (Setting("seed", None), "without --seed"),
        (Setting("model"), "MODEL"),
        (Setting("layout", "NCHW", of="model_arg"), "--model-arg layout=NCHW"),
        (Setting("betas", 1.0), "betas=1.0"),
    ):
        assert spell(setting) == option
    for words, said in (
        ("certify --nope", "no such option: --nope"),
        ("certify m --n", "'--n' requires an argument"),
    ):
        told = cli(*words.split())
        assert (
            told.code == 2 and told.err.startswith("randsmooth: ") and said in told.err
        ), told
