"""The reactor: whatever arrives, the newest book, prices and margin make a quote at once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec

from pondage import Accumulator, OnFailure, Publish, Reactor
from pondage.streams import ArrivedFile, Directory


@dataclass
class Book:
    """The best offers of a symbol."""

    symbol: str
    bid: float
    ask: float
    at: datetime


@dataclass
class Prices:
    """The reference price of each symbol."""

    of: dict[str, float]


@dataclass
class Margin:
    margin: float


@dataclass
class Quote:
    """What we offer; the columns of the Pond `quotes`."""

    symbol: str
    bid: float
    ask: float
    at: datetime


book = Accumulator("book", Book)
prices = Accumulator.stream("prices", Prices, source=Directory("inbox", pattern="*.json", settle="100ms"))
margin = Accumulator.polling("margin", Margin, every="1s", optional=True)


@prices.process
def read_prices(file: ArrivedFile) -> Prices:
    return Prices(msgspec.json.decode(Path(file.path).read_bytes(), type=dict[str, float]))


_known: list[Margin] = []


@margin.poll
def read_margin() -> Margin | None:
    """Give the margin when it is another one; None is no news."""
    found = msgspec.json.decode(Path("margin.json").read_bytes(), type=Margin)
    if [found] == _known:
        return None
    _known[:] = [found]
    return found


quote = Reactor(
    "quote",
    sources=[book, prices, margin],
    criteria="any",
    strategy="latest",
    on_failure=OnFailure.retry(3, then="dead_letter"),
    publish=Publish("quotes", every="1s", schema=Quote),
)


@quote.graph(inline=True)
def price(book: Book | None, prices: Prices | None, margin: Margin | None) -> Quote | None:
    """Give a quote around the middle of book and price; none before both are known."""
    if book is None or prices is None or book.symbol not in prices.of:
        return None
    middle = (book.bid + book.ask + 2 * prices.of[book.symbol]) / 4
    half = max(book.ask - book.bid, middle * (margin.margin if margin else 0.02)) / 2
    return Quote(symbol=book.symbol, bid=round(middle - half, 4), ask=round(middle + half, 4), at=book.at)
