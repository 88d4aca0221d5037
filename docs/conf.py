"""How Sphinx builds the site; `make docs` does, and runs what its pages say."""

import sys
import tomllib
from pathlib import Path
from typing import ClassVar

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

from pygments.lexers.shell import BashLexer  # noqa: E402
from pygments.token import Name  # noqa: E402
from sphinx.application import Sphinx  # noqa: E402

import randsmooth  # noqa: E402

PROJECT = tomllib.loads((HERE.parent / "pyproject.toml").read_text())["project"]

project = "randsmooth"
author = "the authors of randsmooth"
version = release = randsmooth.__version__
language = "en"
smartquotes = False  # --option stays as it is typed

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    *sorted(
        path.stem
        for path in (HERE / "_ext").glob("*.py")
        if "\ndef setup(" in path.read_text()
    ),  # ours
]
exclude_patterns = ["_*", "**/_*"]
nitpick_ignore_regex = [
    ("py:.*", r"(?!randsmooth\b).*")
]  # the inventories of other projects are not at hand offline

# Markdown. A heading is reached by the anchor that GitHub gives it.
myst_enable_extensions = [
    "attrs_block",
    "attrs_inline",
    "colon_fence",
    "deflist",
    "dollarmath",
]
myst_heading_anchors = 4

# Notebooks run whenever they are read, and an error in one fails the build.
nb_execution_mode = "force"
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_execution_in_temp = True
nb_merge_streams = True
nb_output_stderr = "remove"  # warnings of other packages, which name folders of the machine that built the site

# The reference, from docstrings.
autodoc_class_signature = "mixed"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
napoleon_numpy_docstring = False
napoleon_custom_sections = [
    ("Attributes", "params_style")
]  # as fields: links to their bare names would be ambiguous
napoleon_use_rtype = False
python_maximum_signature_line_length = 100

# What a reader sees. Nothing is taken from another host.
html_theme = "furo"
html_title = f"randsmooth {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_favicon = "_static/favicon.svg"
html_copy_source = False
html_show_copyright = False
html_math_renderer = "mathml"
html_theme_options = {"navigation_with_keys": True}
# Colours of code with a contrast of 4.5 : 1 to their background, in either theme.
pygments_style = "default"
pygments_dark_style = "monokai"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


class Console(BashLexer):
    """Commands are written without a prompt, so that a # begins a comment; an option is one word, never broken."""

    tokens: ClassVar = BashLexer.tokens | {
        "basic": [
            (r"(?<=\s)--?[a-zA-Z][\w-]*", Name.Attribute),
            *BashLexer.tokens["basic"],
        ]
    }


def setup(app: Sphinx) -> None:
    app.add_lexer("console", Console)
