"""What is asked of strangers only: whoever is at the ledger itself may do all of it.

What they send is looked at as if no declaration had made it, they see the environments that their token is bound to,
they know their own questions only, and they leave room for others. Each wrapper stands around one operation.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar, cast

import anyio
import msgspec
from anyio.to_thread import run_sync

from pondage.components.registry import built_in
from pondage.define.job.flow import FlowRefused
from pondage.ledger.act.branching import Choice
from pondage.ledger.act.exposed import given
from pondage.ledger.database.driver import Transaction, number
from pondage.ledger.tables import actors, api_tokens, environments
from pondage.ledger.tables.api_tokens import TokenRow
from pondage.ledger.tables.job_plans import StoredJob
from pondage.operations import access, deployments, flows, inference, installation, jobs, questions, rollbacks
from pondage.operations import environments as rooms
from pondage.operations.operation import Operation
from pondage.operations.ponds import NameRequest
from pondage.operations.questions import AnswerView, Breaking, Comparing
from pondage.operations.uploads import Chosen
from pondage.plan.job.inference import key_for
from pondage.plan.job.intake import check_sent
from pondage.project.archive import check_archive
from pondage.server.call import Call
from pondage.server.problems import Refused
from pondage.server.question_ids import opened, sealed
from pondage.server.uploads import check_job, check_upload
from pondage.views.installation.environments import EnvironmentsView

Asked = TypeVar("Asked", bound=msgspec.Struct)
Answer = TypeVar("Answer")
Function = TypeVar("Function", bound=Callable[..., object])
Go = Callable[[Asked], Answer]
"""What does an operation."""
Wrapper = Callable[[Call, msgspec.Struct, Callable[[msgspec.Struct], object]], object]
WRAPPERS: dict[Operation[..., object], Wrapper] = {}
"""What stands around operations; the others need nothing but their level."""
OPEN_AT_MOST = 50
LOOK_EVERY_S = 0.2
EXTRACT_LOOK_S = 0.5
LONGEST_WAIT_S = 600.0
_KEY = re.compile(r"[0-9a-f]{64}\Z")
_EXAMINING = threading.Lock()


def around(*operations: Operation[..., object]) -> Callable[[Function], Function]:
    """Put a function around operations: it is given the call, what is asked, and what does it."""

    def put(function: Function) -> Function:
        WRAPPERS.update(dict.fromkeys(operations, cast(Wrapper, function)))
        return function

    return put


def _no_environment(name: str, hint: str = "pondage env list") -> Refused:
    return Refused(404, "NO_ENVIRONMENT", f"there is no environment {name[:63]!r}", hint=hint)


# Questions: there is room for so many, and only the token that asked one can name it.


def check_room(call: Call) -> None:
    """Refuse a question when too many wait already; an environment that does not exist yet has none."""
    with call.ledger.reading() as tx:
        environment = actors.environment(tx, call.environment)
        if environment is not None and _open(tx, environment) >= OPEN_AT_MOST:
            raise Refused(429, "TOO_MANY_QUESTIONS", f"{OPEN_AT_MOST} questions wait already", hint="ask again later")


def _open(tx: Transaction, environment: int) -> int:
    row = tx.row(
        """SELECT count(*) AS open FROM
           (SELECT environment, outcome FROM dispatches WHERE run IS NULL AND actor IS NULL
            ORDER BY id DESC LIMIT 1000) newest
           WHERE outcome IS NULL AND environment = :environment""",
        environment=environment,
    )
    return 0 if row is None else number(row, "open")


Begun = TypeVar("Begun", Comparing, Breaking, deployments.Analysing, inference.Inferring, questions.CompactingTable)


def _sealed(call: Call, begun: Begun) -> Begun:
    """Answer what was begun with an id that says nothing and cannot be guessed."""
    if begun.answer is None:
        return begun
    return msgspec.structs.replace(begun, answer=sealed(call, questions.number_of(begun.answer)))


@around(questions.query)
def _query(call: Call, asked: questions.QueryRequest, go: Go[questions.QueryRequest, AnswerView]) -> AnswerView:
    if asked.engine == "duckdb":
        return go(asked)
    check_room(call)
    return _own(call, go(asked))


@around(questions.sample)
def _sample(call: Call, asked: questions.SampleRequest, go: Go[questions.SampleRequest, AnswerView]) -> AnswerView:
    check_upload(asked)
    check_room(call)
    return _own(call, go(asked))


def _own(call: Call, view: AnswerView) -> AnswerView:
    return msgspec.structs.replace(view, id=sealed(call, questions.number_of(view.id)))


@around(questions.diff)
def _diff(call: Call, asked: questions.DiffRequest, go: Go[questions.DiffRequest, Comparing]) -> Comparing:
    check_room(call)
    with call.ledger.reading() as tx:
        is_environment = actors.environment(tx, asked.against) is not None
    if is_environment and not call.may_see(asked.against):
        raise _no_environment(asked.against)
    return _sealed(call, go(asked))


@around(questions.checks_rows)
def _breaks(
    call: Call, asked: questions.BreaksRequest, go: Go[questions.BreaksRequest, list[Breaking]]
) -> list[Breaking]:
    check_room(call)
    return [_sealed(call, each) for each in go(asked)]


@around(questions.compact)
def _compact(call: Call, asked: msgspec.Struct, go: Go[msgspec.Struct, questions.Compacting]) -> questions.Compacting:
    begun = go(asked)
    return msgspec.structs.replace(begun, tables=tuple(_sealed(call, each) for each in begun.tables))


@around(questions.answer)
async def _answer(call: Call, asked: questions.WaitRequest, go: Go[questions.WaitRequest, AnswerView]) -> AnswerView:
    # Nobody who waits holds a thread.
    with anyio.move_on_after(asked.wait):
        while (view := await run_sync(_named, call, asked, go)).state not in ("done", "failed"):
            # Whoever waited and has gone wants no answer. What is no question goes on: somebody asked for its effect.
            if view.kind in questions.ASKED and await call.is_gone():
                await run_sync(questions.withdraw.do, call.context, _opened(call, asked))
                break
            await anyio.sleep(LOOK_EVERY_S)
        return view
    return await run_sync(_named, call, asked, go)


@around(questions.withdraw)
def _withdraw(call: Call, asked: questions.AnswerRequest, go: Go[questions.AnswerRequest, AnswerView]) -> AnswerView:
    return _named(call, asked, go)


Known = TypeVar("Known", bound=questions.AnswerRequest)


def _named(call: Call, asked: Known, go: Go[Known, AnswerView]) -> AnswerView:
    """Answer a question of this token under the id that the token knows it by."""
    return msgspec.structs.replace(go(_opened(call, asked)), id=asked.answer)


def _opened(call: Call, asked: Known) -> Known:
    """Answer what is asked about a question of this token, under the id that the ledger knows it by."""
    dispatch = opened(call, asked.answer)
    if dispatch is None:
        raise Refused(404, "NO_QUESTION", "there is no such question", hint="POST /v1/queries")
    return msgspec.structs.replace(asked, answer=questions.known_as(dispatch))


# Definitions and code: each is looked at as if its author had never been.


@around(deployments.plan, deployments.deploy)
def _upload(call: Call, asked: Chosen, go: Go[Chosen, Answer]) -> Answer:
    check_upload(asked)
    if asked.choice is not None and not asked.choice.is_empty:
        _check_above(call, asked.choice)
    return go(asked)


@around(deployments.analyze)
def _analyze(call: Call, asked: Chosen, go: Go[Chosen, deployments.Analysing]) -> deployments.Analysing:
    check_room(call)
    return _sealed(call, _upload(call, asked, go))


def _check_above(call: Call, choice: Choice) -> None:
    """Refuse a new environment that would read one which the token does not see."""
    with call.ledger.reading() as tx:
        found = actors.environment(tx, call.environment)
        is_there = found is not None and environments.is_used(tx, found)
    above = choice.parent or (None if is_there else choice.parents.get(call.environment, environments.MAIN))
    if above is not None and above != call.environment and not call.may_see(above):
        raise _no_environment(above, hint="pondage deploy --empty")


@around(inference.infer)
def _infer(
    call: Call, asked: inference.InferRequest, go: Go[inference.InferRequest, inference.Inferring]
) -> inference.Inferring:
    check_room(call)
    if not all(_KEY.match(one.key) for one in asked.questions):
        raise Refused(422, "BAD_KEY", "the key of a question is a SHA-256 in hexadecimal", place="$.questions")
    with call.ledger.reading() as tx:
        deployed = given(tx, call.environment)
    if not asked.code:
        code = check_archive(asked.archive)
    elif asked.code not in deployed.archives:
        raise Refused(422, "FOREIGN_CODE", "the questions name code that is not deployed", place="$.code")
    else:
        code = asked.code
    # An answer is kept for everybody under its key: nobody says himself what he asks about.
    components = {**deployed.components, **built_in()}
    keys = {one.key: key_for(one, code, components) for one in asked.questions}
    ours = [msgspec.structs.replace(one, key=keys[one.key]) for one in asked.questions]
    begun = _sealed(call, go(msgspec.structs.replace(asked, questions=ours)))
    return msgspec.structs.replace(begun, keys={sent: key for sent, key in keys.items() if sent != key})


@around(jobs.job_run_sent)
def _job_run_sent(call: Call, asked: jobs.SentJobRequest, go: Go[jobs.SentJobRequest, jobs.Started]) -> jobs.Started:
    _check_job(call, asked.job, asked.archive)
    return go(asked)


@around(jobs.job_resume)
def _job_resume(call: Call, asked: jobs.ResumeRequest, go: Go[jobs.ResumeRequest, jobs.Started]) -> jobs.Started:
    if asked.job is not None:
        _check_job(call, asked.job, asked.archive)
    return go(asked)


@around(jobs.job_difference)
def _job_difference(
    call: Call, asked: jobs.DifferenceRequest, go: Go[jobs.DifferenceRequest, jobs.EditedView]
) -> jobs.EditedView:
    del call
    check_sent(asked.job, "$.job")
    return go(asked)


def _check_job(call: Call, job: StoredJob, archive: bytes) -> None:
    check_job(job, archive, _deployed_code(call))


def _deployed_code(call: Call) -> frozenset[str]:
    with call.ledger.reading() as tx:
        return frozenset(given(tx, call.environment).archives)


@around(flows.flow_submit)
def _flow_submit(call: Call, asked: flows.TreeRequest, go: Go[flows.TreeRequest, jobs.Started]) -> jobs.Started:
    del call
    try:
        return go(asked)
    except FlowRefused as error:
        lines = [f"{one.path or '/'}: {one.message} [{one.code}]" for one in error.problems[:20]]
        raise Refused(422, "FLOW_REFUSED", "; ".join(lines), place=error.problems[0].path or None) from error


@around(flows.flow_extract)
def _flow_extract(call: Call, asked: flows.ExtractRequest, _: Go[flows.ExtractRequest, object]) -> Iterator[bytes]:
    until_s = time.monotonic() + LONGEST_WAIT_S

    def wait() -> None:
        if time.monotonic() > until_s:
            raise Refused(408, "EXTRACT_WAITS", "it has not come within ten minutes", hint="ask again with an offset")
        time.sleep(EXTRACT_LOOK_S)

    return flows.extract(call.context, asked, wait)


# Environments: one that a token is not bound to is answered like one that does not exist.


@around(rooms.env_list)
def _env_list(call: Call, asked: msgspec.Struct, go: Go[msgspec.Struct, EnvironmentsView]) -> EnvironmentsView:
    return EnvironmentsView(environments=tuple(each for each in go(asked).environments if call.may_see(each.name)))


@around(rooms.env_show, rooms.env_remove)
def _env(call: Call, asked: NameRequest, go: Go[NameRequest, Answer]) -> Answer:
    if not call.may_see(asked.name):
        raise _no_environment(asked.name)
    return go(asked)


@around(rollbacks.promote)
def _promote(
    call: Call, asked: rollbacks.PromoteRequest, go: Go[rollbacks.PromoteRequest, rollbacks.Promotion]
) -> rollbacks.Promotion:
    to = asked.to or rollbacks.target_of(call.ledger, call.environment)
    if not call.may_see(to):
        raise _no_environment(to)
    return go(asked)


@around(installation.alert_test)
def _alert_test(
    call: Call, asked: installation.RuleRequest, go: Go[installation.RuleRequest, installation.TestedAlert]
) -> installation.TestedAlert:
    rule = call.context.own_project.alerts.get(asked.rule)
    if rule is not None and call.environment not in rule.environments:
        raise installation.no_rule(asked.rule, [])
    return go(asked)


@around(installation.vacuum)
def _vacuum(call: Call, asked: msgspec.Struct, go: Go[msgspec.Struct, Answer]) -> Answer:
    if call.token is None or api_tokens.EVERYWHERE not in call.token.environments:
        raise Refused(403, "FORBIDDEN", "data of every environment is looked at: the token must be bound to all")
    return go(asked)


@around(installation.doctor)
def _doctor(call: Call, asked: msgspec.Struct, go: Go[msgspec.Struct, Answer]) -> Answer:
    del call
    # Each look starts a process, and perhaps a Spark: one at a time.
    if not _EXAMINING.acquire(blocking=False):
        raise Refused(429, "BUSY", "somebody else asks the doctor just now", hint="ask again in a minute")
    try:
        return go(asked)
    finally:
        _EXAMINING.release()


# Tokens: nobody gives or ends more than they have.


@around(access.token_list)
def _token_list(call: Call, asked: msgspec.Struct, go: Go[msgspec.Struct, list[TokenRow]]) -> list[TokenRow]:
    return [row for row in go(asked) if _may_govern(call, row.environments)]


@around(access.token_create)
def _token_create(
    call: Call, asked: access.TokenCreateRequest, go: Go[access.TokenCreateRequest, access.MadeToken]
) -> access.MadeToken:
    if not _may_govern(call, asked.environments):
        raise Refused(403, "FORBIDDEN", "a token cannot give more than it has itself")
    return go(asked)


@around(access.token_revoke)
def _token_revoke(call: Call, asked: access.TokenRequest, go: Go[access.TokenRequest, TokenRow]) -> TokenRow:
    with call.ledger.reading() as tx:
        rows = [row for row in api_tokens.every(tx) if row.id == asked.token]
    if any(not _may_govern(call, row.environments) for row in rows):
        raise Refused(404, "NO_TOKEN", f"there is no valid token {asked.token!r}")
    return go(asked)


def _may_govern(call: Call, bound: Sequence[str]) -> bool:
    """Answer whether the caller's token reaches all of these environments."""
    own = () if call.token is None else call.token.environments
    return api_tokens.EVERYWHERE in own or set(bound) <= set(own)
