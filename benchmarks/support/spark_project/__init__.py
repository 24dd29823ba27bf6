"""The reference pipeline as a project: `steps.py` is shared with the hand-written scripts, `ponds.py` is Pondage's."""
