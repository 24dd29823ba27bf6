"""The code digest of a component: what decides whether a deploy changes what it does, beside its declaration."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from pondage.define.job.component import ComponentDefinition, schema_of
from pondage.project.archive import PROGRAMS, program_files
from pondage.project.digest import Digests, digest_of
from pondage.project.source import module_name


def with_digest(
    definition: ComponentDefinition, function: Callable[..., object], digests: Digests, root: Path
) -> ComponentDefinition:
    """Answer a component with the digest of its code.

    Of a function that is what a Ripple's is. An external program is everything in `programs/`, and each file or module
    of the project that its command names; what else it opens at run time is not seen.
    """
    if definition.is_external:
        digest = digest_of("program", *_program_parts(definition, digests, root))
    else:
        schema = schema_of(function)
        digest = digest_of(digests.of_function(function), "" if schema is None else digests.of_function(schema))
    return msgspec.structs.replace(definition, digest=digest)


def _program_parts(definition: ComponentDefinition, digests: Digests, root: Path) -> Iterator[str]:
    if not definition.command:
        return  # somebody else has it
    for path in program_files(root):
        yield _file_part(path, root)
    for part in definition.command:
        path = root / part
        if part and path.is_file() and path.resolve().is_relative_to(root) and Path(part).parts[0] != PROGRAMS:
            yield _file_part(path, root)
            yield _module_part(module_name(Path(part)), digests) if path.suffix == ".py" else ""
        else:
            yield _module_part(part, digests)


def _module_part(name: str, digests: Digests) -> str:
    try:
        return digests.of_module(name)
    except SyntaxError:
        return ""  # written for another Python: the bytes of its file are all that is known of it


def _file_part(path: Path, root: Path) -> str:
    return f"{path.relative_to(root).as_posix()} {hashlib.sha256(path.read_bytes()).hexdigest()}"
