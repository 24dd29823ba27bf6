"""For all suites."""

from __future__ import annotations

import signal
import sys
import threading
from pathlib import Path
from weakref import WeakKeyDictionary

import pytest
from hypothesis import HealthCheck, settings

import pondage

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


OURS = (f"{Path(__file__).parent}/", f"{Path(pondage.__file__).parent}/")
END_S = 30.0
"""So long a thread may take to end after whoever ended it."""
_seen: WeakKeyDictionary[threading.Thread, str] = WeakKeyDictionary()


def pytest_runtest_logfinish(nodeid: str) -> None:
    """Remember after which test a thread was there for the first time."""
    for thread in threading.enumerate():
        _seen.setdefault(thread, nodeid)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail when a thread of ours is left: it works on while libraries are taken down beneath it."""
    others = [each for each in threading.enumerate() if each is not threading.current_thread() and not each.daemon]
    for thread in filter(_is_ours, others):
        thread.join(END_S)
    for thread in filter(_is_ours, others):
        session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED
        print(f"\nthe thread {thread.name} is left, first seen after {_seen.get(thread, 'the last test')}")


def _is_ours(thread: threading.Thread) -> bool:
    """Is it somewhere in the program or the tests? Idle threads of pools are not; Python ends those."""
    frame = sys._current_frames().get(thread.ident or 0)
    while frame is not None:
        if frame.f_code.co_filename.startswith(OURS):
            return True
        frame = frame.f_back
    return False
