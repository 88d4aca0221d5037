"""The certificate table, its files and its journal. No torch here."""

from randsmooth.certificates.budgets import budgets, listed, require_reachable
from randsmooth.certificates.checks import check
from randsmooth.certificates.files import (
    candidates,
    parse_header,
    read,
    read_parquet,
    write_parquet,
    write_tsv,
)
from randsmooth.certificates.header import Header
from randsmooth.certificates.inferred import COMMON_ALPHA, infer, rebound
from randsmooth.certificates.journal import Journal, Row, journal_header
from randsmooth.certificates.logs import is_log, read_tsv
from randsmooth.certificates.places import Place, method_named, place_of
from randsmooth.certificates.rules import BOUNDS, RULES, Claim, Evidence, Rule, check_samples, make_rule
from randsmooth.certificates.same_run import ANOTHER_ARITHMETIC, ANOTHER_MODEL, check_same_run, told_apart, unchecked
from randsmooth.certificates.table import (
    ABSTAIN,
    Certificates,
    check_budget,
    decide,
    from_counts,
)
from randsmooth.certificates.words import guarantee_of, rule_of

__all__ = [
    "ABSTAIN",
    "ANOTHER_ARITHMETIC",
    "ANOTHER_MODEL",
    "BOUNDS",
    "COMMON_ALPHA",
    "RULES",
    "Certificates",
    "Claim",
    "Evidence",
    "Header",
    "Journal",
    "Place",
    "Row",
    "Rule",
    "budgets",
    "candidates",
    "check",
    "check_budget",
    "check_same_run",
    "check_samples",
    "decide",
    "from_counts",
    "guarantee_of",
    "infer",
    "is_log",
    "journal_header",
    "listed",
    "make_rule",
    "method_named",
    "parse_header",
    "place_of",
    "read",
    "read_parquet",
    "read_tsv",
    "rebound",
    "require_reachable",
    "rule_of",
    "told_apart",
    "unchecked",
    "write_parquet",
    "write_tsv",
]
