"""Our words in plain ones, for `pondage --help`."""

from __future__ import annotations

GLOSSARY: tuple[tuple[str, str], ...] = (
    ("Pond", "a table, or several made together, with the code that makes them; named name@major"),
    ("Ripple", "one step of a Pond: a function or a SQL file that gives one table"),
    ("Source, Sink", "a Pond that this one reads; a Pond that reads this one"),
    ("Inlet, Outlet", "a Pond without Sources: data enters there; one without Sinks: people read it"),
    ("Run", "one time that a Pond was made; its tables become visible together when it completes"),
    ("freshness", "the moment that the data of a Pond describes; staleness is how long ago that is"),
    ("demand", "somebody wants newer data; without demand nothing runs"),
    ("Tap", "pull once: take what the Sources have now, and let them prepare more"),
    ("Pulse", "push once: be as fresh as this moment, the whole way up from the Inlets"),
    ("Wave", "a Tap again and again: always run, as fast as the slowest Pond on the way allows"),
    ("Tide", "never be staler than a limit, and run no more often than that needs"),
    ("calm", "take a Wave or a Tide away"),
    ("Window", "when an Inlet may take data: once in each window, for example daily after 02:00"),
    ("blocked", "a Source failed or was killed; demand is kept until somebody clears it"),
    ("snapshot", "the files that one Ripple wrote once; they never change"),
    ("catchment", "all Ponds that are connected; it decides as one"),
    ("environment", "a separate set of Ponds on the same ledger; the usual one is main"),
    ("ledger, warehouse", "the database that remembers everything; the directory that holds the data"),
)
