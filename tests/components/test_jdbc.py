"""The JDBC components: a parameter never becomes SQL, and a password is only ever the name of a secret."""

from __future__ import annotations

from typing import Any

import pytest

from pondage.components.registry import built_in, built_in_function
from pondage.connect import jdbc
from pondage.define.job.component_run import ComponentRun
from pondage.define.values.schema import violations

GOOD = {"url": "jdbc:postgresql://db/shop", "table": "sales.orders", "user": "reader", "password": "shop-password"}


@pytest.mark.parametrize(
    "changed",
    [
        {"table": "(select pg_read_file('/etc/passwd')) as x"},
        {"table": "orders; drop table orders"},
        {"split_by": "id) from orders --"},
        {"url": "http://db"},
        {"options": {"sessionInitStatement": "drop table orders"}},
    ],
)
@pytest.mark.parametrize("name", ["read_jdbc", "write_jdbc"])
def test_what_is_no_name_is_refused_by_the_planner(name: str, changed: dict[str, object]) -> None:
    params = built_in()[name].params
    assert list(violations(params, GOOD, "params")) == []
    assert list(violations(params, {**GOOD, **changed}, "params"))


def test_the_secret_is_looked_up_by_whoever_connects(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def read(spark: object, run: ComponentRun, url: str, table: str, **given: str) -> str:
        seen.append((spark, url, table, given["user"], run.secret(given["password"])))
        return "frame"

    monkeypatch.setattr(jdbc, "jdbc", read)
    run = ComponentRun(secrets={"shop-password": "hidden"}.__getitem__)
    run.spark = "session"  # type: ignore[attr-defined]
    assert built_in_function(built_in()["read_jdbc"].entry)(params=GOOD, run=run) == "frame"
    assert seen == [("session", GOOD["url"], "sales.orders", "reader", "hidden")]
