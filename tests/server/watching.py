"""A client of the feed that survives the server: it goes on where it was, and knows when something is missing."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

AGAIN_S = 0.05


class Watching:
    """Keeps what it was told of the Ponds. `gaps` counts messages that begin behind what it has."""

    def __init__(self, url: str, token: str) -> None:
        self._url = f"{url.replace('http', 'ws', 1)}/v1/ws/feed"
        self._headers = {"authorization": f"Bearer {token}"}
        self.ponds: dict[str, dict[str, Any]] = {}
        self.seq: int | None = None
        self.messages = self.bytes = self.connections = self.resets = self.gaps = 0
        self.is_connected = asyncio.Event()

    async def run(self) -> None:
        """Watch until cancelled, through every end of the server."""
        while True:
            where = self._url if self.seq is None else f"{self._url}?after={self.seq}"
            try:
                async with connect(where, additional_headers=self._headers, max_size=None) as socket:
                    self.connections += 1
                    self.is_connected.set()
                    async for message in socket:
                        self._take(message)
            except (OSError, WebSocketException):
                pass
            self.is_connected.clear()
            await asyncio.sleep(AGAIN_S)

    def runs(self) -> dict[str, int]:
        """Answer how many Runs each Pond has had, as far as it was told."""
        return {key: int(pond["runs"]) for key, pond in self.ponds.items()}

    def _take(self, data: str | bytes) -> None:
        self.messages += 1
        self.bytes += len(data)
        said = msgspec.json.decode(data)
        if said["type"] == "reset":
            self.resets += 1
            return
        if said["type"] == "snapshot":
            self.ponds = {pond["key"]: pond for pond in said["status"]["ponds"]}
        else:
            self.gaps += self.seq is None or said["after"] > self.seq
            self.ponds |= {pond["key"]: pond for pond in said.get("ponds", [])}
            for key in said.get("gone", []):
                self.ponds.pop(key, None)
        self.seq = said["seq"]
