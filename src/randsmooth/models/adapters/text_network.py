"""A network of texts behind its tokenizer, such as one of transformers."""

import copy
import hashlib
from collections.abc import Sequence
from typing import Any, Self

import torch
from torch import Tensor, nn

from randsmooth.errors import BadValue, WrongModel
from randsmooth.models.adapters.foreign_model import PythonModel
from randsmooth.models.hub import order_of
from randsmooth.models.weights import weights_hash

# Texts of similar length are asked about together: so many tokens apart, and so many at a
# time. A batch so has one of a few shapes, and an answer does not depend on other texts.
TOKENS_APART = 16
TEXTS_AT_ONCE = 64

# Tokenizers that know no limit say a number beyond this.
MOST_TOKENS = 2**20


class TextNetwork(PythonModel):
    """A torch module of token ids, and the tokenizer that makes these of texts.

    A hidden word is one `mask`, however many tokens the word has: their number would tell
    something of it. A text with more tokens than the network takes is cut, as the
    tokenizer does it. Words beyond that do not exist for the network, and may be replaced.

    Args:
        network: called with what the tokenizer returns, it gives logits (B, K), or an
            answer that has them as `.logits`.
        tokenizer: one of transformers.
        mask: stands for a hidden word; None: the tokenizer's mask token, if it has one;
            empty: hidden words are left out.
        classes: the names of the K classes, in the order of the logits; None: as the
            configuration of the network names them.
        source: the name of the model in errors.

    Attributes:
        own: the names of the network's classes, in the order of its logits.
        classes: the same in the order of the answers, as `for_classes` sets it.
        limit: the most tokens of a text.

    Raises:
        Problem: the network is in train mode, the tokenizer cannot fill texts up to one
            length, or nothing names the classes.

    Example:
        >>> from tokenizers import Tokenizer, models, pre_tokenizers
        >>> from transformers import PreTrainedTokenizerFast
        >>> words = ["[PAD]", "[UNK]", "[MASK]", "a", "good", "bad", "film"]
        >>> numbers = {word: number for number, word in enumerate(words)}
        >>> by_words = Tokenizer(models.WordLevel(numbers, unk_token="[UNK]"))
        >>> by_words.pre_tokenizer = pre_tokenizers.Whitespace()
        >>> tokenizer = PreTrainedTokenizerFast(
        ...     tokenizer_object=by_words,
        ...     pad_token="[PAD]",
        ...     unk_token="[UNK]",
        ...     mask_token="[MASK]",
        ...     model_max_length=16,
        ... )
        >>> class Likes(torch.nn.Module):
        ...     def forward(self, input_ids, attention_mask=None, **others):
        ...         good = (input_ids == 4).sum(dim=1)
        ...         bad = (input_ids == 5).sum(dim=1)
        ...         return torch.stack([bad, good], dim=1).float()
        >>> model = TextNetwork(Likes().eval(), tokenizer, classes=["bad", "good"])
        >>> model.tokens_of(["a good film", "a bad film"])
        [[3, 4, 6], [3, 5, 6]]
    """

    # Texts are filled up to one of a few shapes here.
    padded = False
    reads_texts = True

    def __init__(
        self,
        network: nn.Module,
        tokenizer: Any,
        *,
        mask: str | None = None,
        classes: Sequence[str] | None = None,
        source: str = "the network",
    ) -> None:
        if network.training:
            raise WrongModel(
                f"{source} is in train mode; a certificate is about fixed answers: call "
                "model.eval()"
            )
        if getattr(tokenizer, "pad_token_id", None) is None:
            raise WrongModel(
                f"the tokenizer of {source} has no padding token, which texts of several "
                "lengths need",
                fix="set tokenizer.pad_token",
            )
        self.network = copy.deepcopy(network).requires_grad_(False)
        self.tokenizer = tokenizer
        self.source = source
        self.mask = mask
        if mask is None:
            self.mask = getattr(tokenizer, "mask_token", None) or ""
        self.kind = f"{type(network).__qualname__} of texts"
        self.limit = _limit_of(network, tokenizer)
        self.own = _names_of(network, classes)
        self.classes = self.own
        self.num_classes = len(self.own)

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]
        """What becomes of a hidden word, and of a text that is too long."""
        if not self.limit:
            return super().notes
        return (*super().notes, f"a text is cut to {self.limit} tokens")

    def weights_hash(self) -> str:
        """Return the hash of the weights, the tokenizer and the limit of tokens."""
        hashed = hashlib.sha256(weights_hash(self.network).encode())
        hashed.update(_content_of(self.tokenizer).encode())
        hashed.update(repr((self.limit, self.own)).encode())
        return f"sha256:{hashed.hexdigest()}"

    def for_classes(self, classes: Sequence[str]) -> Self:
        # Raises where they are other classes.
        order_of(self.own, classes, self.source)
        changed = copy.copy(self)
        changed.classes = tuple(classes)
        return changed.with_refusal_among(classes)

    def tokens_of(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each text, cut to the limit."""
        return self._token_ids(texts, cut=True)

    def is_cut(self, text: str) -> bool:
        """Return whether the text has more tokens than the network takes."""
        if not self.limit:
            return False
        (tokens,) = self._token_ids([text], cut=False)
        return len(tokens) > self.limit

    def _token_ids(self, texts: Sequence[str], *, cut: bool) -> list[list[int]]:
        """Return the token ids of each text, cut to the limit or whole."""
        answer = self.tokenizer(
            list(texts),
            truncation=cut and bool(self.limit),
            max_length=self.limit or None,
            padding=False,
            verbose=False,
        )
        ids: list[list[int]] = answer["input_ids"]
        return ids

    def answer(self, noisy: Tensor) -> Tensor:
        tokens = self.tokens_of(self.texts(noisy))
        self.network.to(noisy.device)
        logits: Tensor | None = None
        for length, rows in _by_length(tokens, self.limit):
            for start in range(0, len(rows), TEXTS_AT_ONCE):
                chunk = rows[start : start + TEXTS_AT_ONCE]
                answer = self._ask([tokens[row] for row in chunk], length, noisy.device)
                if logits is None:
                    logits = answer.new_empty(len(noisy), answer.shape[1])
                logits[torch.tensor(chunk, device=noisy.device)] = answer[: len(chunk)]
        assert logits is not None, "a batch has texts"
        order = order_of(self.own, self.classes, self.source)
        return logits[:, order]

    def _ask(
        self, tokens: list[list[int]], length: int, device: torch.device
    ) -> Tensor:
        """Return the logits (TEXTS_AT_ONCE, K) of texts, filled up with copies of one.

        Args:
            tokens: the token ids of each text, at most `length`.
            length: the tokens that all are filled up to.
            device: where the network is.
        """
        copies = [tokens[0]] * (TEXTS_AT_ONCE - len(tokens))
        batch = self.tokenizer.pad(
            {"input_ids": [*tokens, *copies]},
            padding="max_length",
            max_length=length,
            return_tensors="pt",
        )
        given = {
            name: batch[name].to(device)
            for name in ("input_ids", "attention_mask")
            if name in batch
        }
        with torch.inference_mode():
            answer = self.network(**given)
        logits: Tensor = getattr(answer, "logits", answer)
        return logits.float()


def _by_length(tokens: list[list[int]], limit: int) -> list[tuple[int, list[int]]]:
    """Return the lengths that texts are filled up to, and the texts of each, by number."""
    rows_of: dict[int, list[int]] = {}
    for row, ids in enumerate(tokens):
        length = max(1, -(-len(ids) // TOKENS_APART)) * TOKENS_APART
        if limit:
            length = min(length, limit)
        rows_of.setdefault(length, []).append(row)
    return sorted(rows_of.items())


def _limit_of(network: nn.Module, tokenizer: Any) -> int:
    """Return the most tokens of a text; 0 where neither side knows a limit."""
    config = getattr(network, "config", None)
    limits = [
        getattr(tokenizer, "model_max_length", None),
        getattr(config, "max_position_embeddings", None),
    ]
    known = [
        limit for limit in limits if isinstance(limit, int) and 0 < limit <= MOST_TOKENS
    ]
    return min(known, default=0)


def _names_of(network: nn.Module, classes: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of a network's classes.

    Raises:
        BadValue: neither the user nor its configuration names them.
    """
    labels = getattr(getattr(network, "config", None), "id2label", None)
    number = len(labels) if labels else None
    if classes is None and labels:
        return tuple(str(labels[k]) for k in range(len(labels)))
    names = tuple(map(str, classes or ()))
    if len(set(names)) < max(2, len(names)) or number not in (None, len(names)):
        raise BadValue(
            field="classes",
            value=classes,
            expected="must be different names, one for each logit of the network",
        )
    return names


def _content_of(tokenizer: Any) -> str:
    """Return all that decides what a tokenizer does, as far as that can be read."""
    special = repr(sorted(getattr(tokenizer, "special_tokens_map", {}).items()))
    fast = getattr(tokenizer, "backend_tokenizer", None)
    if fast is not None:
        # Truncation and padding are set at each call, and are kept in it.
        whole = copy.deepcopy(fast)
        whole.no_truncation()
        whole.no_padding()
        return special + str(whole.to_str())
    return special + repr(sorted(tokenizer.get_vocab().items()))
