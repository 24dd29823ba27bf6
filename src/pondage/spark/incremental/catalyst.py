"""Every call into Spark's internals that incremental work needs; nothing else of Pondage touches them for it.

All of it is reached through py4j, without code of ours in the JVM and without SQL text. What fails here says
`NotUnderstood`, and then everything is computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyspark
from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from pondage.plan.incremental.algebra import NotUnderstood
from pondage.plan.incremental.reading import MARK

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Plan = Any
"""A logical plan in the JVM."""
Path = tuple[int, ...]

BROKEN = (Py4JError, AnalysisException)
"""What a call raises when Spark, or a plan, is not as the call expects it: then everything is computed."""

_TESTED = "4.2."
_ROUNDED = frozenset({"float", "double"})


def marked(frame: DataFrame, source: str) -> DataFrame:
    """Answer the table under the alias by which its place in a plan is found again."""
    return frame.alias(f"{MARK}{source}")


class Catalyst:
    """The calls, for one session; raises `NotUnderstood` where Spark is not the one that they were tried on."""

    def __init__(self, session: SparkSession) -> None:
        if not pyspark.__version__.startswith(_TESTED):
            raise NotUnderstood(f"Spark {pyspark.__version__} is not the one that this was tried on")
        if not hasattr(session, "_jvm") or session._jvm is None:
            raise NotUnderstood("Spark Connect shows no plan")
        if session.conf.get("spark.sql.ansi.enabled") != "true":
            raise NotUnderstood("spark.sql.ansi.enabled is off, so that a cast may have two meanings")
        self._session = session
        self._jvm: Any = session._jvm
        root = self._jvm.org.apache.spark.sql
        self._rules = root.catalyst.optimizer
        self._expressions = root.catalyst.expressions
        self._plans = root.catalyst.plans.logical
        self._joins = root.catalyst.plans
        self._datasets = root.classic

    def probe(self) -> None:
        """Try every call on a plan of one row; raises `NotUnderstood` when one is not what it was."""
        try:
            left = marked(self._session.range(1).selectExpr("id", "id % 2 as half"), "probe")
            plan = self.normalised(left.groupBy("half").sum("id"))
            self.text(plan), self.rounding(plan), self.constants(plan)
            child = self.at(plan, (0,))
            keys = self._session.range(1).toDF("key")
            kept = self.matching(child, [(1, self.analysed(keys), 0)])
            self.frame(self.replaced(plan, {(0,): self.relabelled(kept, child)}))
            self.frame(self.emptied(self.aggregate_inputs(plan, child)))
        except (Py4JError, TypeError, AttributeError) as error:
            raise NotUnderstood(f"Spark's plans are not as they were: {type(error).__name__}") from error

    def analysed(self, frame: DataFrame) -> Plan:
        """Answer the plan of a DataFrame."""
        return frame._jdf.queryExecution().analyzed()

    def normalised(self, frame: DataFrame) -> Plan:
        """Answer the plan of a DataFrame in which subqueries are joins, as far as Spark's own rules can say so."""
        plan = self._rules.InlineCTE(True, False).apply(self.analysed(frame))
        plan = self._object(self._rules, "ReplaceExpressions").apply(plan)
        for _ in range(3):
            before = plan
            for name in (
                "PullupCorrelatedPredicates",
                "RewriteCorrelatedScalarSubquery",
                "RewritePredicateSubquery",
            ):
                plan = self._object(self._rules, name).apply(plan)
            if plan.fastEquals(before):
                break
        plan = self._joined_scalars(plan)
        if not plan.deterministic():
            raise NotUnderstood("something in it is not deterministic")
        return plan

    def text(self, plan: Plan) -> str:
        """Answer the plan as JSON."""
        return str(plan.toJSON())

    def constants(self, plan: Plan) -> str:
        """Answer the rows that a program put into the plan, which its JSON does not show."""
        return "\n".join(self._constants(plan))

    def _constants(self, plan: Plan) -> Iterator[str]:
        if self._is_marked(plan):
            return
        if plan.nodeName() == "LocalRelation":
            yield str(plan.data().mkString("|"))
        for child in self._each(plan.children()):
            yield from self._constants(child)

    @staticmethod
    def _is_marked(plan: Plan) -> bool:
        return plan.nodeName() == "SubqueryAlias" and str(plan.identifier().name()).startswith(MARK)

    def at(self, plan: Plan, path: Path) -> Plan:
        """Answer the node that a path leads to."""
        for number in path:
            plan = plan.children().apply(number)
        return plan

    def frame(self, plan: Plan) -> DataFrame:
        """Answer the rows of a plan."""
        return DataFrame(self._datasets.Dataset.ofRows(self._session._jsparkSession, plan), self._session)

    def replaced(self, plan: Plan, others: Mapping[Path, Plan], path: Path = ()) -> Plan:
        """Answer the plan with other nodes at these paths; no operator above them is changed."""
        if path in others:
            return others[path]
        if not any(each[: len(path)] == path for each in others):
            return plan
        children = plan.children()
        new = [self.replaced(children.apply(n), others, (*path, n)) for n in range(children.size())]
        return plan.withNewChildren(self._seq(new))

    def relabelled(self, rows: Plan, like: Plan) -> Plan:
        """Answer the rows under the attribute ids of another node, by position, so that what is above it finds them.

        Raises `NotUnderstood` when their columns are not of the same types.
        """
        new, old = list(self._each(rows.output())), list(self._each(like.output()))
        if len(new) != len(old):
            raise NotUnderstood("a table is read with other columns than it has")
        for one, other in zip(new, old, strict=True):
            if one.dataType().catalogString() != other.dataType().catalogString():
                raise NotUnderstood(f"the type of {other.name()} changed")
        columns = [self._alias(one, other.name(), other.exprId()) for one, other in zip(new, old, strict=True)]
        return self._plans.Project(self._seq(columns), rows)

    def emptied(self, plan: Plan) -> Plan:
        """Answer the same columns without rows."""
        return self._plans.Filter(self._literal(False), plan)

    def matching(self, rows: Plan, pairs: Iterable[tuple[int, Plan, int]], *, is_anti: bool = False) -> Plan:
        """Answer the rows whose columns equal those of some key, nulls too; with `is_anti` the others.

        A pair is a column of the rows, the keys, and their column; the keys are the same plan in all of them.
        """
        condition: Any = None
        keys: Any = None
        for mine, keys, theirs in pairs:
            one, other = rows.output().apply(mine), keys.output().apply(theirs)
            equal = self._expressions.EqualNullSafe(one, other)
            condition = equal if condition is None else self._expressions.And(condition, equal)
        kind = self._object(self._joins, "LeftAnti" if is_anti else "LeftSemi")
        return self._plans.Join(rows, keys, kind, self._some(condition), self._no_hint())

    def rounding(self, plan: Plan) -> frozenset[Path]:
        """Answer the paths of the operators that add floats."""
        return frozenset(self._rounding(plan, ()))

    def _rounding(self, plan: Plan, path: Path) -> Iterator[Path]:
        kind = plan.nodeName()
        if self._is_marked(plan):
            return
        if kind in ("Aggregate", "Window"):
            listed = plan.aggregateExpressions() if kind == "Aggregate" else plan.windowExpressions()
            if any(self._rounds(each) for each in self._each(listed)):
                yield path
        for number, child in enumerate(self._each(plan.children())):
            yield from self._rounding(child, (*path, number))

    def _rounds(self, expression: Any) -> bool:
        return any(
            child.dataType().typeName() in _ROUNDED
            for each in self._aggregates(expression)
            if each.aggregateFunction().nodeName() in ("Sum", "Average")
            for child in self._each(each.aggregateFunction().children())
        )

    def aggregate_inputs(self, aggregate: Plan, child: Plan) -> Plan:
        """Answer what an aggregate groups and aggregates, over another child with the same attribute ids.

        Columns: `g0…`, then for each function `f0`, whether its filter lets the row in, and `i0_0…`, its arguments.
        """
        columns = []
        for number, each in enumerate(self._each(aggregate.groupingExpressions())):
            columns.append(self._alias(each, f"g{number}"))
        for number, function in enumerate(self._functions(aggregate)):
            condition = function.filter()
            taken = condition.get() if condition.isDefined() else self._literal(True)
            columns.append(self._alias(taken, f"f{number}"))
            for place, each in enumerate(self._each(function.aggregateFunction().children())):
                columns.append(self._alias(each, f"i{number}_{place}"))
        return self._plans.Project(self._seq(columns), child)

    def functions(self, aggregate: Plan) -> list[str]:
        """Answer the names of an aggregate's functions, in the order of `aggregate_inputs`."""
        return [str(each.aggregateFunction().nodeName()) for each in self._functions(aggregate)]

    def finished(self, aggregate: Plan, state: DataFrame) -> Plan:
        """Answer what an aggregate puts out, of its groups `g…` and, for each function, its sum `s…` and count `c…`.

        A function without both has its value in the one that it has. Averages are finished by Spark's own expression.
        """
        rows = self.analysed(state)
        by_name = {str(each.name()): each for each in self._each(rows.output())}
        columns = list(self._each(rows.output()))
        averages = []
        for number, function in enumerate(self._functions(aggregate)):
            if str(function.aggregateFunction().nodeName()) == "Average":
                attributes = function.aggregateFunction().aggBufferAttributes()
                for place, letter in enumerate("sc"):
                    attribute = attributes.apply(place)
                    value = self._cast(by_name[f"{letter}{number}"], attribute.dataType())
                    columns.append(self._alias(value, f"a{letter}{number}", attribute.exprId()))
                averages.append((number, function.aggregateFunction().evaluateExpression()))
        rows = self._plans.Project(self._seq(columns), rows)
        values = [self._alias(expression, f"v{number}") for number, expression in averages]
        if values:
            rows = self._plans.Project(self._seq([*self._each(rows.output()), *values]), rows)
        by_name = {str(each.name()): each for each in self._each(rows.output())}
        groups = [
            (each, by_name[f"g{number}"]) for number, each in enumerate(self._each(aggregate.groupingExpressions()))
        ]
        values_of = iter(
            by_name.get(f"v{number}") or by_name.get(f"s{number}") or by_name[f"c{number}"]
            for number in range(len(self.functions(aggregate)))
        )
        columns = []
        for each in self._each(aggregate.aggregateExpressions()):
            if each.nodeName() == "AttributeReference":
                columns.append(self._alias(self._rewritten(each, groups, values_of), each.name(), each.exprId()))
            else:
                columns.append(self._rewritten(each, groups, values_of))
        return self._plans.Project(self._seq(columns), rows)

    def _rewritten(self, expression: Any, groups: Sequence[tuple[Any, Any]], values: Iterator[Any]) -> Any:
        if expression.nodeName() == "AggregateExpression":
            return next(values)
        for group, column in groups:
            if expression.semanticEquals(group):
                return column
        children = list(self._each(expression.children()))
        if not children:
            return expression
        return expression.withNewChildren(self._seq([self._rewritten(each, groups, values) for each in children]))

    def _functions(self, aggregate: Plan) -> list[Any]:
        return [found for each in self._each(aggregate.aggregateExpressions()) for found in self._aggregates(each)]

    def _aggregates(self, expression: Any) -> Iterator[Any]:
        if expression.nodeName() == "AggregateExpression":
            yield expression
            return
        for each in self._each(expression.children()):
            yield from self._aggregates(each)

    def _joined_scalars(self, plan: Plan) -> Plan:
        """Make a join of each subquery that a filter compares with and that is an aggregate over everything.

        It has exactly one row, so the join is the same. Any other subquery stays.
        """
        children = list(self._each(plan.children()))
        if self._is_marked(plan):
            return plan
        new = [self._joined_scalars(each) for each in children]
        if any(not one.fastEquals(other) for one, other in zip(new, children, strict=True)):
            plan = plan.withNewChildren(self._seq(new))
        if plan.nodeName() != "Filter":
            return plan
        found: list[Plan] = []
        condition = self._without_scalars(plan.condition(), found)
        if not found:
            return plan
        rows = plan.child()
        for each in found:
            rows = self._plans.Join(rows, each, self._object(self._joins, "Inner"), self._none(), self._no_hint())
        return self._plans.Project(plan.output(), self._plans.Filter(condition, rows))

    def _without_scalars(self, expression: Any, found: list[Plan]) -> Any:
        if expression.nodeName() == "ScalarSubquery" and expression.children().isEmpty():
            rows = expression.plan()
            bare = rows
            while bare.nodeName() in ("Project", "SubqueryAlias"):
                bare = bare.child()
            if bare.nodeName() == "Aggregate" and bare.groupingExpressions().isEmpty():
                rows = self._joined_scalars(rows)
                # Its column gets an id of its own: the same subquery may be there twice.
                only = self._alias(rows.output().apply(0), "scalar")
                found.append(self._plans.Project(self._seq([only]), rows))
                return only.toAttribute()
        children = list(self._each(expression.children()))
        new = [self._without_scalars(each, found) for each in children]
        if all(one is other for one, other in zip(new, children, strict=True)):
            return expression
        return expression.withNewChildren(self._seq(new))

    def _alias(self, expression: Any, name: object, identity: Any = None) -> Any:
        if identity is None:
            identity = self._object(self._expressions, "NamedExpression").newExprId()
        nothing = self._seq([])
        return self._expressions.Alias(expression, str(name), identity, nothing, self._none(), nothing)

    def _cast(self, expression: Any, data_type: Any) -> Any:
        if expression.dataType().catalogString() == data_type.catalogString():
            return expression
        return self._object(self._expressions, "Cast").apply(expression, data_type, True)

    def _literal(self, value: bool) -> Any:
        return self._object(self._expressions, "Literal").apply(value)

    def _no_hint(self) -> Any:
        return self._object(self._plans, "JoinHint").NONE()

    def _none(self) -> Any:
        return self._jvm.scala.Option.empty()

    def _some(self, value: Any) -> Any:
        return self._jvm.scala.Option.apply(value)

    def _seq(self, values: Sequence[Any]) -> Any:
        listed = self._jvm.java.util.ArrayList()
        for each in values:
            listed.add(each)
        return self._jvm.org.apache.spark.api.python.PythonUtils.toSeq(listed)

    @staticmethod
    def _object(package: Any, name: str) -> Any:
        return getattr(package, f"{name}$").__getattr__("MODULE$")

    @staticmethod
    def _each(sequence: Any) -> Iterator[Any]:
        return (sequence.apply(number) for number in range(sequence.size()))
