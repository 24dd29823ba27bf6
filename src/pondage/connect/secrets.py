"""Opening secrets by reference: `env:NAME`, `file:PATH`, or the name of one that is stored in the ledger."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from pondage.connect.vault import SecretError, open_vault
from pondage.connect.veil import learn
from pondage.define.values.names import checked_name
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables import actors
from pondage.ledger.tables import secrets as rows


class SecretStore:
    """What a worker opens secrets with; `store["name"]` answers the value, and it is never printed from then on.

    `variables` are what `env:NAME` names: a worker has more of them than its environment shows.
    """

    def __init__(
        self, ledger: Ledger, *, environment: int, key: str, variables: Mapping[str, str] = os.environ
    ) -> None:
        self._ledger = ledger
        self._environment = environment
        self._key = key
        self._variables = variables

    def __getitem__(self, reference: str) -> str:
        """Answer the value; raises `SecretError` with the reference and never with a value."""
        kind, separator, place = reference.partition(":")
        if not separator:
            value = self._stored(reference)
        elif kind == "env":
            value = self._variable(place)
        elif kind == "file":
            value = _file(place)
        else:
            raise SecretError(
                f"{reference.partition(':')[0]}: is no kind of secret",
                hint="write env:NAME, file:PATH or a name of `pondage secret list`",
                code="BAD_SECRET",
            )
        learn(value)
        return value

    def _stored(self, name: str) -> str:
        checked_name(name, what="secret")
        with self._ledger.reading() as tx:
            environment = actors.environment_name(tx, self._environment)
            sealed = rows.sealed_value(tx, environment=self._environment, name=name)
        if sealed is None:
            raise SecretError(
                f"there is no secret {name} in the environment {environment}",
                hint=f"set it: pondage secret set {name}",
                code="NO_SECRET",
            )
        return open_vault(self._key, self._variables).open(sealed, environment=environment, name=name)

    def _variable(self, name: str) -> str:
        value = self._variables.get(name)
        if value is None:
            raise SecretError(
                f"the variable {name} is not set where this worker runs", hint="export it before `pondage dev`",
                code="NO_SECRET",
            )  # fmt: skip
        return value


def _file(path: str) -> str:
    try:
        file = Path(path).expanduser()
        if os.name == "posix" and file.stat().st_mode & 0o077:
            raise SecretError(
                f"the file {path} of a secret can be read by others", hint=f"chmod 600 {path}", code="OPEN_SECRET"
            )
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SecretError(
            f"the file {path} of a secret cannot be read: {getattr(error, 'strerror', None) or 'not a text'}",
            code="NO_SECRET",
        ) from None
    # Every editor ends a file with a line end that is not part of the password.
    return text.removesuffix("\n").removesuffix("\r")
