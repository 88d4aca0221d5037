"""Texts of two classes, a tiny transformer of them behind a tokenizer, and a pipeline of counted words."""

import random
from pathlib import Path
from typing import Any

import tokenizers
import torch
import transformers
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline

GOOD = ["great", "lovely", "moving", "funny", "wise"]
BAD = ["dull", "awful", "boring", "weak", "flat"]
OTHER = ["the", "film", "was", "and", "it", "is", "a", "story", "of", "some", "people"]
SPECIAL = ["[PAD]", "[UNK]", "[MASK]", "[CLS]", "[SEP]"]


def made_texts(number: int, seed: int = 0) -> tuple[list[str], list[str]]:
    """Texts of 4 to 30 words, of which nearly half tell the class, and their labels."""
    rng = random.Random(seed)
    texts, labels = [], []
    for place in range(number):
        kind = GOOD if place % 2 else BAD
        words = [
            rng.choice(kind) if rng.random() < 0.45 else rng.choice(OTHER)
            for _ in range(rng.randint(4, 30))
        ]
        texts.append(" ".join(words))
        labels.append("good" if place % 2 else "bad")
    return texts, labels


def counting_words() -> Pipeline:
    """A fitted pipeline of a bag of words."""
    texts, labels = made_texts(200)
    return make_pipeline(CountVectorizer(), LogisticRegression()).fit(texts, labels)


def tokenizer_of(texts: list[str], limit: int = 40) -> Any:
    """A tokenizer that breaks words into pieces: lovely is lo ##ve ##ly."""
    words = {word for text in texts for word in text.split()}
    pieces = {"lo", "##ve", "##ly"} | (words - {"lovely"})
    vocabulary = {word: place for place, word in enumerate([*SPECIAL, *sorted(pieces)])}
    model = tokenizers.models.WordPiece(vocabulary, unk_token="[UNK]")
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    ends = [("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])]
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=ends
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        mask_token="[MASK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_max_length=limit,
    )


def transformer(tokenizer: Any, limit: int = 40) -> Any:
    """A BERT of one layer with the classes bad and good, whose weights are random."""
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=limit,
        id2label={0: "bad", 1: "good"},
        label2id={"bad": 0, "good": 1},
        initializer_range=0.5,
    )
    return transformers.BertForSequenceClassification(config).eval()


def saved(folder: Path) -> Path:
    """A folder with this transformer and its tokenizer, as `save_pretrained` writes them."""
    texts, _ = made_texts(50)
    tokenizer = tokenizer_of(texts)
    transformer(tokenizer).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
