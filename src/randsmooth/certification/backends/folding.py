"""Batch normalisation as a part of the convolution before it: in eval mode both are one affine map."""

from __future__ import annotations

from collections import Counter

from torch import fx, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from randsmooth.models import Ensemble, Wrapped

FIRST, THEN = nn.Conv2d, nn.BatchNorm2d


class _Tracer(fx.Tracer):
    """Looks into modules only as far as there is something to fold."""

    def is_leaf_module(self, m: nn.Module, qualified_name: str) -> bool:
        return not any(isinstance(inner, THEN) for inner in m.modules()) or super().is_leaf_module(m, qualified_name)


def fold_batch_norm(model: nn.Module) -> nn.Module:
    """`model` (eval mode; changed in place) with every batch normalisation folded that follows a convolution alone.

    The answers are the same up to rounding. A model that torch.fx cannot trace is returned as it is. Of our own modules
    around others, which it cannot trace, those others are folded.

    Example:
        >>> folded = fold_batch_norm(nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU()).eval())
        >>> any(isinstance(module, nn.BatchNorm2d) for module in folded.modules())
        False
    """
    if isinstance(model, Wrapped):
        model.inner = fold_batch_norm(model.inner)
        return model
    if isinstance(model, Ensemble):
        model.members = nn.ModuleList(map(fold_batch_norm, model.members)).eval()
        return model
    if not any(isinstance(module, THEN) for module in model.modules()):
        return model
    try:
        graph = _Tracer().trace(model)
    except Exception:  # whatever the model's own code does with a symbol in the place of numbers
        return model
    traced = fx.GraphModule(model, graph)
    calls = Counter(node.target for node in graph.nodes if node.op == "call_module")
    for norm in list(graph.nodes):
        conv = norm.args[0] if norm.args else None
        if not (_is(norm, THEN, traced) and isinstance(conv, fx.Node) and _is(conv, FIRST, traced)):
            continue
        if len(conv.users) == 1 and calls[conv.target] == 1:  # nobody else sees the convolution's own output
            parent, _, name = str(conv.target).rpartition(".")
            first, then = (traced.get_submodule(str(node.target)) for node in (conv, norm))
            setattr(traced.get_submodule(parent), name, fuse_conv_bn_eval(first, then))  # type: ignore[type-var, arg-type]
            norm.replace_all_uses_with(conv)
            graph.erase_node(norm)
    traced.delete_all_unused_submodules()
    traced.recompile()
    return traced


def _is(node: fx.Node, kind: type[nn.Module], within: fx.GraphModule) -> bool:
    return node.op == "call_module" and isinstance(within.get_submodule(str(node.target)), kind)
