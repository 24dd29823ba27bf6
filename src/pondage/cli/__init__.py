"""The command line: one file for each verb, named as the verb, in a room for each section of the help.

`main` has the table of verbs: a name, its room, a line. The file is imported when the verb is called, so a new verb is
a line there and a file here. What verbs share lies below them, and each room imports only those after it: `files` (what
they read of a project), `follow` (how they wait and show), `printing`, `client` (a ledger, or a server). None imports
Spark: what needs it is asked of a worker, or runs in a process of its own.
"""
