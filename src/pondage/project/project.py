"""The project: the directory that holds `pondage.toml`, and what that file says."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Literal

import msgspec

from pondage.define.pond.definition import Coherence, Reading
from pondage.define.pond.window import checked_zone
from pondage.define.project.alert import AlertRule
from pondage.define.project.durability import LONGEST_S, MOST_SLOTS, SHORTEST_S, Durability
from pondage.define.types.type_registry import TypeEntry
from pondage.define.values.cron import checked_cron
from pondage.define.values.names import checked_name
from pondage.errors import DefinitionError, ProjectError
from pondage.project.alerts import read_alerts
from pondage.project.keys import checked_table
from pondage.project.name_tables import read_locations, read_secrets, read_types
from pondage.project.problems import raise_all
from pondage.project.questions import QuestionsTable, bad_questions

PROJECT_FILE = "pondage.toml"
STATE_DIRECTORY = ".pondage"
LEAST_CONNECTIONS, MOST_CONNECTIONS = 8, 100_000
MOST_SIDE_BY_SIDE = 1_000
"""No machine has more slots, workers or cores."""


class SparkTable(msgspec.Struct, frozen=True, kw_only=True):
    """`[spark]`: which Spark, and with what. `conf` is `[spark.conf]`, its values as texts; it wins over our own."""

    master: str = "local[*]"
    remote: str | None = None
    packages: tuple[str, ...] = ()
    memory: str | None = None
    isolated: bool = False
    cores: int | None = None
    conf: dict[str, str] = {}


class WorkerTable(msgspec.Struct, frozen=True, kw_only=True):
    """`[worker]`: how many Ripples one worker process runs side by side (None lets the engine choose by the cores), how
    many worker processes a machine has at most, and what this machine offers to Ponds that ask for labels."""

    slots: int | None = None
    workers: int = 2
    labels: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    """Variables of the environment that an author's code reads, beside those that every worker has; `AWS_*` is all
    that begin so."""


class LineageTable(msgspec.Struct, frozen=True, kw_only=True):
    """`[lineage]`: who is told of every ended Run by OpenLineage (`https://…` or `file:PATH`), under which namespace.

    `key` is sent as a bearer token and is named like any secret: `env:NAME`, `file:PATH`, or a stored one.
    """

    openlineage: str | None = None
    namespace: str = "pondage"
    key: str | None = None


class ProgramsTable(msgspec.Struct, frozen=True, kw_only=True):
    """`[programs]`: the broker of external programs that are reached over AMQP: `amqp://…`, or a secret with it."""

    amqp: str | None = None


class ServerTable(msgspec.Struct, frozen=True, kw_only=True):
    """`[server]`: how many may be connected to it, in all and from one address (of IPv6: from one /64 network; this
    machine itself, and so a proxy on it, has no limit of its own), and what is audited: `changes`, or `all`, which is
    also who asked which question and pushed where."""

    connections: int = 500
    connections_per_address: int = 100
    audit: Literal["changes", "all"] = "changes"


class LiveTable(msgspec.Struct, frozen=True, kw_only=True):
    """`[live]`: the address at which the live hosts of this machine listen for other machines, over TLS: `host:port`,
    of which each takes the first free port from there on. Without one only this machine reaches them."""

    listen: str = ""


class CompareTable(msgspec.Struct, frozen=True, kw_only=True):
    """`[compare]`: the cron line that everything would run by without Pondage. The page says how many Runs were avoided
    against it; without one it compares with nothing."""

    schedule: str | None = None
    tz: str = "UTC"


class PondsTable(msgspec.Struct, frozen=True, kw_only=True):
    """`[ponds]`: what holds for each Pond of the project that does not say otherwise."""

    coherent: Coherence = True
    mode: Literal["replace", "auto"] = "replace"
    """What a Run does of a Pond that has Sources, is made of functions and SQL, and says nothing of its mode."""
    reading: Reading = "none"
    wait: str | None = None


class Project(msgspec.Struct, frozen=True, kw_only=True):
    """A project as its file describes it. Paths are absolute; `ledger` and `warehouse` may be URLs."""

    root: Path
    name: str
    environment: str
    modules: tuple[str, ...]
    code: tuple[str, ...] = ()
    """Patterns of further files that belong to the code archive."""
    warehouse: str
    ledger: str
    spark: SparkTable = SparkTable()
    durability: Durability = Durability()
    worker: WorkerTable = WorkerTable()
    questions: QuestionsTable = QuestionsTable()
    lineage: LineageTable = LineageTable()
    programs: ProgramsTable = ProgramsTable()
    server: ServerTable = ServerTable()
    live: LiveTable = LiveTable()
    compare: CompareTable = CompareTable()
    ponds: PondsTable = PondsTable()
    alerts: dict[str, AlertRule] = {}
    pools: dict[str, int] = {}
    parents: dict[str, str] = {}
    """`[environments.dev]`, `parent = "main"`: which environment is above which."""
    locations: dict[str, str] = {}
    secrets: dict[str, dict[str, str]] = {}
    """Of each component: what it calls a secret, and where that is."""
    types: dict[str, TypeEntry] = {}
    secret_key: str = ""

    @property
    def state(self) -> Path:
        """Answer the directory for everything that Pondage keeps beside the project; it may not exist yet."""
        return self.root / STATE_DIRECTORY

    @property
    def file(self) -> Path:
        """Answer the project file."""
        return self.root / PROJECT_FILE

    @property
    def job_files(self) -> list[Path]:
        """Answer the files in the directory `jobs`: jobs, and the joblets that they call."""
        return sorted(path for path in (self.root / "jobs").glob("*.y*ml") if path.suffix in (".yaml", ".yml"))


def find_project(start: Path | str = ".") -> Project:
    """Answer the project in `start` or the nearest directory above it; raises `ProjectError` when there is none."""
    directory = Path(start).resolve()
    for each in (directory, *directory.parents):
        if (each / PROJECT_FILE).is_file():
            return load_project(each)
    raise ProjectError(
        f"there is no {PROJECT_FILE} in {directory} or above it",
        hint="run `pondage init` to start a project here, or change to its directory",
        code="NO_PROJECT",
    )


def load_project(root: Path) -> Project:
    """Answer what the project file in `root` says, with defaults filled in; raises all its errors at once."""
    file = root / PROJECT_FILE
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ProjectError(f"cannot read {file}: {error.strerror}", place=str(file), code="NO_PROJECT") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ProjectError(
            f"{PROJECT_FILE} is not valid TOML: {error}", place=_toml_place(error), hint="see https://toml.io",
            code="BAD_PROJECT_FILE",
        ) from None  # fmt: skip
    errors: list[ProjectError] = []
    project = _project(root.resolve(), data, errors)
    raise_all(errors, what=PROJECT_FILE)
    return project


def _project(root: Path, data: dict[str, object], errors: list[ProjectError]) -> Project:
    tables = ("project", "spark", "durability", "worker", "questions", "pools", "lineage", "locations", "secrets",
              "types", "environments", "programs", "alerts", "server", "live", "compare", "ponds")  # fmt: skip
    head = {key: value for key, value in data.items() if key not in tables}
    project = checked_table(_ProjectTable, data.get("project", {}), "project", errors)
    # The settings of `[project]` may also stand at the top of the file, before any table.
    top = checked_table(_ProjectTable, head, "", errors, tables)
    chosen = {key: value for each in (top, project) for key, value in each.items()}
    spark = dict(checked_table(SparkTable, data.get("spark", {}), "spark", errors))
    if "conf" in spark:
        spark["conf"] = _conf(spark["conf"], errors)
    durability = checked_table(Durability, data.get("durability", {}), "durability", errors)
    worker = checked_table(WorkerTable, data.get("worker", {}), "worker", errors)
    questions = checked_table(QuestionsTable, data.get("questions", {}), "questions", errors)
    lineage = dict(checked_table(LineageTable, data.get("lineage", {}), "lineage", errors))
    if "openlineage" in lineage:
        lineage["openlineage"] = _lineage_target(root, str(lineage["openlineage"]), errors)
    result = Project(
        root=root,
        name=_name(str(chosen.get("name", _name_of_directory(root))), "name", errors),
        environment=_name(str(chosen.get("environment", "main")), "environment", errors),
        modules=_modules(root, chosen.get("modules"), errors),
        code=_code(root, chosen.get("code", []), errors),
        warehouse=location(root, str(chosen.get("warehouse", f"{STATE_DIRECTORY}/warehouse"))),
        ledger=location(root, str(chosen.get("ledger", f"{STATE_DIRECTORY}/ledger.db"))),
        spark=msgspec.convert(spark, SparkTable),
        durability=msgspec.convert(durability, Durability),
        worker=msgspec.convert(worker, WorkerTable),
        questions=msgspec.convert(questions, QuestionsTable),
        lineage=msgspec.convert(lineage, LineageTable),
        programs=msgspec.convert(
            checked_table(ProgramsTable, data.get("programs", {}), "programs", errors), ProgramsTable
        ),
        server=msgspec.convert(checked_table(ServerTable, data.get("server", {}), "server", errors), ServerTable),
        live=msgspec.convert(checked_table(LiveTable, data.get("live", {}), "live", errors), LiveTable),
        compare=_compare(data.get("compare", {}), errors),
        ponds=msgspec.convert(checked_table(PondsTable, data.get("ponds", {}), "ponds", errors), PondsTable),
        pools=_pools(data.get("pools", {}), errors),
        parents=_parents(data.get("environments", {}), errors),
        alerts=read_alerts(data.get("alerts", {}), str(chosen.get("environment", "main")), errors),
        locations=read_locations(root, data.get("locations", {}), errors),
        secrets=read_secrets(data.get("secrets", {}), errors),
        types=read_types(data.get("types", {}), errors),
        secret_key=_secret_key(root, str(chosen.get("secret_key", f"file:{STATE_DIRECTORY}/secret.key")), errors),
    )
    _check_numbers(result, errors)
    return result


def _compare(given: object, errors: list[ProjectError]) -> CompareTable:
    table = msgspec.convert(checked_table(CompareTable, given, "compare", errors), CompareTable)
    try:
        if table.schedule is not None:
            checked_cron(table.schedule)
        checked_zone(table.tz)
    except DefinitionError as error:
        errors.append(
            _refused("compare", f"is wrong: {error.message}", error.hint or "give a cron line and a time zone")
        )
    return table


class _EnvironmentTable(msgspec.Struct, frozen=True, kw_only=True):
    parent: str = ""


def _parents(given: object, errors: list[ProjectError]) -> dict[str, str]:
    tables = given.items() if isinstance(given, dict) else ()
    found = {name: checked_table(_EnvironmentTable, table, f"environments.{name}", errors) for name, table in tables}
    return {
        _name(name, f"environments.{name}", errors): _name(str(table["parent"]), f"environments.{name}.parent", errors)
        for name, table in found.items()
        if table.get("parent")
    }


class _ProjectTable(msgspec.Struct, frozen=True, kw_only=True):
    name: str = ""
    modules: list[str] = []
    code: list[str] = []
    environment: str = "main"
    warehouse: str = ""
    ledger: str = ""
    secret_key: str = ""


_ABOVE_ZERO = ("heartbeat_s", "poll_s", "reap_after_s", "keep_runs", "progress_lease_s")


def is_label(text: str) -> bool:
    """Answer whether a text can be a label: one word, because labels are kept side by side."""
    return bool(text) and not re.search(r"[\s,]", text)


def _check_numbers(project: Project, errors: list[ProjectError]) -> None:
    durability = project.durability
    for key, value in msgspec.structs.asdict(durability).items():
        if value is None or isinstance(value, str):
            continue
        if value < 0 or (value == 0 and key in _ABOVE_ZERO):
            errors.append(_refused(f"durability.{key}", f"is {value:g}", "give a number above zero"))
        elif key in ("heartbeat_s", "poll_s") and value < SHORTEST_S:
            errors.append(_refused(f"durability.{key}", f"is {value:g}", f"give a number from {SHORTEST_S:g}"))
        elif not value <= LONGEST_S:  # which NaN is not
            errors.append(_refused(f"durability.{key}", f"is {value:g}", f"give a number up to {LONGEST_S:,}"))
    try:
        _ = durability.keeping
    except DefinitionError as error:
        errors.append(ProjectError(error.message, hint=error.hint, code=error.code))
    if min(durability.heartbeat_s, durability.reap_after_s) > 0:
        errors.extend(_refused(f"durability.{key}", what, hint) for key, what, hint in durability.contradictions())
    counts = {
        "worker.slots": project.worker.slots,
        "worker.workers": project.worker.workers,
        "spark.cores": project.spark.cores,
        "questions.slots": project.questions.slots,
        "questions.cores": project.questions.cores,
    }
    for key, number in counts.items():
        if number is not None and not 1 <= number <= MOST_SIDE_BY_SIDE:
            errors.append(_refused(key, f"is {number}", f"give a number from 1 to {MOST_SIDE_BY_SIDE:,}"))
    errors.extend(bad_questions(project.questions))
    for key in ("connections", "connections_per_address"):
        number = getattr(project.server, key)
        if not LEAST_CONNECTIONS <= number <= MOST_CONNECTIONS:
            hint = f"give a number from {LEAST_CONNECTIONS} to {MOST_CONNECTIONS:,}"
            errors.append(_refused(f"server.{key}", f"is {number}", hint))
    errors.extend(
        _refused("worker.labels", f"has {label!r}", 'give words without spaces: labels = ["gpu", "eu"]')
        for label in project.worker.labels
        if not is_label(label)
    )


def _code(root: Path, given: object, errors: list[ProjectError]) -> tuple[str, ...]:
    patterns = tuple(str(each) for each in given) if isinstance(given, list) else ()
    for index, pattern in enumerate(patterns):
        key = f"project.code[{index}]"
        if not pattern or pattern.startswith("/") or ".." in Path(pattern).parts:
            errors.append(
                _refused(key, f"{pattern!r} is outside the project", "name files below the project's directory")
            )
        elif not any(root.glob(pattern)):
            errors.append(_refused(key, f"{pattern!r} fits no file", "write a path, or a pattern: ponds/*.json"))
    return patterns


def _modules(root: Path, given: object, errors: list[ProjectError]) -> tuple[str, ...]:
    if given is None:
        names = [name for name in ("ponds", "ponds.py") if (root / name).exists()]
    else:
        names = [str(each) for each in given] if isinstance(given, list) else []
    found: dict[str, None] = {}
    for index, name in enumerate(names):
        path = (root / name).resolve()
        key = f"project.modules[{index}]"
        if not path.is_relative_to(root):
            errors.append(
                _refused(key, f"{name!r} is outside the project", "keep modules under the project's directory")
            )
        elif path.is_dir():
            for file in sorted(path.rglob("*.py")):
                if not _is_skipped(file.relative_to(path)):
                    found[file.relative_to(root).as_posix()] = None
        elif path.is_file() and path.suffix == ".py":
            found[path.relative_to(root).as_posix()] = None
        else:
            errors.append(_refused(key, f"{name!r} does not exist", "name a .py file or a directory of them"))
    errors.extend(
        _refused("project.modules", f"{name!r} cannot be imported", "use names without - or .")
        for name in found
        if not all(part.isidentifier() for part in Path(name).with_suffix("").parts)
    )
    return tuple(found)


def _is_skipped(path: Path) -> bool:
    return any(part.startswith((".", "__pycache__")) or part == "tests" for part in path.parts) or path.name.startswith(
        "test_"
    )


def _pools(given: object, errors: list[ProjectError]) -> dict[str, int]:
    """`[pools]`: how many Ripples of a pool may run at once, over all machines."""
    pools: dict[str, int] = {}
    for name, size in given.items() if isinstance(given, dict) else ():
        if isinstance(size, int) and not isinstance(size, bool) and 1 <= size <= MOST_SLOTS:
            pools[_name(str(name), "pools", errors)] = size
        else:
            errors.append(
                _refused(f"pools.{name}", f"is {size!r}", f"give the number of slots, from 1 to {MOST_SLOTS:,}")
            )
    if not isinstance(given, dict):
        errors.append(_refused("pools", "is not a table", "write [pools] and under it name = 4"))
    return pools


def _conf(given: object, errors: list[ProjectError]) -> dict[str, str]:
    conf: dict[str, str] = {}
    for key, value in _flattened(given).items():
        if isinstance(value, bool):
            conf[key] = str(value).lower()
        elif isinstance(value, (str, int, float)):
            conf[key] = str(value)
        else:
            errors.append(_refused(f"spark.conf.{key}", "is neither a text nor a number", 'write "key" = "value"'))
    return conf


def _flattened(given: object, prefix: str = "") -> dict[str, object]:
    # Without quotes TOML reads `spark.sql.shuffle.partitions = 8` as nested tables; the author meant one key.
    if not isinstance(given, dict):
        return {}
    found: dict[str, object] = {}
    for key, value in given.items():
        if isinstance(value, dict):
            found |= _flattened(value, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = value
    return found


def location(root: Path, text: str) -> str:
    """Answer a place as everybody finds it: a URL as it is, a path (also behind `sqlite://`) as seen from `root`."""
    scheme, separator, rest = text.partition("://")
    if separator and (scheme != "sqlite" or rest.startswith("/") or not rest):
        return text
    path = str((root / Path(rest if separator else text).expanduser()).absolute())
    return f"sqlite://{path}" if separator else path


def _lineage_target(root: Path, text: str, errors: list[ProjectError]) -> str:
    if text.startswith("file:"):
        return f"file:{root / text.removeprefix('file:')}"
    if not text.startswith(("https://", "http://")):
        errors.append(_refused("lineage.openlineage", f"is {text!r}", 'write "https://…" or "file:PATH"'))
    return text


def _secret_key(root: Path, text: str, errors: list[ProjectError]) -> str:
    kind, _, place = text.partition(":")
    if kind not in ("env", "file") or not place:
        errors.append(_refused("project.secret_key", f"is {text!r}", 'write "file:PATH" or "env:NAME"'))
    return f"file:{location(root, place)}" if kind == "file" else text


def _name(text: str, key: str, errors: list[ProjectError]) -> str:
    try:
        return checked_name(text, what=key)
    except DefinitionError as error:
        errors.append(_refused(f"project.{key}", f"is {text!r}", error.hint or ""))
        return text


def _name_of_directory(root: Path) -> str:
    text = re.sub(r"[^a-z0-9]+", "_", root.name.lower()).strip("_")
    return text if text[:1].isalpha() else f"project_{text}".rstrip("_")


def _toml_place(error: Exception) -> str:
    line = re.search(r"at line (\d+)", str(error))
    return f"{PROJECT_FILE}:{line[1]}" if line else PROJECT_FILE


def _refused(key: str, message: str, hint: str) -> ProjectError:
    return ProjectError(f"{key} {message}", hint=hint, place=f"{PROJECT_FILE}: {key}", code="BAD_PROJECT_FILE")
