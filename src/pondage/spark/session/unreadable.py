"""Files that cannot be read as declared: which one, what does not fit, and our own way out instead of Spark's."""

from __future__ import annotations

import re
from collections.abc import Sequence

_MEND_RECORD = 'mend the file or the declared columns; in a job, `on_error: "null"` reads what does not fit as null'
_MEND_HEADER = "declare the columns that the file has, in its order"
_FILE = re.compile(r"\[FAILED_READ_FILE[^\]]*\] Encountered error while reading file (?:file://)?(.+?)\.?\s+SQLSTATE")
_RECORD = re.compile(
    r"\[MALFORMED_RECORD_IN_PARSING[^\]]*\] Malformed records are detected in record parsing: (.*?)\.\n"
)
_HEADER = ("CSV header does not conform to the schema", "Number of column in CSV header is not equal")
_WITHOUT_CLASS = re.compile(r"^\[[A-Z_.]+\] | *SQLSTATE: \w+$")


def unreadable(texts: Sequence[str]) -> tuple[str, str] | None:
    """Answer why a file could not be read, and a hint, by an error and its causes; None for any other failure."""
    file = next((found[1] for text in texts if (found := _FILE.search(text))), None)
    whose = "a file" if file is None else file
    header = next((text for text in texts if text.startswith(_HEADER)), None)
    if header is not None:
        lines = [line.strip() for line in header.splitlines() if not line.startswith("CSV file:")]
        return f"{whose} has other columns than declared: {', '.join(lines[1:])}", _MEND_HEADER
    for number, text in enumerate(texts):
        if found := _RECORD.search(text):
            why = [_WITHOUT_CLASS.sub("", each.strip()).partition("\n")[0] for each in texts[number + 1 :]]
            reasons = [each for each in why if each and not _RECORD.search(each)]
            record = "" if found[1] == "_corrupt_record" else f": {found[1]}"
            last = f" ({reasons[-1]})" if reasons else ""
            return f"a record of {whose} cannot be read as declared{record}{last}", _MEND_RECORD
    return None
