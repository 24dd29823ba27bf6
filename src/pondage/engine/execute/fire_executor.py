"""Executions of a graph of a fire on Spark, with what the fire saw."""

from __future__ import annotations

from pondage.define.reactor.graph import SPARK, Fire
from pondage.engine.attempt.attempt import Attempt
from pondage.engine.execute.bench import Bench, KindExecutor
from pondage.engine.live.typed import entry_converter
from pondage.engine.process.code import CodeError
from pondage.ledger.kinds.fire import FireTask, GraphEnded


class FireExecutor(KindExecutor):
    """Runs graphs of fires."""

    def execute(self, attempt: Attempt, bench: Bench) -> GraphEnded:
        """Run the graph and answer the rows for its reactor's Pond."""
        task = attempt.work.given(FireTask)
        with bench.opened(attempt) as session:
            reactor = bench.code.reactor(task.entry)
            runner = reactor.graphs.get(task.graph)
            if runner is None:
                raise CodeError(f"reactor {task.reactor} has no graph {task.graph}", hint="deploy it again")
            sources = {source.name: source for source in reactor.sources}
            given = {name: value for name, value in task.inputs.items() if name in sources}
            inputs = {name: entry_converter(sources[name])(value) for name, value in given.items()}
            fire = Fire(task.fire, task.attempt, task.reason, task.unhealthy)
            value = runner.call({**inputs, SPARK: session}, fire)
            publish = reactor.publish
            if publish is None or publish.schema is None:
                return GraphEnded(None)
            values = [] if value is None else value if isinstance(value, list) else [value]
            return GraphEnded([publish.schema.check(each) for each in values])
