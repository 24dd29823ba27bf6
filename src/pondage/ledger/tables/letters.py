"""Dead letters of reactors that the ledger keeps: what was put aside so that everything behind it goes on.

Those of fires and of streams are in a reactor's journal. Here are results that cannot be published, items that a
journal cannot be read with, and what a reactor said that the ledger cannot take.
"""

from __future__ import annotations

import hashlib

import msgspec

from pondage.ledger.database.driver import Transaction
from pondage.ledger.tables import history
from pondage.ledger.tables.reactors import Lease, ReactorRow

JOURNAL, PUBLICATION, RESULT, SAID = "journal@", "publication@", "result@", "said@"
"""With what the names of letters begin."""
LONGEST_ERROR = 2000


class LedgerLetter(msgspec.Struct, frozen=True, kw_only=True):
    """A dead letter: its name, why it is one, when it became one, and what was in it."""

    id: str
    error: str
    at: int
    body: str


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What a graph gave for a fire; `rows` is JSON."""

    fire: int
    graph: str
    rows: str


def keep(tx: Transaction, reactor: Lease | ReactorRow, *, letter: str, error: str, body: str) -> None:
    """Keep something as a dead letter, and say so in the history; once, however often it is kept."""
    changed = tx.change(
        """INSERT INTO reactor_letters (reactor, id, error, at, body) VALUES (:reactor, :letter, :error, :now, :body)
           ON CONFLICT (reactor, id) DO NOTHING""",
        reactor=reactor.actor,
        letter=letter,
        error=error[:LONGEST_ERROR],
        body=body,
    )
    if changed:
        said = {"reactor": reactor.name, "letter": letter, "error": error[:LONGEST_ERROR]}
        history.record(tx, environment=reactor.environment, kind="reactor set aside", payload=said)


def every(tx: Transaction, reactor: int) -> list[LedgerLetter]:
    """Answer what is kept of a reactor, oldest first."""
    return tx.rows(
        "SELECT id, error, at, body FROM reactor_letters WHERE reactor = :reactor ORDER BY at, id",
        LedgerLetter,
        reactor=reactor,
    )


def find(tx: Transaction, reactor: int, letter: str) -> LedgerLetter | None:
    """Answer one letter by its name."""
    return tx.row(
        "SELECT id, error, at, body FROM reactor_letters WHERE reactor = :reactor AND id = :letter",
        LedgerLetter,
        reactor=reactor,
        letter=letter,
    )


def of_results(results: list[Result]) -> str:
    """Give the body of a letter with results."""
    return msgspec.json.encode(results).decode()


def said_name(kind: str, payload: str) -> str:
    """Name a letter with something that was said: the same for the same, so that it is kept once."""
    return f"{SAID}{hashlib.sha256(f'{kind} {payload}'.encode()).hexdigest()[:12]}"


def redrive(tx: Transaction, reactor: int, letter: LedgerLetter) -> bool:
    """Let the results of a letter go with the next publication; False when it holds no results."""
    if not letter.id.startswith((PUBLICATION, RESULT)):
        return False
    for each in msgspec.json.decode(letter.body, type=list[Result]):
        tx.write(
            """INSERT INTO reactor_results (reactor, fire, graph, rows, is_ok)
               VALUES (:reactor, :fire, :graph, :rows, 1) ON CONFLICT (reactor, fire, graph) DO NOTHING""",
            reactor=reactor,
            fire=each.fire,
            graph=each.graph,
            rows=each.rows,
        )
    tx.write("DELETE FROM reactor_letters WHERE reactor = :reactor AND id = :letter", reactor=reactor, letter=letter.id)
    return True
