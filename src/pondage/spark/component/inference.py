"""What a component would give: it is called on empty tables, and the plans of its answers are read. Nothing is run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NoReturn

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from pondage.define.job.component_run import Globals
from pondage.define.types.type_json import from_spark_json, spark_json
from pondage.define.types.types import TypeSyntax, parse_type
from pondage.errors import PondageError
from pondage.spark.component.call import NOT_OURS, Call, ComponentWork
from pondage.spark.component.inputs import Frames
from pondage.spark.session.errors import explained
from pondage.work.component import ComponentTask, Made, Member
from pondage.work.inference import Inferred, Question

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OUTSIDE = (
    "PATH_", "DATA_SOURCE_", "TABLE_OR_VIEW_", "SCHEMA_NOT_FOUND", "CATALOG_NOT_FOUND", "UNABLE_TO_INFER_SCHEMA",
    "UNSUPPORTED_DATASOURCE", "FAILED_READ_FILE",
)  # fmt: skip
"""What Spark says of files and tables elsewhere, which may be others when the job runs: nothing about the inputs."""
_QUOTED = re.compile(r"`((?:[^`]|``)+)`")


def infer_types(
    session: SparkSession, questions: Sequence[Question], function: Callable[[str], Callable[..., object]]
) -> list[Inferred]:
    """Call each component on empty tables and answer the types of what it gives, or what Spark has against it.

    No Spark job of ours runs, nothing is written, and there are no globals, no context and no secrets. Raises only what
    is not the author's fault, such as a lost JVM.
    """
    return [_answer(session, one, function) for one in questions]


def _answer(session: SparkSession, question: Question, function: Callable[[str], Callable[..., object]]) -> Inferred:
    try:
        return Inferred(key=question.key, outputs=_outputs(session, question, function))
    except AnalysisException as error:
        said = _said(error, question)
        if (error.getCondition() or "").startswith(_OUTSIDE):
            return Inferred(key=question.key, why=f"{question.component} cannot be asked: {said}")
        return Inferred(key=question.key, problem=said, port=_port(error, question))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the author's code need not stand empty tables
        return Inferred(key=question.key, why=f"{question.component} cannot be asked: {_said(error, question)}")


def _outputs(
    session: SparkSession, question: Question, function: Callable[[str], Callable[..., object]]
) -> dict[str, str]:
    made: Frames = {
        (port, str(number)): _empty(session, text)
        for port, texts in question.inputs.items()
        for number, text in enumerate(texts)
        if text != "Any"
    }
    member = Member(
        instance=question.component,
        component=question.component,
        entry=question.entry,
        params=question.params,
        inputs={
            port: tuple(Made(instance=port, port=str(number)) for number in range(len(texts)))
            for port, texts in question.inputs.items()
        },
    )
    task = ComponentTask(job="", run_id="", attempt=1, members=(member,))
    call = Call(ComponentWork(task=task, function=function, session=lambda: session, place=_nowhere), member)
    call.run.globals = _OnlyInARun("global")
    call.run.context = MappingProxyType(_OnlyInARun("variable of the context"))
    returned = call.called(made)
    frames = returned if isinstance(returned, dict) else {}
    return {port: _type(port, frame) for port, frame in frames.items() if isinstance(frame, DataFrame)}


def _empty(session: SparkSession, text: str) -> DataFrame:
    return session.createDataFrame([], StructType.fromJson(spark_json(parse_type(text).arguments[0])))  # type: ignore[arg-type]


def _type(port: str, frame: DataFrame) -> str:
    try:
        return f"Table<{from_spark_json(frame.schema.jsonValue())}>"
    except TypeSyntax as error:
        raise PondageError(f"a column of {port} has a type that ports have no word for: {error}") from None


def _nowhere(port: str) -> NoReturn:
    raise AssertionError(f"nothing is written for {port}")


class _OnlyInARun(Globals):
    """Globals or a context that are not there yet: whoever reads them cannot be asked before the run."""

    def __init__(self, what: str) -> None:
        super().__init__()
        self._what = what

    def __getitem__(self, key: str) -> object:
        if key in self.writes:
            return self.writes[key]
        raise PondageError(f"it reads the {self._what} {key!r}, which only a run has")

    def __iter__(self) -> Iterator[str]:
        raise PondageError(f"it reads every {self._what}, which only a run has")

    def __len__(self) -> int:
        return 1  # an empty one would be taken for none


def _said(error: BaseException, question: Question) -> str:
    shown = explained(error, where=question.component)
    if shown.code in NOT_OURS:
        raise shown from error
    return shown.message.removeprefix(f"{question.component}: ")


def _port(error: AnalysisException, question: Question) -> str:
    """Answer the input whose columns Spark proposes instead of one that is not there; empty when it may be several."""
    ports = list(question.inputs)
    if len(ports) == 1:
        return ports[0]
    parameters: Mapping[str, str] = error.getMessageParameters() or {}
    proposed = {name.replace("``", "`") for name in _QUOTED.findall(parameters.get("proposal", ""))}
    fitting = [port for port, texts in question.inputs.items() if proposed and proposed <= _columns(texts)]
    return fitting[0] if len(fitting) == 1 else ""


def _columns(texts: tuple[str, ...]) -> set[str]:
    return {field.name for text in texts if text != "Any" for field in parse_type(text).arguments[0].fields}
