"""A command loads no more than it needs: help, listings and errors nothing heavy."""

from pathlib import Path

from fresh import commands
from randsmooth.cli.command import make_command, settings_of
from randsmooth.cli.settings import Settings
from randsmooth.cli.verbs import VERBS

HEAVY = {
    *("pandas", "scipy", "pyarrow", "jinja2", "plotly", "matplotlib", "rich"),
    *(
        "torch",
        "lightning_fabric",
        "sklearn",
        "datasets",
        "tensorboard",
        "huggingface_hub",
        "transformers",
        "ray",
    ),
}

LIGHT = (
    [f"{verb.name} --help" for verb in VERBS]
    + """\
--help|--version|data|data list|data describe mnist|methods|reproduce --list|completion bash
certifi|data lst|--colour|certify --colour|methods amplfy|completion tcsh|cite --format ris|reproduce|reproduce nosuch
train|train digits --sigma half|train digits --sigma -1|train nosuch --sigma 1|train no/such --sigma 1
train digits --sigma 0.5 --method amplifi|train digits --sigma 0.5 --preset nosuch
train digits --sigma 0.5 --epochs -3|train digits --sigma 0.5 --seed -1
train-denoiser digits --sigma 1 --objective psnr|certify . --denoiser none|certify m --config none.yaml|evaluate
predict m i.png --format xml|attack m c.parquet --format xml|verify a --format xml|predict no.onnx i.png
certify m --rule grd|certify m --rule grid --bound two-sided|certify m --batch 3|certify m --n 5|certify m --sigma -1
certify m --ray head|certify m --backend tensorflow|certify nomodel|certify a/b --dataset nosuch
certify m --slurm --array 2|certify m --slurm --array 2 --time soon|export no.py:f --onnx a.onnx
certify no.onnx|certify no.xml|certify no.pt2|certify no.pt|certify no.py:f|certify no.pth|certify no.py
from-counts nofile.csv --sigma 0.5|from-counts a.csv|from-counts a --sigma -1|import none.pth
import none.pth --dataset nosuch|evaluate nofile.parquet|verify nofolder|verify nofolder --format json
""".replace("\n", "|")
    .strip("|")
    .split("|")
)


def test_help_listings_and_errors_load_nothing_heavy(tmp_path: Path) -> None:
    lines = [words.split() for words in LIGHT]
    for words, (code, _, packages) in zip(
        lines, commands(lines, tmp_path, watched=HEAVY), strict=True
    ):
        assert code == 0 or not {
            "--help",
            "--version",
            "--list",
            "list",
            "describe",
        } & {*words}, words
        assert packages == [], words
    (tmp_path / "a.tsv").write_text(
        "idx\tlabel\tpredict\tradius\tcorrect\ttime\n0\t3\t3\t0.742\t1\t0:00:03\n"
    )
    (works,) = commands([["evaluate", "a.tsv"]], tmp_path, watched={"scipy"})
    assert (works.code, works.loaded) == (0, ["scipy"])  # a verb that works is seen to


def test_every_verb_and_option_is_explained() -> None:
    for verb in VERBS:
        run = verb.load()
        assert verb.summary and run.__doc__, verb.name
        assert issubclass(settings_of(run), Settings), verb.name
        for parameter in make_command(verb).params:
            assert getattr(parameter, "help", None), (verb.name, parameter.name)
