"""One component while it runs: what it is given, what it gave checked and written, and how it ended.

Nothing here imports Spark before a component needs it: sleeping, failing or listing files does not start a JVM.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from pondage.define.job.component import ComponentDefinition, definition_of
from pondage.define.job.component_run import as_json
from pondage.define.job.flow import CONST
from pondage.define.types.port import declared_port
from pondage.define.types.segment import Segment
from pondage.errors import PondageError
from pondage.spark.component.inputs import Frames, arguments
from pondage.spark.component.spark_run import SparkRun
from pondage.spark.types.values import is_plain, plain_frame
from pondage.work.component import ComponentTask, Input, Made, Member, MemberResult, Stored
from pondage.work.snapshot import SnapshotContent

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NOT_OURS = ("SPARK_LOST", "CANCELLED")
LEDGER_AWAY = "LEDGER_UNAVAILABLE"
"""Nobody's fault either: its code or a secret could not be asked for, and whoever runs it gives it back."""


class Streams(Protocol):
    """The ports of a component that streams. Its waits end early when the attempt is stopped or taken away."""

    def take(self, port: str, source: Input) -> Segment | Stored | None:
        """Answer the next segment of a source, or the table that it is; None at the end."""

    def put(self, port: str, data: bytes, rows: int) -> None:
        """Commit a segment."""

    def close(self, port: str) -> None:
        """Commit the end of an output."""


class ComponentWork(msgspec.Struct, frozen=True, kw_only=True):
    """What an execution of components needs. `place` is a directory that no other execution has; ports go below it."""

    task: ComponentTask
    function: Callable[[str], Callable[..., object]]
    session: Callable[[], SparkSession]
    place: Callable[[str], str]
    root: Path | None = None
    secrets: Callable[[str, str], str] | None = None
    """Opens a secret for a component by the name that it has there."""
    stop: threading.Event | None = None
    """Set when it is asked to stop."""
    streams: Streams | None = None
    """Of a component in stream mode: its ports."""


class WrongComponent(PondageError):
    """A component answered something that it has not declared."""

    code = "WRONG_RETURN"


class Call:
    """One member while it runs."""

    def __init__(self, work: ComponentWork, member: Member) -> None:
        self.work = work
        self.member = member
        self.is_last = member is work.task.members[-1]
        read = [one.port for one in _made_of(work.task) if one.instance == member.instance]
        self.needed = tuple(dict.fromkeys([*member.writes, *read]))
        """The outputs that somebody reads, in this execution or outside of it."""
        self.plain: dict[str, str] = {}
        secrets = None if work.secrets is None else partial(work.secrets, member.component)
        self.run = SparkRun(work.task, member, session=work.session, root=work.root, secrets=secrets, stop=work.stop)

    def result(self, made: Frames) -> MemberResult:
        """Run it to its end; a failure is part of the answer."""
        try:
            returned = self.called(made)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - it is the member's failure, and told as such
            return self.failed(error)
        if isinstance(returned, list) or returned is None:
            return self.ended(items=returned)
        made.update({(self.member.instance, port): frame for port, frame in returned.items()})
        if not self.is_last:
            return self.ended()
        try:
            return self.ended(outputs=self.written(returned))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - it is the member's failure, and told as such
            return self.blamed(error, made)

    def blamed(self, error: BaseException, made: Frames) -> MemberResult:
        """Answer the failure of what was written: that of the member whose code failed, else of all together."""
        members = self.work.task.members
        if len(members) == 1:
            return self.failed(error)
        from pondage.spark.component.blame import guilty

        names = guilty(error, {one.instance: self.work.function(one.entry) for one in members}, made)
        if len(names) > 1:
            return self.failed(error, code=f"FUSED_ACTION({', '.join(names)})")
        return Call(self.work, next(one for one in members if one.instance == names[0])).failed(error)

    def called(self, made: Frames) -> dict[str, object] | list[object] | None:
        """Call the function and answer what it gave, checked."""
        function = self.work.function(self.member.entry)
        definition = definition_of(function)
        if definition is None:
            raise WrongComponent(f"{self.member.entry} is no component", hint="declare it with @component")
        given = arguments(self.member, definition, made, self.work.session)
        returned = function(**given, params=self.member.params, run=self.run)
        self.check_writes(definition)
        if definition.kind == "iterator":
            return self.items(returned)
        return self.tables(returned, definition)

    def items(self, returned: object) -> list[object] | None:
        """Check the elements of an iterator."""
        if returned is None or isinstance(returned, list):
            return None if returned is None else [as_json(one, "an element") for one in returned]
        raise WrongComponent(f"{self.member.instance} is an iterator and returned a {type(returned).__name__}, no list")

    def tables(self, returned: object, definition: ComponentDefinition) -> dict[str, object] | None:
        """Check what it gave for its ports."""
        if returned is None:
            if self.needed:
                raise self.not_closed(self.needed[0])
            return None
        frames = returned if isinstance(returned, Mapping) else {only_port(definition): returned}
        from pyspark.sql import DataFrame

        from pondage.spark.component.segment_types import difference

        for port, frame in frames.items():
            declared = declared_port(definition.outputs, port)
            if declared is None:
                raise WrongComponent(f"{self.member.instance} has no output port {port!r}")
            if self.plain_type(declared.type):
                self.check_plain(port, self.plain_type(declared.type), frame)
                self.plain[port] = self.plain_type(declared.type)
            elif not isinstance(frame, DataFrame):
                raise WrongComponent(f"{self.member.instance}.{port} is a {type(frame).__name__}, no DataFrame")
            elif found := difference(frame, declared.type, definition.vars):
                raise WrongComponent(f"{self.member.instance}.{port}: {found}")
        missing = [port for port in self.needed if port not in frames]
        if missing:
            raise self.not_closed(missing[0])
        return dict(frames)

    def not_closed(self, port: str) -> WrongComponent:
        """Say that it gave nothing for a port that somebody reads."""
        return WrongComponent(f"{self.member.instance} returned nothing for its port {port}", code="OUTPUT_NOT_CLOSED")

    def plain_type(self, declared: str) -> str:
        """Answer the type of an output that is a Python value, and nothing for a table. A constant says its own."""
        found = str(self.member.params["type"]) if self.member.component == CONST.name else declared
        return found if is_plain(found) else ""

    def check_plain(self, port: str, type_: str, value: object) -> None:
        """Check a Value or Bytes."""
        if type_.startswith("Bytes") and not isinstance(value, bytes):
            raise WrongComponent(f"{self.member.instance}.{port} is a {type(value).__name__}, no bytes")
        if not type_.startswith("Bytes"):
            as_json(value, f"{self.member.instance}.{port}")

    def written(self, frames: Mapping[str, object]) -> dict[str, SnapshotContent]:
        """Write what somebody reads."""
        return {port: self.written_table(port, self.frame(port, frames[port])) for port in self.member.writes}

    def frame(self, port: str, given: object) -> DataFrame:
        """Answer what it gave for a port as a table."""
        if port in self.plain:
            return plain_frame(self.work.session(), self.plain[port], given)
        return given  # type: ignore[return-value]  # checked when it was returned

    def written_table(self, port: str, frame: DataFrame) -> SnapshotContent:
        """Write one table; one that is published is checked too."""
        from pondage.spark.files.write import write_files
        from pondage.spark.rules.checked_write import write_checked
        from pondage.spark.rules.expectations import Facts

        published = self.member.publishes.get(port)
        if published is None:
            return write_files(frame, self.work.place(port)).as_content()
        facts = Facts(freshness_us=published.freshness, volumes=published.volumes, tables=published.tables)
        return write_checked(
            self.work.session(), frame, self.work.place(port), contract=published.contract,
            rules=published.expectations, facts=facts, where=published.where, batch=published.batch,
        )  # fmt: skip

    def check_writes(self, definition: ComponentDefinition) -> None:
        """See that it wrote no after-variable or global that it does not declare."""
        for what, allowed, used in (
            ("after-variable", definition.after, self.run.after),
            ("global", definition.globals, {*self.run.globals.writes, *self.run.globals.deletes}),
        ):
            for name in used:
                if allowed is not None and name not in allowed:
                    raise WrongComponent(
                        f"{self.member.instance} wrote the {what} {name!r}, which it does not declare",
                        code="UNDECLARED_WRITE",
                    )

    def ended(
        self, *, outputs: dict[str, SnapshotContent] | None = None, items: list[object] | None = None
    ) -> MemberResult:
        """Say how it ended."""
        return MemberResult(
            instance=self.member.instance,
            outputs=outputs or {},
            items=items,
            after=dict(self.run.after),
            globals=dict(self.run.globals.writes),
            deletes=tuple(sorted(self.run.globals.deletes)),
            is_cut=self.run.has_seen_stop,
        )

    def failed(self, error: BaseException, *, code: str = "") -> MemberResult:
        """Tell a failure; what was written before it counts (R-019)."""
        message, own_code = f"{type(error).__name__}: {error}", type(error).__name__
        if isinstance(error, PondageError):
            if error.code == LEDGER_AWAY:
                raise error
            message, own_code = error.message + (f" ({error.hint})" if error.hint else ""), error.code
        elif type(error).__module__.startswith(("pyspark", "py4j")):
            from pondage.spark.session.errors import explained

            shown = explained(error, where=self.member.instance)
            if shown.code in NOT_OURS:
                raise shown from error
            # Whoever shows it names the component already.
            message = shown.message.removeprefix(f"{self.member.instance}: ")
            message += f" ({shown.hint})" if shown.hint else ""
            own_code = shown.code.replace("RIPPLE_FAILED", own_code)
        elif isinstance(error, MemoryError):
            own_code = "OUT_OF_MEMORY"
        self.run.log.error("%s", message)
        return msgspec.structs.replace(
            self.ended(), raises=message, code=code or own_code, trace="".join(traceback.format_exception(error))
        )


def _made_of(task: ComponentTask) -> Iterator[Made]:
    """Answer what members take from earlier ones."""
    for member in task.members:
        for sources in member.inputs.values():
            yield from (one for one in sources if isinstance(one, Made))


def only_port(definition: ComponentDefinition) -> str:
    """Answer the port that a plain DataFrame is for."""
    if len(definition.outputs) == 1:
        return next(iter(definition.outputs))
    if "main" in definition.outputs:
        return "main"
    raise WrongComponent(f"{definition.name} has several outputs", hint="return {port: DataFrame}")
