from .evidence import ABSTAIN as ABSTAIN
from .evidence import NO_LABEL as NO_LABEL
from .evidence import name_images as name_images
from .files import FolderFile as FolderFile
from .files import check_file as check_file
from .files import (
    find_certificates as find_certificates,
)
from .files import (
    read as read,
)
from .files import read_file_of as read_file_of
from .files import read_folder as read_folder
from .files import unplaced as unplaced
from .files import (
    write_tsv as write_tsv,
)
from .from_counts import from_counts as from_counts
from .from_radii import CertificatesLike as CertificatesLike
from .from_radii import as_certificates as as_certificates
from .from_radii import from_radii as from_radii
from .header import BATCH_MATTERS as BATCH_MATTERS
from .header import Header as Header
from .header import Machine as Machine
from .header import guarantee_of as guarantee_of
from .header import parse_header as parse_header
from .header import rule_of as rule_of
from .journal import Journal as Journal
from .journal import JournalRow as JournalRow
from .journal import journal_header as journal_header
from .logs.budgets import possible_budgets as possible_budgets
from .logs.inferred import COMMON_ALPHA as COMMON_ALPHA
from .logs.inferred import infer as infer
from .logs.inferred import log_at_alpha as log_at_alpha
from .logs.lines import PredictionLog as PredictionLog
from .logs.lines import looks_like_log as looks_like_log
from .logs.paths import REPOSITORIES as REPOSITORIES
from .logs.paths import PathFacts as PathFacts
from .logs.paths import in_repository as in_repository
from .logs.paths import method_named as method_named
from .logs.paths import path_facts as path_facts
from .logs.reach import require_reachable as require_reachable
from .logs.tsv import read_tsv as read_tsv
from .merging import NotWhole as NotWhole
from .merging import merge as merge
from .parquet import read_parquet as read_parquet
from .parquet import write_parquet as write_parquet
from .sameness import ANOTHER_ARITHMETIC as ANOTHER_ARITHMETIC
from .sameness import ANOTHER_MODEL as ANOTHER_MODEL
from .sameness import check_same_run as check_same_run
from .sameness import classifier_difference as classifier_difference
from .sameness import evidence_difference as evidence_difference
from .selection import Shard as Shard
from .settings import (
    ARITHMETICS as ARITHMETICS,
)
from .settings import (
    PRECISIONS as PRECISIONS,
)
from .settings import CertificationOptions as CertificationOptions
from .settings import (
    CertificationSettings as CertificationSettings,
)
from .settings import (
    Precision as Precision,
)
from .settings import (
    check_budget as check_budget,
)
from .settings import (
    precision_named as precision_named,
)
from .table import (
    Certificates as Certificates,
)
from .table import (
    decide as decide,
)
from .table import (
    from_evidence as from_evidence,
)
