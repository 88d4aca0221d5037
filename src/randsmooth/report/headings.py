"""The headings of the blocks that stand in a report below the checks.

They have a module of their own, so that a command can print them without loading what
makes a report.
"""

ANSWER_HEADING = "Answer"
EVIDENCE_HEADING = "Evidence"
