from .checks import check as check
from .files import candidates as candidates, parse_header as parse_header, read as read, read_parquet as read_parquet, write_parquet as write_parquet, write_tsv as write_tsv
from .header import Header as Header
from .inferred import COMMON_ALPHA as COMMON_ALPHA, infer as infer, rebound as rebound
from .journal import Journal as Journal, Row as Row, journal_header as journal_header
from .log_budgets import budgets as budgets, listed as listed, require_reachable as require_reachable
from .logs import is_log as is_log, read_tsv as read_tsv
from .places import Place as Place, method_named as method_named, place_of as place_of
from .rules import BOUNDS as BOUNDS, RULES as RULES, Claim as Claim, Evidence as Evidence, Rule as Rule, check_samples as check_samples, make_rule as make_rule
from .same_run import ANOTHER_ARITHMETIC as ANOTHER_ARITHMETIC, ANOTHER_MODEL as ANOTHER_MODEL, check_same_run as check_same_run, told_apart as told_apart, unchecked as unchecked
from .table import ABSTAIN as ABSTAIN, Certificates as Certificates, check_budget as check_budget, decide as decide, from_counts as from_counts
from .words import guarantee_of as guarantee_of, rule_of as rule_of
