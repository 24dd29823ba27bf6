"""For all suites."""

from __future__ import annotations

import signal

from hypothesis import HealthCheck, settings

# A machine that is busy makes an example slow, not wrong.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


def _told_to_end(number: int, frame: object) -> None:
    """End like Ctrl-C does, so that the fixtures end what they started; whoever says it again does not disturb them."""
    signal.signal(signal.SIGTERM, lambda number, frame: None)
    raise KeyboardInterrupt


# Whatever runs in the background may have begun with Ctrl-C ignored, and the processes of tests would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, _told_to_end)
