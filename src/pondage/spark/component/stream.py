"""Components in stream mode: called for each segment, in order, and once at the end; what they give is a segment.

With several inputs their segments are taken in turn, port by port in natural order: the order of the calls depends on
the data alone, so a restarted attempt gives the same segments again.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec

from pondage.define.job.component import ComponentDefinition, definition_of
from pondage.define.job.component_run import as_json
from pondage.define.types.port import Port, declared_port, natural_order
from pondage.define.types.segment import ORDER, Segment
from pondage.define.types.types import Type, is_ordered
from pondage.errors import PondageError
from pondage.spark.component.call import Call, Streams, WrongComponent, only_port
from pondage.spark.component.inputs import Frames, arguments, converted
from pondage.spark.component.segment_types import check_table, port_type
from pondage.spark.files.segments import DecodeError, frame_in, packed
from pondage.spark.types.values import accepted
from pondage.work.component import Given, Input, MemberResult, Panicked, Stored, Streamed

if TYPE_CHECKING:
    import pyarrow as pa

STATE_BYTES = 1_048_576
"""How much `run.state` may hold."""


class StreamCall(Call):
    """A component in stream mode while it runs."""

    def result(self, made: Frames) -> MemberResult:
        """Run it to its end; a failure is part of the answer."""
        try:
            self.stream(made)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - it is the member's failure, and told as such
            return self.failed(error)
        return self.ended()

    def stream(self, made: Frames) -> None:
        """Call the function for every segment and at the end, and close the outputs."""
        function = self.work.function(self.member.entry)
        definition = definition_of(function)
        if definition is None:
            raise WrongComponent(f"{self.member.entry} is no component", hint="declare it with @component")
        followed = [port for port in natural_order(self.member.inputs) if _is_stream(definition, port)]
        whole = msgspec.structs.replace(
            self.member, inputs={port: found for port, found in self.member.inputs.items() if port not in followed}
        )
        given = arguments(whole, definition, made, self.work.session)
        declared = (port for port in definition.inputs if not port.endswith("*"))
        silent = dict.fromkeys([port for port in (*declared, *followed) if _is_stream(definition, port)])
        for number, (port, value) in enumerate(self.taken(definition, followed)):
            self.run.segment = number
            self.give(function(**{**given, **silent, port: value}, params=self.member.params, run=self.run), definition)
        self.run.segment = None
        self.give(function(**{**given, **silent}, params=self.member.params, run=self.run), definition)
        self.check_writes(definition)
        for port in self.member.writes:
            self.streams.close(port)

    @property
    def streams(self) -> Streams:
        """Answer the ports; a worker always has them."""
        assert self.work.streams is not None
        return self.work.streams

    def taken(self, definition: ComponentDefinition, ports: list[str]) -> Iterator[tuple[str, object]]:
        """Give one segment of each open source in turn, until all have ended."""
        sources = [(port, source) for port in ports for source in self.member.inputs[port]]
        once: set[int] = set()
        while sources:
            for port, source in list(sources):
                value = self.next_value(definition, port, source, once)
                if value is None or self.run.stopping:
                    sources.remove((port, source))
                else:
                    yield port, value

    def next_value(self, definition: ComponentDefinition, port: str, source: Input, once: set[int]) -> object:
        """Answer the next segment as a DataFrame, None at the end. What is no stream is one segment."""
        if isinstance(source, Streamed):
            found = self.streams.take(port, source)
            if isinstance(found, Segment):
                frame = frame_in(self.work.session(), found, in_order=is_ordered(_port(definition, port).type))
                return accepted(frame, _port(definition, port), definition.vars)
            if found is None:
                return None
            return converted(port, _port(definition, port), found, {}, self.work.session, definition.vars)
        if id(source) in once or not isinstance(source, Stored | Given | Panicked):
            return None
        once.add(id(source))
        return converted(port, _port(definition, port), source, {}, self.work.session, definition.vars)

    def give(self, returned: object, definition: ComponentDefinition) -> None:
        """Put out what a call gave: nothing, one segment for each port, or, of a generator, one after the other."""
        if isinstance(returned, Generator):
            for one in returned:
                self.give(one, definition)
                if self.run.stopping:
                    returned.close()
                    break
        elif returned is not None:
            self.put(returned if isinstance(returned, Mapping) else {only_port(definition): returned}, definition)
        self.check_state()

    def put(self, frames: Mapping[str, object], definition: ComponentDefinition) -> None:
        """Compute and commit a segment for each port that somebody reads."""
        from pyspark.sql import DataFrame

        for port, frame in frames.items():
            declared = declared_port(definition.outputs, port)
            if declared is None:
                raise WrongComponent(f"{self.member.instance} has no output port {port!r}")
            if not isinstance(frame, DataFrame):
                raise WrongComponent(f"{self.member.instance}.{port} is a {type(frame).__name__}, no DataFrame")
            if port in self.member.writes:
                self.put_segment(
                    port, frame.toArrow(), port_type(self.member.gives.get(port, declared.type), definition.vars)
                )

    def put_segment(self, port: str, rows: pa.Table, want: Type) -> None:
        """Commit rows as a segment, when they are of the type that their readers were planned with."""
        beside = [ORDER] if want.is_ordered and ORDER in rows.column_names else []
        try:
            check_table(rows.drop_columns(beside), want)
        except DecodeError as error:
            raise WrongComponent(f"{self.member.instance}.{port}: {error.message}") from None
        self.streams.put(port, *packed(rows, in_order=want.is_ordered))

    def check_state(self) -> None:
        """See that the state is small: it stays in the driver for as long as the stream lasts."""
        size = len(msgspec.json.encode(as_json(self.run.state, "run.state")))
        if size > STATE_BYTES:
            raise PondageError(
                f"run.state of {self.member.instance} has {size:,} bytes, at most {STATE_BYTES:,} are allowed",
                code="STATE_TOO_LARGE",
                hint="keep large state in a table",
            )


def _is_stream(definition: ComponentDefinition, name: str) -> bool:
    return _port(definition, name).type.startswith("Stream")


def _port(definition: ComponentDefinition, name: str) -> Port:
    return declared_port(definition.inputs, name) or Port()
