"""The certificate table, its files and its journal. No torch here."""

from randsmooth.certificates.files import (
    read,
    read_parquet,
    read_tsv,
    write_parquet,
    write_tsv,
)
from randsmooth.certificates.header import Header
from randsmooth.certificates.journal import Journal, Row
from randsmooth.certificates.table import ABSTAIN, Certificates, check_budget, decide, from_counts

__all__ = [
    "ABSTAIN",
    "Certificates",
    "Header",
    "Journal",
    "Row",
    "check_budget",
    "decide",
    "from_counts",
    "read",
    "read_parquet",
    "read_tsv",
    "write_parquet",
    "write_tsv",
]
