"""What visitors are answered: images of every kind, limits, and certificates under seeds that nobody knew."""

import dataclasses
import json
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import randsmooth as rs
from models.refusing import problem_of, refusal
from nasty import NASTY
from randsmooth import data
from randsmooth.app import Limits, Served
from randsmooth.app.guard import CALLS, NAMED, Guard
from randsmooth.app.live_certificates import as_data, as_html
from randsmooth.app.live_certificates import refusal as page_of_refusal
from randsmooth.errors import BadValue, Problem
from values import Refusal


def test_images_of_every_kind_come_to_what_the_model_takes(
    served: Served, digit: Path, tmp_path: Path
) -> None:
    (x,), _ = data.load("digits", "test").batch(torch.tensor([3]))
    assert torch.allclose(served.read(digit), x, atol=1 / 255)
    for mode, size in {
        "RGB": (60, 40),
        "RGBA": (9, 9),
        "P": (30, 90),
        "1": (8, 8),
    }.items():
        image = Image.new("RGB", size, (200, 100, 50)).convert(mode)
        image.save(tmp_path / "any.png")
        x = served.read(tmp_path / "any.png")
        grey = float(np.asarray(image.convert("L")).mean())
        near = 1 if mode != "1" else 130
        assert x.shape == (1, 8, 8) and float(x.mean() * 255) == pytest.approx(
            grey, abs=near
        ), mode


def test_files_that_are_too_large_or_no_images_are_refused_without_their_path(
    served: Served, tmp_path: Path
) -> None:
    path = tmp_path / "secret-place.png"
    path.write_bytes(os.urandom(300_000))
    refused = {
        "large": path.read_bytes(),
        "text": b"hello",
        "empty": b"",
        "cut": b"\x89PNG\r\n\x1a\n" + b"\0" * 50,
    }
    Image.new("L", (200, 200)).save(path)
    refused["pixels"] = path.read_bytes()
    said = {
        "large": "larger than the 0.2 MB",
        "pixels": "more than the 10,000",
        "empty": "is empty",
    }
    for name, content in refused.items():
        path.write_bytes(content)
        told = refusal(served.read, path)
        assert (
            said.get(name, "cannot be decoded") in told and "secret-place" not in told
        )


def test_every_run_has_another_seed_and_ends_at_n(served: Served, digit: Path) -> None:
    x = served.read(digit)
    runs = [list(served.watched(x, 0.25, 500)) for _ in range(2)]
    assert runs[0][-1].settings.seed != runs[1][-1].settings.seed
    for moments in runs:
        last = moments[-1]
        assert last.done and not last.late and len(last.history) == len(moments)
        again = rs.SmoothedClassifier(
            served.model,
            sigma=0.25,
            rule="anytime",
            n=500,
            alpha=0.001,
            seed=last.settings.seed,
        ).certify(x)
        assert (again.predict[0], again.radius[0]) == (
            last.look.predict,
            last.look.radius,
        )


def test_the_sentence_of_a_moment_has_its_answer_radius_and_samples(
    served: Served, digit: Path
) -> None:
    *_, moment = served.watched(served.read(digit), 0.25, 500)
    for predict, radius in ((moment.look.predict, 0.125), (3, 0.125), (-1, 0.0)):
        look = dataclasses.replace(moment.look, predict=predict, radius=radius)
        told = as_data(served, dataclasses.replace(moment, look=look))
        assert f" {look.samples} " in told["sentence"]
        assert ("0.12 " in told["sentence"]) == (told["answer"] is not None)
        assert told["answer"] is None or told["answer"] in told["sentence"]


def test_when_the_time_is_up_what_there_is_is_shown(
    served: Served, digit: Path
) -> None:
    hurried = dataclasses.replace(served, limits=Limits(samples=2000, seconds=1e-9))
    (moment,) = hurried.watched(hurried.read(digit), 0.25, 2000)
    assert moment.done and moment.late and moment.look.samples == 32
    assert "The time is up" in as_html(hurried, hurried.read(digit), moment)


def test_examples_are_images_of_the_data_set_as_a_visitor_sends_them(
    served: Served, tmp_path: Path
) -> None:
    images = data.load("digits", "test")
    for example in served.examples:
        dataset, _, index = example.name.partition(":")
        (x,), _ = images.batch(torch.tensor([int(index)]))
        sent = served.read(example.saved_in(tmp_path))
        assert dataset == "digits" and torch.allclose(sent, x, atol=1 / 255)
    assert len(list(tmp_path.iterdir())) == len(served.examples)


def test_what_is_beyond_the_limits_is_refused(served: Served) -> None:
    for n in (199, 2001):
        Refusal(BadValue, "200", "2,000", field="n").check(
            problem_of(next, served.watched(torch.zeros(1, 8, 8), 0.25, n))
        )
    Refusal(BadValue, "seconds=0", field="seconds").check(problem_of(Limits, seconds=0))
    denoised = rs.Denoised(lambda noisy: noisy.clamp(0, 1), served.model)
    behind = Served.of(denoised, "denoised", sigma=0.25, dataset="digits")
    problem = problem_of(next, behind.watched(torch.zeros(1, 8, 8), 0.5, 200))
    Refusal(BadValue, "gaussian=0.25", field="sigma").check(problem)


def test_names_are_text_and_data_are_plain(served: Served, digit: Path) -> None:
    x = served.read(digit)
    *_, moment = served.watched(x, 0.25, 300)
    usual = as_html(served, x, moment).count("<")
    for name in (
        NASTY[each] for each in ("script", "double quote", "image", "template")
    ):
        named = dataclasses.replace(
            served, spec=dataclasses.replace(served.spec, classes=(name,) * 10)
        )
        assert as_html(named, x, moment).count("<") == usual
        assert as_data(named, moment)["classes"] == [name] * 10
        assert page_of_refusal(name).count("<") == page_of_refusal("").count("<")


@pytest.mark.skipif(find_spec("gradio") is None, reason="Gradio is not installed")
def test_only_what_the_page_says_is_let_through(served: Served) -> None:
    from randsmooth.app.web_app import make_app

    app = make_app(served)
    uploads = app.GRADIO_CACHE
    guarded = Guard(None, Path(uploads), served, [])
    functions = [
        number for number, function in app.fns.items() if function.fn is not None
    ]
    # The one that certifies, and one of each example.
    assert functions == list(range(1 + len(served.examples)))
    assert len(served.examples) > 0

    def file(path: object, **more: object) -> dict[str, Any]:
        return {"path": path, "meta": {"_type": "gradio.FileData"}} | more

    def call(*data: object, **more: object) -> bytes:
        return json.dumps({"data": data} | more).encode()

    mine = file(f"{uploads}/1f/mine.PNG", url=None, size=200, orig_name="mine.PNG")
    for body in (call(mine, 0.25, 500), call(None, 2, 2000)):
        guarded.check_call(NAMED, body)
    guarded.check_call(CALLS[1], call(mine, 0.25, 500, fn_index=0, session_hash="a"))
    for number in functions[1:]:
        guarded.check_call(CALLS[1], call(fn_index=number, session_hash="a"))
        told = refusal(guarded.check_call, CALLS[1], call(mine, fn_index=number))
        assert "other arguments" in told
    other, more = (
        file("http://example.com/x.png"),
        mine | {"more": file("http://example.com/x.png")},
    )
    places = (
        3,
        "/etc/passwd",
        "x\0.png",
        f"{uploads}/../x.png",
        f"{uploads}-more/x.png",
        "\ud800.png",
    )
    not_uploaded = [
        3,
        "x.png",
        [other],
        {"path": mine["path"]},
        other,
        more,
        *map(file, places),
    ]
    refused = {
        "not JSON": [b"", b"{", b"\xff\xfe", b"[" * 60_000, b"9" * 60_000],
        "a call is": [b"[]", b"{}", b'{"data": "x"}', b'{"data": null}'],
        "no such function": [call(), call(mine, 0.25), call(mine, 0.25, 500, 1)],
        "sigma must be": [
            call(mine, sigma, 500)
            for sigma in ("a", None, True, 1e-9, 1e9, float("nan"), other)
        ],
        "n must be": [
            call(mine, 0.25, n)
            for n in (5000, 1, None, "500", 10**300, float("inf"), other)
        ],
        "must be an uploaded file": [call(each, 0.25, 500) for each in not_uploaded],
        "must end in": [call(file(f"{uploads}/page.html"), 0.25, 500)],
    }
    for message, bodies in refused.items():
        for body in bodies:
            assert message in refusal(guarded.check_call, NAMED, body)
    for number in (99, len(functions), -1, None, "0", True, [0]):
        Refusal(Problem).check(
            problem_of(
                guarded.check_call, CALLS[1], call(mine, 0.25, 500, fn_index=number)
            )
        )


def test_a_declined_image_is_told_from_an_answer() -> None:
    def guard(images: np.ndarray) -> np.ndarray:
        bright = images.mean(axis=(1, 2, 3)) > 0.3
        return np.where(bright, -1, 2)

    served = Served.of(
        guard, "guard", num_classes=10, dataset="digits", sigma=0.25, refusal="class"
    )
    for level, declined in ((0.6, True), (0.0, False)):
        x = torch.full((1, 8, 8), level)
        *_, last = served.watched(x, 0.25, 500)
        told = as_data(served, last)
        assert (told["declined"], told["answer"] == "declined") == (declined, declined)
        assert ("The model declines" in as_html(served, x, last)) == declined
