"""Errors of Spark and of an author's code in a few words: what went wrong, and where in the author's files.

The Java trace is never part of the message; it is kept in `trace` for those who ask for it.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType

import py4j
import pyspark
from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark.errors import PySparkException, PythonException

import pondage
from pondage.errors import PondageError

_MEND_RECORD = 'mend the file or the declared columns; in a job, `on_error: "null"` reads what does not fit as null'
_MEND_HEADER = "declare the columns that the file has, in its order"
_FILE = re.compile(r"\[FAILED_READ_FILE[^\]]*\] Encountered error while reading file (?:file://)?(.+?)\.?\s+SQLSTATE")
_RECORD = re.compile(
    r"\[MALFORMED_RECORD_IN_PARSING[^\]]*\] Malformed records are detected in record parsing: (.*?)\.\n"
)
_HEADER = ("CSV header does not conform to the schema", "Number of column in CSV header is not equal")
_WITHOUT_CLASS = re.compile(r"^\[[A-Z_.]+\] | *SQLSTATE: \w+$")

_LIBRARIES = tuple(str(Path(module.__path__[0]).resolve()) for module in (pyspark, py4j, pondage))
_PY4J = tuple({str(Path(py4j.__path__[0])), str(Path(py4j.__path__[0]).resolve())})
_STANDARD = str(Path(traceback.__file__).parent)
_LONGEST = 1200
_CALL = re.compile(r"([^\s:]+\.py):(\d+)")
_WORKER_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
# An exception's own line under a traceback: its class, and what it says where it says something.
_SAID = re.compile(r"[\w.]+(: |$)")
_BEHIND = ("\tat ", "'", "+-", "== ", "JVM stacktrace", "Driver stack")
_STATE = re.compile(r"\s*SQLSTATE: \w+")
_CALLING = re.compile(r"An error occurred while calling [^\n]*\n: ?")
_UNREACHABLE = (
    "java.net.SocketException", "java.net.SocketTimeoutException", "java.net.UnknownHostException",
    "java.net.ConnectException", "java.net.NoRouteToHostException", "java.nio.channels.ClosedChannelException",
    "java.sql.SQLNonTransientConnectionException", "java.sql.SQLRecoverableException", "java.sql.SQLTransient",
    "java.util.concurrent.TimeoutException", "org.apache.kafka.common.errors.DisconnectException",
    "org.apache.kafka.common.errors.NetworkException", "org.apache.kafka.common.errors.TimeoutException",
    "SparkContext was shut down", "stopped SparkContext",
)  # fmt: skip
"""What Java calls a peer that does not answer, and what Spark says when it is being ended itself. What is derived from
one of them is one, too: a driver's own name for it need not be known."""
_JAVA_CLASS = re.compile(r"^(?:[a-z_$][\w$]*\.)+([A-Z][\w$]*): ?")
_LOST = ("Answer from Java side is empty", "Error while sending", "Connection reset", "Connection refused")


class RippleFailed(PondageError):
    """A Ripple's own code, or the Spark plan it built, failed. `trace` is the whole trace, Python and Java."""

    code = "RIPPLE_FAILED"

    def __init__(
        self, message: str, *, trace: str, hint: str | None = None, place: str | None = None, code: str | None = None
    ) -> None:
        super().__init__(message, hint=hint, place=place, code=code)
        self.trace = trace


def explained(error: BaseException, *, where: str, fallback_place: str | None = None) -> PondageError:
    """Answer the error as one to show; one of ours is answered as it is, with its place and trace added.

    `where` names the Ripple or the query; `fallback_place` is used when no line of the author's code is on the trace,
    which is so for what Spark finds only when it runs. Codes: SPARK_LOST (the JVM is gone: not the author's fault),
    CANCELLED, else RIPPLE_FAILED.
    """
    trace = "".join(traceback.format_exception(error))
    place = _author_place(error.__traceback__) or fallback_place
    if isinstance(error, PondageError):
        error.place = error.place or place
        if not error.message.startswith(where):
            error.message = f"{where}: {error.message}"
            error.args = (error.message,)
        return error
    if _is_lost(error):
        return RippleFailed(
            f"{where}: the connection to Spark was lost ({_first_line(str(error)) or type(error).__name__})",
            trace=trace, place=place, code="SPARK_LOST", hint="the JVM ended; its log says why",
        )  # fmt: skip
    if isinstance(error, (PySparkException, Py4JJavaError)):
        return _spark_failure(error, where, trace, place)
    return RippleFailed(f"{where}: {type(error).__name__}: {_cut(str(error))}", trace=trace, place=place)


def is_connection_lost(error: BaseException) -> bool:
    """Answer whether what Spark reads does not answer, as far as the causes tell: then it may answer again later."""
    said = "\n".join([*map(_text, _chain(error)), str(getattr(error, "_stackTrace", "")), *_classes(error)])
    return any(each in said for each in _UNREACHABLE)


def _classes(error: BaseException) -> list[str]:
    """Answer the classes of the causes that Java holds, and what each is derived from."""
    names: list[str] = []
    for each in _chain(error):
        kind = each.getClass() if hasattr(each, "getClass") else None
        while kind is not None:
            names.append(str(kind.getName()))
            kind = kind.getSuperclass()
    return names


def _spark_failure(error: PySparkException | Py4JJavaError, where: str, trace: str, place: str | None) -> RippleFailed:
    chain = _chain(error)
    java_trace = getattr(error, "_stackTrace", None)
    if isinstance(java_trace, str):
        trace = f"{trace}\n{java_trace}"
    texts = [_text(each) for each in chain]
    if any("OutOfMemoryError" in text for text in texts):
        said = next(text for text in texts if "OutOfMemoryError" in text)
        return RippleFailed(f"{where}: {_cut(_first_paragraph(said))}", trace=trace, place=place, code="OUT_OF_MEMORY")
    if any(("cancelled" in text and "Job" in text) or "[OPERATION_CANCELED]" in text for text in texts):
        return RippleFailed(f"{where}: cancelled", trace=trace, place=place, code="CANCELLED")
    worker = next((text for text in texts if "Traceback (most recent call last)" in text), None)
    if worker is not None or isinstance(error, PythonException):
        said, worker_place = _worker_error(worker or texts[0])
        marked, _, rest = said.partition("DECODE_ERROR: ")
        if rest:  # what reads segments in a worker of Spark has no other way to say it
            return RippleFailed(f"{where}: {rest}", trace=trace, place=place, code="DECODE_ERROR")
        return RippleFailed(f"{where}: {marked}", trace=trace, place=worker_place or place)
    file = unreadable(texts)
    if file is not None:
        return RippleFailed(f"{where}: {_cut(file[0])}", trace=trace, hint=file[1], place=_query_place(error) or place)
    # The innermost cause that has an error class says most: the outer ones only say that a task failed.
    telling = [text for text in texts if text.startswith("[")]
    said = (telling or texts)[-1]
    return RippleFailed(f"{where}: {_cut(_first_paragraph(said))}", trace=trace, place=_query_place(error) or place)


def _chain(error: BaseException) -> list[object]:
    """Answer the error and its causes, the outermost first, whether Python or Java holds them."""
    chain: list[object] = [error]
    cause: object = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    while cause is not None and len(chain) < 12:
        chain.append(cause)
        cause = cause.getCause()  # type: ignore[attr-defined]
    return chain


def _text(error: object) -> str:
    if isinstance(error, Py4JJavaError):
        text = str(error.java_exception.toString())
    elif isinstance(error, BaseException):
        text = str(error)
    else:
        text = str(error.getMessage() or error.toString())  # type: ignore[attr-defined]
    return _JAVA_CLASS.sub(r"\1: ", _CALLING.sub("", text)).replace("SparkException: [", "[").strip()


def _worker_error(text: str) -> tuple[str, str | None]:
    """Answer what a user-defined function said in its Python worker, and the last line of its author there."""
    _, _, told = text.partition("Traceback (most recent call last)")
    lines = [line for line in told.splitlines() if line.strip()]
    # A Java trace or Spark's own words may follow; the message is the first line after the frames.
    said = ""
    place = None
    for line in lines:
        frame = _WORKER_FRAME.search(line)
        if frame and not any(part in frame[1] for part in ("/pyspark/", "pyspark.zip", "/py4j/")):
            place = f"{frame[1]}:{frame[2]}"
        if line[:1].strip() and _SAID.match(line):
            said = line.strip()
            break
    return _cut(said or _first_paragraph(text)), place


def _query_place(error: BaseException) -> str | None:
    """Answer the author's line that Spark noted for the failing expression, where it did."""
    found = next((found for text in _call_sites(error) if (found := _CALL.search(text))), None)
    return f"{found[1]}:{found[2]}" if found else None


def places(error: BaseException) -> Iterator[tuple[str, int]]:
    """Give the lines that led to what Spark found when it ran, the innermost first: in a Python worker, in the driver.

    `spark.sql.stackTracesInDataFrameContext` says how many of the driver Spark keeps.
    """
    for each in _chain(error):
        _, _, told = _text(each).partition("Traceback (most recent call last)")
        yield from reversed([(file, int(line)) for file, line in _WORKER_FRAME.findall(told)])
    for text in _call_sites(error):
        yield from ((file, int(line)) for file, line in _CALL.findall(text))


def _call_sites(error: BaseException) -> list[str]:
    """Answer where the expression that failed was made in Python, where Spark noted it: as a context, or in its words.

    What fails in a task comes with its words alone.
    """
    found: list[str] = []
    try:
        contexts = error.getQueryContext() if isinstance(error, PySparkException) else []
        found = [str(each.callSite()) for each in contexts if "DataFrame" in str(each.contextType())]
    except (Py4JError, PySparkException, AttributeError):
        pass  # a place is a courtesy: the error itself must come through
    for each in _chain(error):
        _, _, told = _text(each).partition("was called from\n")
        if told:
            found.append(told.partition("\n\n")[0].partition("JVM stacktrace")[0])
    return found


def _author_place(trace: TracebackType | None) -> str | None:
    """Answer the innermost line that is neither Pondage, Spark nor an installed library."""
    frames = traceback.extract_tb(trace)
    own = [
        frame
        for frame in frames
        if not frame.filename.startswith((*_LIBRARIES, "<")) and "site-packages" not in frame.filename
    ]
    # Code of the standard library called by an author is not his line either.
    own = [frame for frame in own if not frame.filename.startswith(_STANDARD)]
    return f"{own[-1].filename}:{own[-1].lineno}" if own else None


def _is_lost(error: BaseException) -> bool:
    if isinstance(error, Py4JJavaError):
        return False
    if isinstance(error, Py4JNetworkError):
        return True
    if isinstance(error, ConnectionError):
        # An author's code talks to servers of its own: it is Spark's connection only when py4j used it.
        return _is_of_py4j(error.__traceback__)
    return isinstance(error, Py4JError) and any(part in str(error) for part in _LOST)


def _is_of_py4j(trace: TracebackType | None) -> bool:
    """Answer whether the innermost line that is not of the standard library is one of py4j."""
    files = [frame.filename for frame in traceback.extract_tb(trace)]
    own = [file for file in files if "site-packages" in file or not file.startswith(_STANDARD)]
    return bool(own) and own[-1].startswith(_PY4J)


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]


def _first_paragraph(text: str) -> str:
    """Answer the text up to the plan, the query context or the Java trace that Spark puts behind it."""
    kept: list[str] = []
    for line in text.strip().splitlines():
        if kept and (not line.strip() or line.startswith(_BEHIND)):
            break
        kept.append(line.strip())
    return _STATE.sub("", " ".join(kept)).rstrip("; ")


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST] + " …"


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
