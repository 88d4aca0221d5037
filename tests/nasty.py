"""Strings that would do something in one output or another, were they not taken for text."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from randsmooth.certificates import Certificates, Header, from_evidence

# What a script would leave behind, had it run.
RUN = "window.pwned=(window.pwned||0)+1;document.title='pwned'"

NASTY: dict[str, str] = {
    "empty": "",
    "script": f"<script>{RUN}</script>",
    "end of script": f"</script><script>{RUN}</script>",
    "end of style and title": f"</style></title><script>{RUN}</script>",
    "comment": f"<!-- <script> --!><img src=x onerror={RUN}>",
    "double quote": f'" onmouseover="{RUN}" autofocus onfocus="{RUN}" x="',
    "single quote": f"' onmouseover='{RUN}' x='",
    "image": f"<img src=x onerror={RUN}>",
    "svg": f"<svg/onload={RUN}>",
    "script address": f"javascript:{RUN}",
    "data address": "data:text/html,<script>alert(1)</script>",
    "entities": "&lt;b&gt;bold&lt;/b&gt; &#60;i&#62; &amp;",
    "plotly": "<b>bold</b><br><a href='javascript:alert(1)'>link</a> %{x} <extra></extra>",
    "template of JavaScript": "${alert(1)} `${1}`",
    "template": "{{ 7 * 7 }} {% include '/etc/passwd' %} {# gone #}",
    "format": "{task.description} {0} %s %(x)s {",
    "rich": "[bold red]shout[/bold red] [link=http://evil.example]here[/link] [/]",
    "LaTeX file": r"\input{/etc/passwd} \include{x} \openin5=x",
    "LaTeX": r"\\ \end{tabular} # $ % & ~ _ ^ { } x % gone",
    "LaTeX options": "[3pt] * optional",
    "formula": "$x_1$ \\$y$ $\\frac{1}{0$",
    "link": "[here](javascript:alert(1)) <http://evil.example> http://evil.example www.evil.example",
    "pipes": "a | b |\n|---|---|\n| c | d",
    "heading": "# Heading\n\n===\n---",
    "list": "1. one\n- two",
    "front matter": "---\nlicense: evil\n---\n",
    "fence": "```\nrm -rf ~\n```\n~~~ `code`",
    "sum": '=HYPERLINK("http://evil.example";"here")',
    "at": "@SUM(1+1)",
    "wide sum": "＝1+1",
    "second cell": 'x;=1+1,"=1+1"\n=1+1',
    "colour": "\x1b[31mred\x1b[0m \x1b[8mhidden\x1b[2J\x1b[H",
    "title of a terminal": "\x1b]0;pwned\x07\x1b]8;;http://evil.example\x1b\\here\x1b]8;;\x1b\\",
    "forged lines": "x\nnote: all is well\nrandsmooth: done\r\n",
    "bidi": "\u202egnp.exe\u202c \u2066x\u2069 \u200f",
    "invisible": "a\u200bb\u200cc\ufeffd\u00ade\u2060",
    "nul": "a\x00b",
    "half a letter": "a\ud800b\udcff",
    "combining": "Z" + "\u0300\u0301\u0302\u0303" * 20,
    "right to left": "שלום עולם",
    "emoji": "👩‍🔬🏳️‍🌈",
    "underscore": "_nolegend_",
    "not a number": "nan",
    "long": "0123456789" * 10_000,
}
STRINGS = list(NASTY.values())
PLAIN: dict[str, Any] = {"sigma": 0.5, "n0": 10, "n": 100, "alpha": 0.001}


def table(
    name: str, seed: int = 0, strings: Sequence[str] = STRINGS, **facts: object
) -> Certificates:
    """As many images as strings, each of the class that one of them names; no check of what a header may say."""
    count, rng = len(strings), np.random.default_rng(seed)
    label = np.arange(count)
    counts0, counts = np.zeros((2, count, count), np.int64)
    counts0[label, label] = 10
    counts[label, label] = rng.integers(50, 101, count)
    counts[label, (label + 1) % count] = 100 - counts[label, label]
    of: dict[str, Any] = {
        "counts0": counts0,
        "counts": counts,
        "seconds": np.ones(count),
        "name": name,
    }
    made = from_evidence(Header(**PLAIN), idx=label, label=label, **of)
    return replace(made, header=made.header.model_copy(update=facts))
