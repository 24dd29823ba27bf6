"""What no column takes is refused as that, on both databases, and the transaction's connection stays usable."""

import pytest

from pondage.ledger.database.driver import UnfitValue
from tests.ledger.harness import World


@pytest.mark.parametrize("value", [2**63, -(10**30)])
def test_a_number_beyond_64_bits_is_refused(world: World, value: int) -> None:
    with pytest.raises(UnfitValue), world.ledger.transaction() as tx:
        tx.rows("SELECT id FROM runs WHERE number = :value", value=value)
    assert world.rows("SELECT 1 AS one") == [{"one": 1}]


def test_text_with_a_zero_character_is_refused_and_never_cut_off_at_it(world: World) -> None:
    with pytest.raises(UnfitValue), world.ledger.transaction() as tx:
        tx.rows("SELECT id FROM environments WHERE name = :value", value="main\0evil")
    assert world.rows("SELECT 1 AS one") == [{"one": 1}]
