"""The same commands in two checkouts, in turn: what a change did to start-up, engine, training and pages.

    python benchmarks/two_trees.py OTHER_CHECKOUT [--rounds 5] [--out results/bench/two-trees-cpu.json]

CPU seconds of this checkout over those of the other, user and system together, on one thread, so that a busy machine
does not matter much: the median of the ratios of rounds. Both run in this environment. Each certifies a model that it
trained itself by the same seed, and two of random weights from one file. The ratio should not pass 1.05.
"""

import os
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

from harness import Figure, finish, options_of
from pages import ALPHA, RANDSMOOTH, N, cpu_seconds, write_logs

MODELS = """
import torch
from randsmooth import models

def lenet():
    torch.manual_seed(0)
    return models.build("lenet", in_channels=1, image_size=28, num_classes=10).eval()

def resnet20():
    torch.manual_seed(0)
    return models.build("resnet20", in_channels=1, image_size=28, num_classes=10).eval()
"""
CLAIM = f"--sigma 0.5 --n {N} --alpha {ALPHA}"
CERTIFY = (
    "certify {model} --dataset digits --sigma 0.5 --backend torch --precision 32"
    " --overwrite --out {own}/o.parquet"
)
TRAIN = "train digits --sigma 0.5 --device cpu --overwrite --out {own}/"
COMMANDS = {  # {own}: a folder of the checkout, {all}: one of both
    "--help": "--help",
    "evaluate": "evaluate {all}/a.tsv " + CLAIM,
    "compare": "compare {all}/a.tsv {all}/b.tsv "
    + CLAIM
    + " --overwrite --out {own}/page.html",
    "train": TRAIN + "model --epochs 4",
    "train amplify": TRAIN + "amplify --method amplify --take 300 --epochs 2",
    "certify, its own model": CERTIFY.replace("{model}", "{own}/model")
    + " --take 20 --n 20000",
    "certify, lenet": CERTIFY.replace("{model}", "{all}/models.py:lenet")
    + " --resize 28 --take 20 --n 20000",
    "certify, resnet20": CERTIFY.replace("{model}", "{all}/models.py:resnet20")
    + " --resize 28 --take 2 --n 2000",
    "certify, by the rule grid": CERTIFY.replace("{model}", "{own}/model")
    + " --take 60 --n 20000 --rule grid",
}


def seconds(tree: Path, command: str, own: Path, shared: Path) -> float:
    """What `command` takes in a checkout."""
    os.environ["PYTHONPATH"] = str(tree / "src")
    own.mkdir(exist_ok=True)
    return cpu_seconds([*RANDSMOOTH, *command.format(own=own, all=shared).split()])


def measured(other: Path, rounds: int) -> Iterator[Figure]:
    trees = {"theirs": other.resolve(), "ours": Path(__file__).resolve().parents[1]}
    with tempfile.TemporaryDirectory() as name:
        shared = Path(name)
        write_logs(shared, [(Path("a.tsv"), 0.5), (Path("b.tsv"), 0.5)], 10_000)
        (shared / "models.py").write_text(MODELS)
        for what, command in COMMANDS.items():
            found = [
                [
                    seconds(tree, command, shared / own, shared)
                    for own, tree in trees.items()
                ]
                for _ in range(rounds + 1)
            ]
            pairs = [(theirs, ours) for theirs, ours in found[1:]]
            before, after = (
                statistics.median(column) for column in zip(*pairs, strict=True)
            )
            value = statistics.median(ours / theirs for theirs, ours in pairs)
            note = f"{before:.2f} s -> {after:.2f} s of CPU"
            yield Figure(what, value, 1.05, pairs, note, most=True).told()


def main() -> None:
    parser = options_of(__doc__, "two-trees")
    parser.add_argument("other", type=Path, help="folder of the other checkout")
    parser.add_argument(
        "--rounds", type=int, default=5, help="after one that is not counted"
    )
    options = parser.parse_args()
    finish(measured(options.other, options.rounds), options.out)


if __name__ == "__main__":
    main()
