"""Executions of components of a job: their functions are found, Spark is opened when one of them first needs it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pondage.components.registry import built_in_function
from pondage.connect.secrets import SecretStore
from pondage.connect.vault import SecretError
from pondage.connect.veil import veiled
from pondage.define.job.component import is_library
from pondage.define.values.names import is_name
from pondage.engine.attempt.attempt import Attempt
from pondage.engine.attempt.executor import Crashed, Result
from pondage.engine.attempt.stream_ports import StreamPorts
from pondage.engine.execute.bench import Bench, KindExecutor, remove_local
from pondage.engine.process.config import EngineConfig
from pondage.engine.process.places import run_table_path, snapshot_path
from pondage.engine.programs.hosting import Host, Queue, run_program
from pondage.engine.programs.session import ProgramSession
from pondage.engine.programs.unix import UnixQueue
from pondage.errors import PondageError
from pondage.ledger.kinds.component import ComponentEnded
from pondage.spark.component.call import ComponentWork
from pondage.spark.component.component import run_components
from pondage.work.component import ComponentResult, ComponentTask, MemberResult

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class ComponentExecutor(KindExecutor):
    """Runs the members of a task; failures of theirs are part of its end."""

    def execute(self, attempt: Attempt, bench: Bench) -> Result:
        """Run the functions of this worker, or let an external program do it."""
        task = attempt.work.given(ComponentTask)
        with ExitStack() as stack:
            sessions: list[SparkSession] = []

            def session() -> SparkSession:
                if not sessions:
                    sessions.append(stack.enter_context(bench.opened(attempt)))
                return sessions[0]

            result = _result(attempt, task, bench, session)
        if isinstance(result, Crashed):
            return result
        for member in result.members:
            for port, content in member.outputs.items():
                attempt.log.write("INFO", f"{member.instance}.{port}: {content.rows:,} rows")
        return ComponentEnded(ComponentResult(members=tuple(map(_veiled, result.members))))

    def discard(self, attempt: Attempt, bench: Bench) -> None:
        """Remove the tables that an attempt wrote."""
        task = attempt.work.given(ComponentTask)
        if task.members[-1].mode == "stream":
            return  # segments that are committed stay, whoever wrote them
        for port in task.members[-1].writes:
            remove_local(table_path(bench.config, attempt, task, port))


def _result(
    attempt: Attempt, task: ComponentTask, bench: Bench, session: Callable[[], SparkSession]
) -> ComponentResult | Crashed:
    config, code, secrets = bench.config, bench.code, bench.secrets(attempt.work.claim.environment)
    streams = StreamPorts(bench.ledger, attempt, task, lambda port: table_path(config, attempt, task, port))
    if task.members[-1].program is not None:
        return _hosted(attempt, task, streams, bench=bench, secrets=secrets, session=session)
    return run_components(
        ComponentWork(
            task=task,
            function=lambda entry: built_in_function(entry) if is_library(entry) else code.component(entry),
            session=session,
            place=lambda port: table_path(config, attempt, task, port),
            root=Path(config.root),
            secrets=lambda component, name: secrets[_reference(bench, component, name)],
            stop=attempt.stopping,
            streams=streams,
        )
    )


def _reference(bench: Bench, component: str, name: str) -> str:
    """Answer where a secret is that a component asks for: what the project file says, or the name of a stored one."""
    reference = bench.secret_names(component).get(name, name)
    if ":" not in reference and not is_name(reference):
        raise SecretError(
            f"the project file names no secret {name} of {component}",
            hint=f'write [secrets.{component}], below it {name} = "env:{name}", in pondage.toml',
            code="NO_SECRET",
        )
    return reference


def _hosted(
    attempt: Attempt,
    task: ComponentTask,
    streams: StreamPorts,
    *,
    bench: Bench,
    secrets: SecretStore,
    session: Callable[[], SparkSession],
) -> ComponentResult | Crashed:
    """Let an external program do it; Spark is needed only when it reads a table."""
    from pondage.spark.files.segments import table_bytes

    served = ProgramSession(attempt, task, streams, lambda found, type_: table_bytes(session(), found.content, type_))
    member = task.members[-1]
    own = bench.secret_names(member.component)
    host = Host(
        open_queue=lambda session: _queue(session, bench.config, secrets),
        folder=bench.code.place,
        variables={name: secrets[reference] for name, reference in own.items()},
    )
    return run_program(attempt, served, host, instance=member.instance)


def _queue(session: ProgramSession, config: EngineConfig, secrets: SecretStore) -> Queue:
    if session.program.transport == "unix":
        return UnixQueue(session, config.state)
    amqp = config.programs.amqp
    if amqp is None:
        raise PondageError(
            "this project names no broker", code="NO_BROKER", hint='write [programs], below it amqp = "env:BROKER_URL"'
        )
    from pondage.program.amqp_bridge import AmqpQueue

    return AmqpQueue(session, amqp if amqp.startswith("amqp") else secrets[amqp])


def table_path(config: EngineConfig, attempt: Attempt, task: ComponentTask, port: str) -> str:
    """Answer where an execution writes the table of a port."""
    claim = attempt.work.claim
    published = task.members[-1].publishes.get(port)
    if published is not None:
        return snapshot_path(config.warehouse, dataset=published.dataset_id, run=published.run_id, token=claim.token)
    return run_table_path(config.warehouse, run=task.run_id, dispatch=claim.dispatch, port=port, token=claim.token)


def _veiled(member: MemberResult) -> MemberResult:
    if member.raises is None:
        return member
    trace = None if member.trace is None else veiled(member.trace)
    return msgspec.structs.replace(member, raises=veiled(member.raises), trace=trace)
