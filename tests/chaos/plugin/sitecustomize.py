"""Found by every interpreter whose PYTHONPATH has this directory: brings faults into the processes of a test.

The program itself has no switches for faults. A test names a checkpoint, or what else shall go wrong, in the
environment, and this replaces the functions around it in the processes that the test starts.
"""

from __future__ import annotations

import os
import traceback

try:
    if any(name.startswith("PONDAGE_CHAOS") for name in os.environ):
        from pondage.define.project import variables

        # Workers start with what is known to be no secret, and their faults come to them by their environment.
        variables.FAMILIES = (*variables.FAMILIES, "PONDAGE_CHAOS")
    if os.environ.get("PONDAGE_CHAOS"):
        import faults

        faults.install(os.environ["PONDAGE_CHAOS"])
    if os.environ.get("PONDAGE_CHAOS_POINT"):
        import checkpoints

        checkpoints.install(os.environ["PONDAGE_CHAOS_POINT"])
except Exception:  # noqa: BLE001 - printed, and nothing goes on
    # Python would go on without it, and the test would run without its fault.
    traceback.print_exc()
    os._exit(70)
