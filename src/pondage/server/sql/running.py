"""Running the SQL door beside the server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pondage.errors import PondageError
from pondage.server.call import Service
from pondage.server.serving import ServeOptions

PORT = 8643


@contextmanager
def sql_door(service: Service, options: ServeOptions, port: int) -> Iterator[str]:
    """Serve Flight SQL on a port (0: a free one) while the block runs, and give its address; raises `PondageError`."""
    try:
        import pyarrow as pa
        import pyarrow.flight

        from pondage.server.sql.door import Door
    except ImportError:
        raise PondageError(
            "this build of pyarrow has no Flight", hint="pip install 'pondage[sql]'", code="MISSING_EXTRA"
        ) from None
    is_encrypted = options.certificate is not None and options.key is not None
    host = f"[{options.host}]" if ":" in options.host else options.host
    scheme = "grpc+tls" if is_encrypted else "grpc"
    certificate = None
    if options.certificate is not None and options.key is not None:
        certificate = (options.certificate.read_bytes(), options.key.read_bytes())
    try:
        door = Door(service, f"{scheme}://{host}:{port}", certificate=certificate)
    except (OSError, pa.ArrowException) as error:
        raise PondageError(
            f"cannot listen on {options.host}:{port}: {error}", hint="choose another port: --sql N", code="PORT_TAKEN"
        ) from error
    try:
        yield f"{scheme}://{host}:{door.port}"
    finally:
        door.shutdown()
        door.wait()
