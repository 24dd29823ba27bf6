"""Calling operations on a ledger, as the command line does there."""

from __future__ import annotations

from pathlib import Path
from typing import ParamSpec, TypeVar

from pondage.ledger.ledger import Ledger
from pondage.ledger.tables.history import Caller
from pondage.operations.operation import Context, Operation
from pondage.project.project import Project

Given = ParamSpec("Given")
Answer = TypeVar("Answer")


class Here:
    """Somebody at the ledger itself."""

    def __init__(self, ledger: Ledger, environment: str = "main", *, project: Project | None = None) -> None:
        self.context = Context(
            ledger=ledger, environment=environment, warehouse=Path("nowhere"), by=Caller("anna"), project=project
        )

    def ask(self, what: Operation[Given, Answer], *given: Given.args, **named: Given.kwargs) -> Answer:
        return what.do(self.context, what.request(*given, **named))
