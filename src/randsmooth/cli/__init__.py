"""The command line: `main` finds a verb, `verbs` has them all, `command` makes one of its settings."""
