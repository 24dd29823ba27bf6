from __future__ import annotations

from collections.abc import Callable

import pytest

from pondage import Pond, between, foreign_key, fresh, matches, not_null, pond, unique, volume
from pondage.errors import DefinitionError


def test_a_foreign_key_makes_the_other_table_an_input_that_no_parameter_has() -> None:
    @pond(expect=[foreign_key("customer", "crm.customers.id")])
    def orders(raw: object) -> object: ...

    made = orders.definition("ponds:orders")
    assert [source.pond for source in made.sources] == ["raw", "crm"]
    checked = made.ripples[0].reads[1]
    assert (checked.parameter, checked.pond, checked.ripple) == ("check:crm.customers.id", "crm", "customers")
    assert (checked.columns, checked.by_check) == (("id",), True)
    assert [read.parameter for read in made.ripples[0].tables] == ["raw"]


def test_a_foreign_key_may_point_to_a_sibling_which_then_comes_first() -> None:
    shop = Pond("shop")

    @shop.ripple(expect=[foreign_key("customer", "customers.id")])
    def orders(spark: object) -> object: ...

    @shop.ripple
    def customers(spark: object) -> object: ...

    @shop.ripple(expect=[foreign_key("customer", customers)])
    def returns(spark: object) -> object: ...

    made = shop.definition("ponds:shop")
    assert made.ripple("orders").parents == ("customers",)
    assert [(read.pond, read.ripple, read.columns) for read in made.ripple("returns").reads] == [
        (None, "customers", ("customer",))
    ]


def test_a_foreign_key_of_an_optional_source_leaves_it_optional() -> None:
    @pond(expect=[foreign_key("currency", "fx.currency")])
    def orders(raw: object, fx: object | None = None) -> object: ...

    assert [source.required for source in orders.definition("ponds:orders").sources] == [True, False]


@pytest.mark.parametrize(
    "declare",
    [
        lambda: unique(),
        lambda: unique(""),
        lambda: matches("a", ""),
        lambda: foreign_key("a", "nothing"),
        lambda: foreign_key("a", 5),  # type: ignore[arg-type]
        lambda: fresh("a", "soon"),
        lambda: volume(within=0),
        lambda: volume(within=0.5, of_last=0),
        lambda: not_null("a", at_most=3),
        lambda: between("a", 1, quarantine=True, at_most=-1),
        lambda: between("a", 1, quarantine=True, at_most=1.5),
    ],
)
def test_a_rule_that_cannot_be_meant_is_refused_where_it_is_written(declare: Callable[[], object]) -> None:
    with pytest.raises(DefinitionError) as raised:
        declare()
    assert (raised.value.place or "").startswith(__file__)
