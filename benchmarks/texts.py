"""Sentences of movie reviews, certified by words: a bag of words and a small transformer, trained on hidden words.

    pip download --no-deps --no-binary :all: vaderSentiment==3.3.2
    python benchmarks/texts.py vaderSentiment-3.3.2.tar.gz [--n 1000] [--out results/texts]

The source package of vaderSentiment (MIT licence; Hutto & Gilbert 2014) ships 10,604 sentences, each with its mean
rating by people, from -4 to 4. Those rated at least 1 from 0, of 8 words or more, are taken; one in five of them is for
testing. Both models are trained on copies of which 20% of the words are left, and certified under ablation=20%.
Shown is which share of the tested sentences is right and certified for so many replaced words.
"""

import io
import random
import tarfile
from pathlib import Path
from typing import Any

import tokenizers
import torch
import transformers
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import randsmooth as rs
from harness import options_of, written
from randsmooth.report.layouts import pipes

INSIDE = "additional_resources/hutto_ICWSM_2014.tar.gz"
RATED = "movieReviewSnippets_GroundTruth.txt"
PERCENT, COPIES, LEAST_RATING, LEAST_WORDS, TESTED = 20, 4, 1.0, 8, 100
RADII = (0, 1, 2, 3)
SPECIAL = ["[PAD]", "[UNK]", "[MASK]"]
LIMIT, MOST_WORDS, EPOCHS = 64, 4000, 2


def sentences(package: Path) -> list[tuple[str, int]]:
    """Sentences and whether they are rated well."""
    with tarfile.open(package) as outer:
        name = next(member for member in outer.getnames() if member.endswith(INSIDE))
        content = outer.extractfile(name)
        assert content is not None
        with tarfile.open(fileobj=io.BytesIO(content.read())) as inner:
            name = next(
                member
                for member in inner.getnames()
                if member.endswith(f"/{RATED}") and "._" not in member
            )
            file = inner.extractfile(name)
            assert file is not None
            lines = file.read().decode("utf-8", "replace").splitlines()
    found = []
    for line in lines:
        _number, rating, text = line.split("\t", 2)
        if abs(float(rating)) >= LEAST_RATING and len(text.split()) >= LEAST_WORDS:
            found.append((text.lower(), int(float(rating) > 0)))
    random.Random(0).shuffle(found)
    return found


def hidden(text: str, mask: str, rng: random.Random) -> str:
    """The text with so many percent of its words left, the others hidden."""
    words = text.split()
    kept = set(rng.sample(range(len(words)), max(1, round(len(words) * PERCENT / 100))))
    shown = [word if place in kept else mask for place, word in enumerate(words)]
    return " ".join(word for word in shown if word)


def copies(train: list[tuple[str, int]], mask: str) -> tuple[list[str], list[int]]:
    """Copies of each training sentence with hidden words, and their labels."""
    rng = random.Random(1)
    texts = [hidden(text, mask, rng) for text, _ in train for _ in range(COPIES)]
    return texts, [label for _, label in train for _ in range(COPIES)]


def bag_of_words(train: list[tuple[str, int]]) -> Any:
    """A fitted pipeline of counted words."""
    pipeline = make_pipeline(CountVectorizer(), LogisticRegression(max_iter=1000))
    return rs.words(pipeline.fit(*copies(train, "")))


def transformer(train: list[tuple[str, int]]) -> Any:
    """A BERT of two layers, trained from scratch."""
    model = tokenizers.models.WordPiece(unk_token="[UNK]")
    inner = tokenizers.Tokenizer(model)
    inner.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    trainer = tokenizers.trainers.WordPieceTrainer(
        vocab_size=MOST_WORDS, special_tokens=SPECIAL, show_progress=False
    )
    inner.train_from_iterator([text for text, _ in train], trainer)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner,
        pad_token="[PAD]",
        unk_token="[UNK]",
        mask_token="[MASK]",
        model_max_length=LIMIT,
    )
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=128,
        max_position_embeddings=LIMIT,
        pad_token_id=tokenizer.pad_token_id,
        id2label={0: "0", 1: "1"},
    )
    network = transformers.BertForSequenceClassification(config)
    texts, labels = copies(train, "[MASK]")
    y = torch.tensor(labels)
    optimiser = torch.optim.AdamW(network.parameters(), lr=1e-3)
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(texts)).split(64):
            given = tokenizer(
                [texts[place] for place in batch],
                padding=True,
                truncation=True,
                return_tensors="pt",
                return_token_type_ids=False,
            )
            loss = network(**given, labels=y[batch]).loss
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    return rs.words(network.eval(), tokenizer)


def main() -> None:
    """Certify both, and write OUT.json and OUT.md."""
    parser = options_of(__doc__)
    parser.add_argument("package", type=Path, help="vaderSentiment-3.3.2.tar.gz")
    parser.add_argument("--n", type=int, default=1000, help="samples a sentence")
    options = parser.parse_args()
    out = options.out or Path("results/texts")
    rated = sentences(options.package)
    tested = rated[: len(rated) // 5]
    train = rated[len(rated) // 5 :]
    texts = rs.data.texts(
        [text for text, _ in tested], [label for _, label in tested], name="reviews"
    )
    rows = [["model", "right", *(f"{r} replaced" for r in RADII)]]
    for name, make in (("bag of words", bag_of_words), ("transformer", transformer)):
        table = rs.certify(
            make(train),
            texts,
            noise=f"ablation={PERCENT}%",
            n=options.n,
            take=TESTED,
            progress=False,
        )
        assert table.counts is not None
        right = float((table.counts.argmax(axis=1) == table.label).mean())
        shares = [float((table.correct & (table.radius >= r)).mean()) for r in RADII]
        rows.append([name, *(f"{share:.1%}" for share in [right, *shares])])
        print(rows[-1], flush=True)
    words = sorted(len(text.split()) for text, _ in tested)
    facts = {
        "n": options.n,
        "alpha": 0.001,
        "percent kept": PERCENT,
        "sentences": {"training": len(train), "tested": TESTED},
        "words in the median": words[len(words) // 2],
        "rows": rows,
    }
    written(out.with_suffix(".json"), facts)
    head = (
        f"Share of {TESTED} sentences ({words[len(words) // 2]} words in the median) whose "
        f"most frequent answer is right, and that are right and certified for so many "
        f"replaced words; ablation={PERCENT}%, n = {options.n:,}, alpha = 0.001."
    )
    figures = [False, *[True] * (len(RADII) + 1)]
    text = "\n".join([head, "", *pipes(rows, figures), ""])
    out.with_suffix(".md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
