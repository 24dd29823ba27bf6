"""Set the project up: `python scripts/bootstrap.py [demo] [dev] [postgres]`.

Every make target calls this first. It brings `.venv` to what the lock files say, plus the named extras, and ends at
once when that is already so. It needs the standard library of Python 3.11 and nothing else.

This file must be readable by older Pythons, because it is the one that tells them they are too old; all the work is
in `scripts/setup/`.
"""

import sys

OLDEST_PYTHON = (3, 11)


def refusal_of_python(version: "tuple[int, ...]") -> "str | None":
    """Answer why a Python of this version cannot be used, or None when it can."""
    if tuple(version[:2]) >= OLDEST_PYTHON:
        return None
    return (
        f"Pondage needs Python 3.11 or newer, and this is Python {version[0]}.{version[1]} ({sys.executable}).\n"
        "  Install one (Debian, Ubuntu: apt install python3.11 python3.11-venv; macOS: brew install python@3.12)\n"
        "  and name it if it is not found by itself: make demo PYTHON=/path/to/python3.11"
    )


def main(arguments: "list[str]") -> int:
    """Check the interpreter, then hand over to the set-up proper. Answers an exit code."""
    refusal = refusal_of_python(sys.version_info[:2])
    if refusal:
        sys.stderr.write(refusal + "\n")
        return 1
    import os.path

    # Run by its path, Python puts scripts/ on the path; the package is the folder above.
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120
    from scripts.setup.command import run

    return run(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
