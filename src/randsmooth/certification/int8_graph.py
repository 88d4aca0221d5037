"""The graph of a model in int8, as NNCF makes it and OpenVINO writes it.

Its weights have seven bits. Processors without VNNI add two products of 8-bit numbers
in 16 bits. With weights of eight bits these sums overflow, and logits were 6% to 10%
off there. With seven bits the sums are exact, and so the same on every processor.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from randsmooth.certification.backends.file_backends import OpenVINO
from randsmooth.documents import shown
from randsmooth.errors import WrongModel
from randsmooth.models import BaseClassifier
from randsmooth.models.adapters.graph_file import RECORD, WEIGHTS, hash_of


def write_int8_graph(
    base: BaseClassifier,
    batches: Sequence[NDArray[np.float32]],
    record: Mapping[str, Any],
    path: Path,
) -> list[Path]:
    """Write the model in int8 as an OpenVINO IR.

    Args:
        base: the model, which the backend openvino accepts.
        batches: the batches of noisy images to calibrate on, as the model's graph takes
            them.
        record: the facts about the model that the file is to record.
        path: the path of the graph, `NET.xml`.

    Returns:
        The file of the weights, and then the file of the graph, which records the hash
        of its weights.

    Raises:
        Problem: NNCF fails, or finds no layer that it can quantise.
    """
    # Imported here: only quantising needs it.
    import openvino

    graph = _quantised(base, batches)
    # OpenVINO writes the weights beside the graph, under this name.
    weights = path.with_suffix(".bin")
    # The graph is written once for its weights, and again with their hash.
    openvino.save_model(graph, path, compress_to_fp16=False)
    facts = {**record, WEIGHTS: f"sha256:{hash_of(weights)}"}
    graph.set_rt_info(json.dumps(facts), [RECORD])
    openvino.save_model(graph, path, compress_to_fp16=False)
    return [weights, path]


def _quantised(base: BaseClassifier, batches: Sequence[NDArray[np.float32]]) -> Any:
    """Return the graph of the model in int8, calibrated on the batches."""
    # Imported here: only quantising needs it.
    import nncf

    nncf.set_log_level(logging.ERROR)
    seven_bits_everywhere = nncf.AdvancedQuantizationParameters(
        overflow_fix=nncf.OverflowFix.ENABLE
    )
    openvino = OpenVINO(base, torch.device("cpu"), precision="32")  # type: ignore[arg-type]
    # -1 stands for a batch of any size.
    any_batch = (-1, *batches[0].shape[1:])
    graph = openvino.graph_of(any_batch)
    try:
        # NNCF shows progress of its own.
        with redirect_stdout(StringIO()):
            quantised = nncf.quantize(
                pools_last(graph),
                nncf.Dataset(batches),
                subset_size=len(batches),
                advanced_parameters=seven_bits_everywhere,
            )
    # NNCF and OpenVINO have no base class of errors in common.
    except Exception as error:
        raise WrongModel(
            f"NNCF cannot quantise the model ({type(error).__name__}: {shown(error)})"
        ) from error
    # NNCF puts such a layer before each layer that it quantises.
    layer_types = {layer.get_type_name() for layer in quantised.get_ops()}
    if "FakeQuantize" not in layer_types:
        raise WrongModel(
            "no layer of the model can be quantised: "
            "it has no convolution and no known matrix product"
        )
    _name_by_order(quantised)
    return quantised


def _name_by_order(graph: Any) -> None:
    """Name the graph and its layers so that equal models are written as equal files.

    The names that OpenVINO gives have numbers that count up through a process.
    """
    graph.set_friendly_name("int8")
    for number, layer in enumerate(graph.get_ordered_ops()):
        layer.set_friendly_name(f"{layer.get_type_name()}_{number}")


def pools_last(graph: Any) -> Any:
    """Return the graph with max(ReLU(x)) in place of ReLU(max(x)), which is the same.

    Pools then work on integers, too. The graph itself is changed, and returned.
    """
    layers = graph.get_ordered_ops()
    for relu in [layer for layer in layers if layer.get_type_name() == "Relu"]:
        pooled = relu.input_value(0)
        pool = pooled.get_node()
        pooled_for_relu_alone = len(pooled.get_target_inputs()) == 1
        if pool.get_type_name() != "MaxPool" or not pooled_for_relu_alone:
            continue
        # x -> pool -> ReLU -> readers becomes x -> ReLU -> pool -> readers.
        readers = relu.output(0).get_target_inputs()
        relu.input(0).replace_source_output(pool.input_value(0))
        pool.input(0).replace_source_output(relu.output(0))
        for reader in readers:
            reader.replace_source_output(pool.output(0))
    graph.validate_nodes_and_infer_types()
    return graph
