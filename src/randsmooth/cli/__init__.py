"""The command line: `main` finds verbs, `verbs` has them, `command` makes one of settings."""
