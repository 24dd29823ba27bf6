"""For all suites."""

from __future__ import annotations

import signal

# Whatever runs in the background may have begun with Ctrl-C ignored, and the processes of tests would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
