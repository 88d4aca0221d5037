"""What a shell completes, names of other packages included."""

import json
import os
import subprocess
import sys
from pathlib import Path

from openness.plugin import POINTS, announce

# Prints what bash is offered for the last word of each command line, and the help of some verbs.
OFFERS = """
import contextlib, io, json, os, sys
os.environ |= {"_RANDSMOOTH_COMPLETE": "bash_complete", "COMP_WORDS": "", "COMP_CWORD": "0"}
from randsmooth.cli.main import main
lines, verbs = map(json.loads, sys.argv[1:])
def said(words, line):
    os.environ |= {"COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    sys.argv, out = words, io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        main()
    out.flush()
    return out.buffer.getvalue().decode().split()
offered = {
    line: [word.partition(",")[2] for word in said(["randsmooth"], f"randsmooth {line}")]
    for line in lines
}
del os.environ["_RANDSMOOTH_COMPLETE"]
print(json.dumps([offered, {verb: said(["randsmooth", verb, "--help"], "") for verb in verbs}]))
"""
OFFERED = {
    "cert": ["certify"],
    "data ": ["list", "describe"],
    "certify m --back": ["--backend"],
    "train mn": ["mnist"],
    "train mnist --method smooth": ["smoothadv", "smoothmix"],
    "train mnist --logger ": ["tensorboard", "csv"],
    "train mnist --preset cat-rs/macer/t": ["cat-rs/macer/table1"],
    "certify m --split ": ["train", "validation", "test"],
    "completion ": ["bash", "zsh", "fish", "powershell"],
}
OF_OTHERS = {
    "backend": "certify",
    "arch": "train",
    "method": "train",
    "dataset": "certify",
}


def test_words_are_completed_and_names_of_other_packages_are_known(
    tmp_path: Path,
) -> None:
    announce(tmp_path)
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    others = {setting: f"{verb} m --{setting} " for setting, verb in OF_OTHERS.items()}
    asked = json.dumps([*OFFERED, *others.values()]), json.dumps([*OF_OTHERS.values()])
    environment = os.environ | {"PYTHONPATH": path, "COLUMNS": "200"}
    done = subprocess.run(
        [sys.executable, "-c", OFFERS, *asked],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    offered, helps = json.loads(done.stdout)
    assert done.stderr == "" and {line: {*offered[line]} for line in OFFERED} == {
        k: {*v} for k, v in OFFERED.items()
    }
    for setting, line in others.items():
        names = POINTS[
            f"randsmooth.{'architecture' if setting == 'arch' else setting}s"
        ]
        assert {*names} <= {*offered[line]}, setting
        assert all(
            f"{name} (from smoothing-extras)" in " ".join(helps[OF_OTHERS[setting]])
            for name in names
        ), setting
