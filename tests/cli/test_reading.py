"""What tables are called that the verbs read."""

from pathlib import Path

from randsmooth.cli import reading

LOG = "idx\tlabel\tpredict\tradius\tcorrect\ttime\n0\t1\t1\t0.2\t1\t0:00:01\n1\t1\t0\t0.1\t0\t0:00:01\n"


def test_namesakes_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    cases: list[tuple[list[str], list[str]]] = [
        (["noise_0.25/sigma_0.25", "noise_0.50/sigma_0.50"], ["sigma_0.25", "sigma_0.50"]),
        (
            ["noise_0.25/test/sigma_0.50", "noise_0.50/test/sigma_0.50", "noise_0.50/train/sigma_0.50"],
            ["noise_0.25/test/sigma_0.50", "noise_0.50/test/sigma_0.50", "noise_0.50/train/sigma_0.50"],
        ),
        (["a/x.tsv", "b/x.tsv", "b/y.tsv"], ["a/x", "b/x", "y"]),
        (["a/x.tsv", "a/x.tsv"], ["x", "x"]),  # the report calls the second x (2)
        (["a/x.tsv", "x.tsv"], ["a/x", "HERE/x"]),
    ]
    for files, names in cases:
        for file in map(tmp_path.joinpath, files):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(LOG)
        read = reading.load([tmp_path / file for file in files])
        assert [table.name for table in read] == [name.replace("HERE", tmp_path.name) for name in names]
