"""`randsmooth card`: the card of a model folder and of a table."""

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from huggingface_hub import ModelCard

from cli.processes import Run
from randsmooth import read


def test_a_model_folder_gets_its_certificates(
    cli: Run, made: Path, trained: Path
) -> None:
    shutil.copy(made / "a.parquet", trained.with_suffix(".parquet"))
    path = trained / "README.md"
    before: Any = ModelCard(path.read_text())
    answer = json.loads(cli.done("card", trained, "--format", "json").out)
    assert answer == {"files": [str(path)]}
    text = path.read_text()
    after: Any = ModelCard(text)
    assert before.text.strip() in after.text
    assert after.data.license == before.data.license
    assert after.data.model_name == trained.name
    assert {result.dataset_name for result in after.data.eval_results} == {"digits"}
    # Its command makes the same table again.
    (command,) = re.findall("^randsmooth (certify .*--take.*)$", text, re.MULTILINE)
    words = [
        str(trained) if word == "FOLDER" else word for word in shlex.split(command)
    ]
    cli.done(*words, "--out", "again.parquet")
    again, once = read("again.parquet"), read(made / "a.parquet")
    assert np.array_equal(np.asarray(again.counts), np.asarray(once.counts))


def test_certificates_of_other_weights_are_refused(
    cli: Run, made: Path, model: Path
) -> None:
    before = (model / "README.md").read_text()
    assert cli("card", model, made / "a.parquet").code == 2
    # None is beside it.
    assert cli("card", model).code == 2
    assert (model / "README.md").read_text() == before


def test_a_table_gets_a_card_beside_it_and_a_result(
    cli: Run, made: Path, tmp_path: Path
) -> None:
    shutil.copy(made / "a.parquet", tmp_path / "a.parquet")
    assert cli("card", "a.parquet", "--at", 0.1).code == 2
    cli.done("card", "a.parquet", "--benchmark", "me/images:robust", "--at", 0.1)
    result = tmp_path / ".eval_results" / "a.yaml"
    assert "me/images" in result.read_text()
    card = tmp_path / "a.md"
    own = card.read_text().replace("# a: certificates", "# Mine: certificates")
    card.write_text(own)
    cli.done("card", "a.parquet")
    assert card.read_text() == own
