"""The web page: a few static files that are part of the package, each read and packed once."""

from __future__ import annotations

import gzip
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

FOLDER = Path(__file__).parent / "page"
KINDS = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8"}
FOR_EVER = "public, max-age=31536000, immutable"
ASK_AGAIN = "no-cache"
NOT_BUILT = b"""<!doctype html><meta charset="utf-8"><title>Pondage</title>
<h1>The page is not built</h1>
<p>The server works, and so do the command line and the API. To build the page, type <code>make setup</code> in the
checkout (it needs the network once, for npm), then start the server again. An installed package has it built in.</p>
"""


@dataclass(frozen=True, kw_only=True)
class File:
    """What is sent: plain, and packed for those who take it."""

    kind: str
    keep: str
    plain: bytes
    packed: bytes


def files(folder: Path = FOLDER) -> dict[str, File]:
    """Answer the page by path. Only these paths are open to everybody: none of them says anything about the ledger."""
    start = folder / "index.html"
    if not start.is_file():
        return {"/": _file(".html", NOT_BUILT, ASK_AGAIN)}
    # The name of a script has a digest of its content in it, so that it may be kept for ever.
    scripts = {f"/{path.name}": _file(path.suffix, path.read_bytes(), FOR_EVER) for path in folder.glob("*.js")}
    return {"/": _file(start.suffix, start.read_bytes(), ASK_AGAIN), **scripts}


def _file(suffix: str, content: bytes, keep: str) -> File:
    return File(kind=KINDS[suffix], keep=keep, plain=content, packed=gzip.compress(content, 9, mtime=0))


def endpoint(file: File) -> Callable[[Request], Awaitable[Response]]:
    """Answer what sends a file."""

    async def send(request: Request) -> Response:
        headers = {"Cache-Control": file.keep, "Vary": "Accept-Encoding"}
        if "gzip" not in request.headers.get("accept-encoding", ""):
            return Response(file.plain, headers=headers, media_type=file.kind)
        return Response(file.packed, headers={**headers, "Content-Encoding": "gzip"}, media_type=file.kind)

    return send
