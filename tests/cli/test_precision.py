"""What a run says of precisions: that one is slow here, and what each would give where it may choose."""

from __future__ import annotations

import re
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch

from certification.runs import StopAfter, same
from cli.run import Run
from randsmooth import certify, models, read
from randsmooth.certification import Engine, backends, engine
from randsmooth.certification.backends import Way, base

CPU = torch.device("cpu")
SLOW = r"has no units for bfloat16 and computes in it slowly: --precision 32 with --backend auto is faster"


@pytest.mark.skipif(not base.features().get("avx2"), reason="the limits are those of x86 processors with AVX2")
def test_a_run_in_bfloat16_says_where_the_processor_has_no_units_for_it(
    model: Path, cli: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "AVX2")
    options = ("--take", 1, "--n", 50, "--overwrite", "--out", model.parent / "a.parquet")
    slow = cli("certify", model, "--precision", "bf16", *options)
    assert slow.code == 0 and re.search(rf"note: this processor {SLOW}", slow.out), slow
    assert "has no units" not in cli("certify", model, *options).out
    if base.features().get("avx512_bf16"):
        monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "")
        assert "has no units" not in cli("certify", model, "--precision", "bf16", *options).out


def test_which_processors_lack_the_units(monkeypatch: pytest.MonkeyPatch) -> None:
    laptop, server = {"avx2": True, "avx512_bf16": False}, {"avx2": True, "avx512_bf16": True}
    for had, limit, lacks in (
        (laptop, "", True),
        (laptop, "ALL", True),
        (server, "", False),
        (server, "avx512_core_amx", False),
        (server, "AVX512_CORE_VNNI", True),
        (server, "AVX2", True),
        ({"neon": True}, "", False),  # nothing is known
    ):
        monkeypatch.setattr(base, "features", lambda had=had: had)
        monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", limit)
        assert base.lacks_bfloat16(CPU) == ("this processor" if lacks else None), (had, limit)


def test_older_gpus_are_told_to_use_fp16(monkeypatch: pytest.MonkeyPatch) -> None:
    cases: list[tuple[tuple[int, int], str | None]] = [((7, 5), "a Turing"), ((8, 0), None), ((9, 0), None)]
    for capability, told in cases:
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device, found=capability: found)
        monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "a Turing")
        cuda = torch.device("cuda")
        assert base.lacks_bfloat16(cuda) == told
        assert backends.weighed(cuda) == ("32", "fp16" if told else "bf16")


@pytest.mark.parametrize(("faster", "chosen"), [(0.9, "32"), (1.1, "bf16")])
def test_auto_weighs_precisions_where_it_is_told_to(
    faster: float, chosen: str, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rate(made: engine.Engine) -> float:
        return 100.0 * faster if made.backend.precision == "bf16" else 100.0

    monkeypatch.setattr(Engine, "samples_a_second", rate)
    made = Engine(models.load(model), sigma=0.5, device=CPU, backend="torch", precision="auto")
    assert made.prepare((1, 8, 8)).precision == chosen
    assert set(made.rates) == {Way("torch", "32"), Way("torch", "bf16")}


def test_a_run_says_what_each_precision_gives_and_a_resumed_one_keeps_its_own(
    model: Path, cli: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, whole = model.parent / "a.parquet", model.parent / "whole.parquet"
    options = ("--take", 3, "--n", 50, "--precision", "auto")
    told = cli("certify", model, *options, "--out", whole).out
    assert re.search(r"note: backend torch, batches of \d+ \(no trial: the run is short", told)
    monkeypatch.setattr(engine, "WORTH", 0)
    told = cli("certify", model, *options, "--out", whole, "--overwrite").out
    assert re.search(
        r"note: backend torch( in bfloat16)?, batches of \d+ \(images per second: .*torch in bfloat16 \d", told
    )

    other = {"float32": "bf16", "bfloat16": "32"}[str(read(whole).header.precision)]
    with pytest.raises(KeyboardInterrupt):
        stops = lambda *_: nullcontext(StopAfter(1))  # noqa: E731
        certify(model, take=3, n=50, precision=other, batch=128, out=out, progress=stops)
    assert cli("certify", model, *options, "--resume", "--out", out).code == 0
    certify(model, take=3, n=50, precision=other, batch=128, out=whole, overwrite=True)
    assert same(read(out), read(whole))
