"""Found by every interpreter whose PYTHONPATH has this directory: stops a process at a named checkpoint.

The program itself has no switches for faults. A test names a checkpoint in the environment, and this replaces the
function around it in the processes that the test starts.
"""

from __future__ import annotations

import os

if os.environ.get("PONDAGE_CHAOS_POINT"):
    import checkpoints

    checkpoints.install(os.environ["PONDAGE_CHAOS_POINT"])
