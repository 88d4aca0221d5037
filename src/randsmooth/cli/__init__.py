"""The command line.

`main` finds a verb, `verbs` lists all of them, and `command` makes one of its settings.
"""
