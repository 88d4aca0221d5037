"""The certificate table, its files and its journal. No torch here."""

from randsmooth.certificates.files import (
    ForeignFile,
    parse_header,
    read,
    read_parquet,
    read_tsv,
    write_parquet,
    write_tsv,
)
from randsmooth.certificates.header import Header
from randsmooth.certificates.journal import Journal, Row
from randsmooth.certificates.rules import BOUNDS, RULES, Claim, Evidence, Rule, make_rule
from randsmooth.certificates.table import ABSTAIN, Certificates, check_budget, decide, from_counts, rule_of

__all__ = [
    "ABSTAIN",
    "BOUNDS",
    "RULES",
    "Certificates",
    "Claim",
    "Evidence",
    "ForeignFile",
    "Header",
    "Journal",
    "Row",
    "Rule",
    "check_budget",
    "decide",
    "from_counts",
    "make_rule",
    "parse_header",
    "read",
    "read_parquet",
    "read_tsv",
    "rule_of",
    "write_parquet",
    "write_tsv",
]
