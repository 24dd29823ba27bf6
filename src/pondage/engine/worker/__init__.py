"""The worker: a process with slots that claims, carries out and commits."""
