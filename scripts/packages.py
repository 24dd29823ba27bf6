"""Install what tests need of Debian's packages, where that is allowed; else say what will be skipped.

python -m scripts.packages
"""

from __future__ import annotations

import sys
from pathlib import Path

from scripts.setup import packages

LOG = Path(__file__).resolve().parent.parent / ".cache" / "packages.log"


def main() -> int:
    """Bring the packages along; without them their tests are skipped, so this never fails."""
    wanted = packages.missing()
    if not wanted:
        return 0
    names = " ".join(wanted)
    if not packages.may_install():
        print(f"Without {names} some tests are skipped. To have them (Debian, Ubuntu): sudo apt-get install {names}")
        return 0
    print(f"Installing {names} from Debian's packages (once, about 450 MB of disk) …", flush=True)
    LOG.parent.mkdir(exist_ok=True)
    if not packages.install(wanted, LOG):
        print(f"apt-get could not install {names}; their tests are skipped. What it said: {LOG}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
