from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from pondage.cli.main import main
from pondage.ledger.database.sqlite import SqliteDriver
from tests.cli.workers import FakeWorkers
from tests.ledger.harness import World, pond


class Said(msgspec.Struct, frozen=True):
    """What one call printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, object]:
        decoded: dict[str, object] = msgspec.json.decode(self.out)
        return decoded


Call = Callable[..., Said]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in which nothing is deployed, and the current directory."""
    (tmp_path / "pondage.toml").write_text('[project]\nname = "shop"\n')
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def world(project: Path) -> Iterator[World]:
    """The same with `orders`, `sales` (two Ripples) and `reports`."""
    made = World(lambda clock: SqliteDriver(project / ".pondage" / "ledger.db", clock))
    made.deploy(
        pond("orders"),
        pond("sales", sources={"orders": True}, ripples={"clean": [], "sales": ["clean"]}),
        pond("reports", sources={"sales": True}),
        project="shop",
    )
    yield made
    made.ledger.close()


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    """Call the program in this process."""

    def calling(*arguments: str) -> Said:
        capsys.readouterr()
        code = main(list(arguments))
        printed = capsys.readouterr()
        return Said(code, printed.out, printed.err)

    return calling


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> FakeWorkers:
    """Workers without Spark behind `run`, `query` and `demo`."""
    from pondage.engine.supervise import dev

    made = FakeWorkers()
    monkeypatch.setattr(dev, "attached", made.attached)
    return made
