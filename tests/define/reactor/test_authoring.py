"""What an author writes: typed boundaries, hooks, graphs, and errors that say what to do."""

import inspect
import re
import subprocess
import sys
from dataclasses import dataclass
from typing import Annotated

import msgspec
import pytest

import pondage
from pondage import Accumulator, Fire, OnFailure, Publish, Reactor, Source
from pondage.define.reactor import reaction, topology
from pondage.define.reactor.boundary import BoundaryType, InvalidBoundary
from pondage.define.reactor.graph import problem_text
from pondage.define.reactor.reaction import Problem
from pondage.errors import DefinitionError


@dataclass
class Book:
    bid: float
    levels: list[int]


class Price(msgspec.Struct):
    px: float


class Empty:
    async def read(self, after: int | None):
        return
        yield


def test_a_boundary_is_checked_and_what_is_wrong_has_a_path() -> None:
    book = BoundaryType(Book)
    assert book.check({"bid": 1.5, "levels": [1, 2]}) == Book(1.5, [1, 2])
    assert book.check(Book(1.0, [])) == Book(1.0, [])
    assert BoundaryType(Price).decode(b'{"px": 2}') == Price(2.0)
    with pytest.raises(InvalidBoundary) as failure:
        book.check({"bid": 1.5, "levels": [1, "x"]})
    assert (failure.value.path, failure.value.message) == ("$.levels[1]", "Expected `int`, got `str`")
    with pytest.raises(InvalidBoundary) as failure:
        BoundaryType(Price).decode(b'{"px": ')
    assert failure.value.path == "$"
    assert BoundaryType(list[int]).check([1]) == [1]


def test_each_kind_becomes_its_declaration() -> None:
    polled = Accumulator.polling("config", Price, every="5s")
    batch = Accumulator.batch("trades", Price, size=10, every="250ms", flush_on_fire=True, capacity=5)
    state = Accumulator.state("recent", Price, window=3, optional=True)
    stream = Accumulator.stream("prices", Price, source=Empty(), policy="reject", stale_after="1m")
    orders = Accumulator.pond("orders", Source("orders", ">=1.0", required=False))
    declared = [each.declaration for each in (polled, batch, state, stream, orders)]
    assert [each.kind for each in declared] == ["polling", "batch", "state", "stream", "pond"]
    assert (declared[0].interval, declared[1].interval, declared[1].size) == (5_000_000, 250_000, 10)
    assert (declared[1].capacity, declared[2].window, declared[2].optional) == (5, 3, True)
    assert (declared[3].policy, declared[3].stale_after) == ("reject", 60_000_000)
    assert (declared[4].pond, declared[4].minimum, declared[4].optional) == ("orders", ">=1.0.0", True)


def test_a_reactor_becomes_a_plain_value() -> None:
    quote = Reactor(
        "quote",
        version="1.2.0",
        sources=[Accumulator("book", Book), Accumulator("px", Price)],
        criteria="all",
        strategy="sequential",
        on_failure=OnFailure.retry(2, then="halt", base="10ms"),
        publish=Publish("quotes", every="1s", schema=Price),
        timeout="2s",
        durable="power",
    )

    @quote.graph(inline=True)
    def price(book: Book | None, px: Price | None, fire: Fire) -> Price:
        return Price((book.bid if book else 0) + (px.px if px else 0) + fire.id)

    @quote.graph
    async def risk(book: Book | None) -> None: ...

    quote.job("jobs/rebuild.yaml", when="fire.id > 3")
    declared = quote.declaration
    assert declared.graphs == ("price", "risk")
    assert (declared.timeout, declared.durable, declared.window) == (2_000_000, "power", 64)
    assert declared.publish is not None
    assert (declared.publish.pond, declared.publish.every, declared.publish.mode) == ("quotes", 1_000_000, "append")
    assert declared.on_failure is not None
    assert (declared.on_failure.policy, declared.on_failure.then) == ("retry", "halt")
    assert declared.jobs[0].file == "jobs/rebuild.yaml"
    assert msgspec.json.decode(msgspec.json.encode(declared), type=type(declared)) == declared
    assert price(Book(1.0, []), Price(2.0), Fire(1, 1, "test", [])) == Price(4.0)
    assert [OnFailure.drop().declaration.policy, OnFailure.halt().declaration.policy] == ["drop", "halt"]
    assert OnFailure.dead_letter().declaration.policy == "dead_letter"


def test_mistakes_are_refused_when_they_are_made() -> None:
    book = Accumulator("book", Book)
    quote = Reactor("quote", sources=[book])

    def wrong(bok: Book) -> None: ...

    def fine(book: Book) -> None: ...

    async def waits(book: Book) -> None: ...

    mistakes = {
        "UNKNOWN_INPUT": lambda: quote.graph(wrong),
        "INLINE_ASYNC": lambda: quote.graph(inline=True)(waits),
        "ALREADY_LOADED": lambda: [quote.graph(fine), quote.graph(fine)],
        "HOOK_UNUSED": lambda: book.poll(fine),
        "BAD_BOUNDARY": lambda: Accumulator("x", 7),  # type: ignore[arg-type]
        "BAD_NAME": lambda: Accumulator("Über", Book),
        "BAD_DURATION": lambda: Accumulator.polling("x", Book, every="soon"),
        "BAD_VERSION": lambda: Reactor("r", sources=[book], version="one"),
    }
    for code, mistake in mistakes.items():
        with pytest.raises(DefinitionError) as failure:
            mistake()
        assert failure.value.code == code
        assert failure.value.place is not None


def test_a_mistake_is_told_in_words_with_its_code() -> None:
    book = Accumulator("book", Book)
    mistakes = {
        "reactor 'quote': criteria are \"any\" or \"all\", not 'some' [UNKNOWN_CRITERIA]": {"criteria": "some"},
        "reactor 'quote': it has no sources: sources=[Accumulator(…)] [NO_ACCUMULATORS]": {"sources": []},
        "reactor 'quote': two sources are called book [DUPLICATE_ACCUMULATOR]": {"sources": [book, book]},
        "reactor 'quote': 'book' is no source": {"sources": ["book"]},
    }
    for said, given in mistakes.items():
        with pytest.raises(DefinitionError) as failure:
            Reactor("quote", **{"sources": [book], **given})  # type: ignore[arg-type]
        assert failure.value.message == said


def test_every_problem_of_a_reactor_has_words() -> None:
    known = set(re.findall(r'Problem\("([A-Z_]+)"', inspect.getsource(reaction) + inspect.getsource(topology)))
    assert len(known) > 15
    assert [code for code in known if problem_text(Problem(code, "x")).startswith(code)] == []


def test_importing_pondage_imports_no_reactors() -> None:
    script = "import pondage, sys; print([m for m in sys.modules if 'react' in m or 'asyncio' in m]); pondage.Reactor"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_every_public_name_can_be_had() -> None:
    for name in pondage.__all__:
        assert getattr(pondage, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = pondage.Nothing  # type: ignore[attr-defined]


class Named(msgspec.Struct):
    name: Annotated[str, msgspec.Meta(pattern=r"^([a-z]+[.]?)+$")]


class Group(msgspec.Struct):
    name: Annotated[str, msgspec.Meta(max_length=20)]
    members: "dict[str, list[Named] | None]"
    inner: "Group | None" = None


def test_a_type_with_a_pattern_that_one_pushed_text_could_hold_a_host_up_with_is_refused() -> None:
    for kind in (Named, Group, list[Named]):
        with pytest.raises(DefinitionError, match=r"\[a-z\]") as refused:
            Accumulator("names", kind)
        assert (refused.value.code, bool(refused.value.place)) == ("UNBOUND_PATTERN", True)
        with pytest.raises(DefinitionError) as refused:
            Publish("names", schema=kind)
        assert refused.value.code == "UNBOUND_PATTERN"
    Accumulator("names", dict[str, Annotated[str, msgspec.Meta(max_length=20)]])
