"""What the audit hears of a server beside what was done: who was refused; where it is wanted, who asked and pushed."""

from __future__ import annotations

from collections.abc import Mapping

from anyio.to_thread import run_sync

from pondage.errors import PondageError
from pondage.ledger.tables import actors, history
from pondage.ledger.tables.api_tokens import EVERYWHERE, TokenRow
from pondage.operations.operation import Kind, Operation, note_refusal, plain
from pondage.server.call import Call, Service
from pondage.server.problems import status_of


async def refused(
    service: Service,
    token: TokenRow | None,
    of: Operation[..., object] | None,
    error: PondageError,
    *,
    places: Mapping[str, object],
    environment: str | None,
) -> None:
    """Write down that a command was refused before anybody carried it out: by its level, or by what was sent.

    So many of a token within a minute, and no more: whoever may change nothing must not fill the ledger either.
    """
    if of is None or of.kind != "command" or token is None or error.is_audited or status_of(error) >= 500:
        return
    if service.refusals.is_limited(token.id, ""):
        return
    service.refusals.failed(token.id)
    is_one = environment is not None and environment.isprintable() and token.may_see(environment)
    if environment is None or not is_one or error.code == "NO_ENVIRONMENT":
        environment = service.environment if EVERYWHERE in token.environments else token.environments[0]
    context = Call(service=service, token=token, environment=environment).context
    await run_sync(note_refusal, context, of.verb, of.target_of(places), error)


def heard(call: Call, kind: Kind, verb: str, target: str, text: str = "") -> None:
    """Count a question or a push, and write it down where everything is audited."""
    assert call.token is not None
    call.service.heard[kind, call.token.name] += 1
    if not call.service.is_all_audited:
        return
    with call.ledger.transaction() as tx:
        environment = actors.environment(tx, call.environment)
        if environment is not None:
            history.audit(
                tx, call.context.by, environment=environment, verb=verb, target=plain(target), detail=plain(text)
            )
