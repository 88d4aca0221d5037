"""`predict`, `explain` and `serve`: the very classifier that was certified, new noise, pages, and what is refused."""

import json
import socket
from pathlib import Path

import numpy as np
import pytest

from cli.processes import Run
from randsmooth import data, read
from untrained import another

CLASSES = {None, *(str(i) for i in range(10))}


def test_predict_answers_as_certified_and_by_no_other_model(
    model: Path, image: str, cli: Run
) -> None:
    options = (
        "--take",
        2,
        "--n",
        100,
        "--precision",
        "bf16",
        "--batch",
        128,
        "--out",
        "a.parquet",
    )
    cli.done("certify", model, *options)
    header = read("a.parquet").header
    assert (header.precision, header.batch, header.backend) == (
        "bfloat16",
        128,
        "torch",
    )
    predict = ("predict", model, image, "--n", 200, "--format", "json")
    like = cli(*predict, "--like", "a.parquet")
    (answer,) = json.loads(like.out)
    assert answer["label"] in CLASSES and answer["seed"] != header.seed == 0
    assert (
        like.out == cli(*predict, "--precision", "bf16", "--seed", answer["seed"]).out
    )
    refused = cli(*predict, "--like", "a.parquet", "--sigma", 0.5)
    assert (
        refused.code == 2
        and "--sigma 0.5 is not what a.parquet was certified with (0.25)" in refused.err
    )
    another(model, Path("other"))
    assert "is about another model: weights" in cli.refused(
        "predict", "other", image, "--like", "a.parquet"
    )


def test_predict_draws_a_seed_that_nobody_knew_and_tells_it(
    model: Path, image: str, cli: Run
) -> None:
    predict = ("predict", model, image, "--n", 200)
    told = [cli(*predict) for _ in range(2)]
    seeds = [int(each.err.split()[2]) for each in told]
    assert (
        seeds[0] != seeds[1]
        and told[0].err == f"note: --seed {seeds[0]} repeats these answers\n"
    )
    again = cli(*predict, "--seed", seeds[0])
    assert (again.out, again.err) == (told[0].out, "")  # who gives a seed knows it
    formats = {
        form: cli(*predict, "--seed", 7, "--format", form).out
        for form in ("csv", "json")
    }
    assert (
        json.loads(formats["json"])[0].items()
        >= {"seed": 7, "sigma": 0.25, "n": 200, "alpha": 0.001}.items()
    )
    head, row = formats["csv"].splitlines()
    assert head == "image,label,radius,sigma,n,alpha,seed" and row.endswith(
        ",0.25,200,0.001,7"
    )


@pytest.mark.slow
def test_an_image_of_a_data_set_is_explained_and_its_certificate_attacked(
    cli: Run, model: Path
) -> None:
    how = (
        "--n",
        300,
        "--seed",
        4,
        "--certificate",
        "one.parquet",
        "--out",
        "page.html",
    )
    done = cli("explain", model, "digits:17", *how)
    assert done.code == 0 and done.out.splitlines()[-2:] == [
        "page.html",
        "one.parquet",
    ], done.err
    table, page = read("one.parquet"), Path("page.html").read_text()
    assert (
        table.idx.tolist(),
        table.header.dataset,
        table.header.split,
        len(table),
    ) == ([17], "digits", "test", 1)
    predict, radius = int(table.predict[0]), table.radius[0]
    label = str(data.load("digits", "test").labels[17].item())
    known = f"(label {label}: {'right' if label == str(predict) else 'wrong'})"
    said = f"answer {predict} {known}  radius {int(radius * 10_000) / 10_000:.4f} (L2)"
    assert (
        done.out.splitlines()[-3]
        == f"digits:17  {f'abstains (label {label})' if predict < 0 else said}"
    )
    assert (
        "nearest other class" in page
        and "1,433 training images" in page
        and "--certificate one.parquet" in page
    )
    assert predict < 0 or (label == str(predict)) == ("The label agrees" in page)
    if predict >= 0:
        cli.done("attack", model, "one.parquet", "--steps", 1, "--m", 8, "--n", 100)


def test_a_file_is_explained_as_predict_certifies_it_and_the_page_says_how(
    cli: Run, model: Path, image: str
) -> None:
    how, quick = (image, "--n", 300, "--seed", 4), ("--no-attack", "--no-training")
    told = cli("predict", model, *how)
    line = told.out.strip().replace(f"{image}  ", f"{image}  answer ") + " (L2)"
    assert cli.done("explain", model, *how, *quick).out.splitlines() == [
        line,
        "explanation.html",
    ]
    page = Path("explanation.html").read_text()
    assert "You asked for no comparison" in page and "data:image/png;base64," in page
    assert "explanation.html exists" in cli.refused("explain", model, *how)
    assert "has 364 images, 0 to 363" in cli.refused("explain", model, "digits:364")
    done = cli("explain", model, "digits:3", "--n", 100, *quick, "--out", "b.html")
    seed = done.err.split()[-4]  # note: --seed S repeats this answer
    assert (
        seed.isdigit() and f"--no-training --seed {seed}<" in Path("b.html").read_text()
    )


def test_what_cannot_be_explained_or_served_is_refused(cli: Run, model: Path) -> None:
    np.savez(model / "two.npz", x=np.zeros((2, 8, 8), np.uint8))
    np.savez(model / "nine.npz", x=np.zeros((2, 9, 9), np.uint8))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        bad = {
            "explain m none.png": "no image at none.png",
            "explain m digts:3": "did you mean 'digits'",
            "explain m digits:364": "has 364 images, 0 to 363",
            "explain m m/nine.npz:0": "and nine.npz's are (1, 9, 9): give images of its own",
            "explain m m/two.npz": "m/two.npz holds 2 images: name one, such as m/two.npz:0",
            "explain m digits:3 --certificate a.csv": "must end in .parquet",
            "serve none": "none names no model",
            "serve m --seconds 0": "--seconds 0.0 must be greater than 0",
            "serve m --host nowhere.invalid": "nothing can listen at nowhere.invalid (",
            f"serve m --host localhost --port {port}": f"nothing can listen at localhost:{port} (",
            "serve m --alpha 2": "--alpha 2",
        }
        cli.refuses(bad)
    assert [path.name for path in Path().iterdir()] == ["m"]
