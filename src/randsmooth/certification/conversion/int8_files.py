"""Base classifiers in int8 as files: an OpenVINO IR made by NNCF, or an ONNX file made by ONNX Runtime."""

from __future__ import annotations

import json
import logging
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from importlib.metadata import version
from io import StringIO
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import nn

from randsmooth.certification.backends import BACKENDS, frozen, own_copy
from randsmooth.certification.conversion.exporting import export_model
from randsmooth.documents import shown
from randsmooth.errors import InputError, article
from randsmooth.extras import needs
from randsmooth.models import BaseClassifier, GraphFile, OnnxModel, provenance_of
from randsmooth.models.adapters.graph_file import KEY, WEIGHTS, hash_of, quiet_runtime
from randsmooth.progress import Reporter

NOTHING = "no layer of the model can be quantised: it has no convolution and no matrix product that is known"


class Calibration:
    """Noisy images as a model's graph takes them, batch by batch; the first pass through them is reported."""

    def __init__(self, batches: Sequence[np.ndarray], reporter: Reporter) -> None:
        self.batches, self.reporter, self.first = batches, reporter, batches[0]
        self._left = len(batches)

    def __len__(self) -> int:
        return len(self.batches)

    def __iter__(self) -> Iterator[np.ndarray]:
        for batch in self.batches:
            yield batch
            if self._left > 0:
                self._left -= 1
                self.reporter.advance(len(batch))


class IntegerFile(ABC):
    """A kind of file: which models it can be made of, and what makes it.

    Weights have seven bits. Processors without VNNI add two products of 8-bit numbers in 16 bits, where eight bits
    overflow: logits were 6% to 10% off there. With seven, sums are exact, and so are the same everywhere.

    Attributes:
        package: that quantises.
        takes: the models, for the error about another.
    """

    package: ClassVar[str]
    takes: ClassVar[str]

    def check(self, base: BaseClassifier) -> None:
        """Raise InputError for a model that cannot be quantised into such a file, or where a package is missing."""
        if provenance_of(base).get("quantised"):
            raise InputError("the model is in int8 already: quantise the one that it was made of")
        with needs(f"quantising into such a file by {self.package}", "NET.onnx needs ONNX Runtime alone"):
            self.load()
        if not self.accepts(base):
            kind = "module whose steps depend on the images" if isinstance(base, nn.Module) else base.kind
            raise InputError(f"the model is {article(kind)}; only {self.takes} can be quantised into such a file")

    def made_by(self) -> str:
        """The package and its version."""
        return f"{self.package} {version(self.package)}"

    @abstractmethod
    def load(self) -> Any:
        """The package, imported with what else is needed."""

    @abstractmethod
    def accepts(self, base: BaseClassifier) -> bool:
        """Whether such a file can be made of models of this kind."""

    @abstractmethod
    def write(self, base: BaseClassifier, images: Calibration, record: dict[str, Any], path: Path) -> list[Path]:
        """Quantise `base` on the calibration images (1, C, H, W), into `path`; the file holds the `record`.

        Returns:
            The files that were written, in the order in which they are to be put in place.
        """


class IntegerIr(IntegerFile):
    """An OpenVINO IR, quantised by NNCF."""

    package = "nncf"
    takes = "torch modules whose steps do not depend on the images, ONNX files and OpenVINO IR"

    def load(self) -> Any:
        """NNCF, which says nothing to the terminal nor, as it otherwise would, of its use to its makers."""
        os.environ.setdefault("NNCF_CI", "1")  # read when it is imported
        import nncf
        import openvino  # noqa: F401

        nncf.set_log_level(logging.ERROR)
        return nncf

    def accepts(self, base: BaseClassifier) -> bool:
        return BACKENDS["openvino"].accepts(base)

    def write(self, base: BaseClassifier, images: Calibration, record: dict[str, Any], path: Path) -> list[Path]:
        nncf = self.load()
        import openvino

        # Seven bits of weights everywhere, or processors without VNNI compute something else: see `IntegerFile`.
        advanced = nncf.AdvancedQuantizationParameters(overflow_fix=nncf.OverflowFix.ENABLE)
        try:
            with redirect_stdout(StringIO()):  # NNCF shows progress of its own
                quantised = nncf.quantize(
                    pools_last(_graph(base, images.first)),
                    nncf.Dataset(images),
                    subset_size=len(images),
                    advanced_parameters=advanced,
                )
        except Exception as error:  # NNCF and OpenVINO have no base class in common
            raise _failed("NNCF", error) from error
        if not any(layer.get_type_name() == "FakeQuantize" for layer in quantised.get_ops()):
            raise InputError(NOTHING)
        _name(quantised, "int8")
        weights = path.with_suffix(".bin")
        openvino.save_model(quantised, path, compress_to_fp16=False)
        quantised.set_rt_info(json.dumps(record | {WEIGHTS: f"sha256:{hash_of(weights)}"}), [KEY])
        openvino.save_model(quantised, path, compress_to_fp16=False)
        return [weights, path]  # the graph last: it knows the weights that belong to it


class IntegerOnnx(IntegerFile):
    """An ONNX file with QuantizeLinear and DequantizeLinear around every layer, quantised by ONNX Runtime."""

    package = "onnxruntime"
    takes = "torch modules in Python and ONNX files"

    def load(self) -> Any:
        import onnx  # noqa: F401

        quiet_runtime()
        from onnxruntime import quantization

        return quantization

    def accepts(self, base: BaseClassifier) -> bool:
        return isinstance(base, nn.Module | OnnxModel)

    def write(self, base: BaseClassifier, images: Calibration, record: dict[str, Any], path: Path) -> list[Path]:
        quantization = self.load()
        import onnx

        plain, shaped, name = path.with_name("plain.onnx"), path.with_name("shaped.onnx"), "images"
        if isinstance(base, OnnxModel):
            plain, name = Path(base.path), base.input.name
        else:
            export_model(base, onnx=plain, shape=images.first.shape[1:])
        try:
            quantization.shape_inference.quant_pre_process(plain, shaped, skip_symbolic_shape=True)
            quantization.quantize_static(
                shaped,
                path,
                _Reader(name, images),
                per_channel=True,
                reduce_range=True,  # seven bits of weights
                activation_type=quantization.QuantType.QUInt8,
                weight_type=quantization.QuantType.QInt8,
            )
        except Exception as error:
            raise _failed("ONNX Runtime", error) from error
        made = onnx.load(path)
        if not any(node.op_type == "QuantizeLinear" for node in made.graph.node):
            raise InputError(NOTHING)
        made.metadata_props.add(key=KEY, value=json.dumps(record))
        onnx.save(made, path)
        return [path]


WRITERS: dict[str, IntegerFile] = {".xml": IntegerIr(), ".onnx": IntegerOnnx()}  # by how the file's name ends


def _failed(package: str, error: Exception) -> InputError:
    return InputError(f"{package} cannot quantise the model ({type(error).__name__}: {shown(error)})")


class _Reader:
    """Calibration images as ONNX Runtime asks for them: one batch after the other, None at the end."""

    def __init__(self, name: str, images: Calibration) -> None:
        self.feeds = ({name: each} for each in images)

    def get_next(self) -> dict[str, np.ndarray] | None:
        return next(self.feeds, None)


def pools_last(graph: Any) -> Any:
    """The graph with max(ReLU(x)) in place of ReLU(max(x)), which is the same: pools then work on integers, too."""
    for relu in [layer for layer in graph.get_ordered_ops() if layer.get_type_name() == "Relu"]:
        pooled = relu.input_value(0)
        pool = pooled.get_node()
        if pool.get_type_name() != "MaxPool" or len(pooled.get_target_inputs()) != 1:
            continue
        after = relu.output(0).get_target_inputs()
        relu.input(0).replace_source_output(pool.input_value(0))
        pool.input(0).replace_source_output(relu.output(0))
        for each in after:
            each.replace_source_output(pool.output(0))
    graph.validate_nodes_and_infer_types()
    return graph


def _name(graph: Any, name: str) -> None:
    """Name the graph, and its layers by their places, since OpenVINO numbers whatever a process makes."""
    graph.set_friendly_name(name)
    for place, layer in enumerate(graph.get_ordered_ops()):
        layer.set_friendly_name(f"{layer.get_type_name()}_{place}")


def _graph(base: BaseClassifier, image: np.ndarray) -> Any:
    """The model as OpenVINO has it, for batches of any size."""
    import openvino

    if isinstance(base, GraphFile):
        return openvino.Core().read_model(base.path)
    assert isinstance(base, nn.Module)
    module, shape = frozen(own_copy(base)).float().cpu().eval(), image.shape
    with torch.no_grad():
        return openvino.convert_model(module, example_input=torch.zeros(2, *shape[1:]), input=[(-1, *shape[1:])])
