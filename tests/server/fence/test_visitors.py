"""Who may stay when there are too many: strangers take places from each other only, and nobody waits for ever."""

from __future__ import annotations

import pytest

from pondage.errors import PondageError
from pondage.server.fence.visitors import Limits, Visitor, Visitors, party_of


class House:
    """Visitors with a clock that stands still, and a list of those who were sent away."""

    def __init__(self, **limits: int | float) -> None:
        self.now = 0.0
        self.gone: list[tuple[str, int]] = []
        self.visitors = Visitors(Limits(**limits), clock=lambda: self.now)

    def enter(self, address: str, port: int) -> Visitor | None:
        return self.visitors.enter((address, port), lambda: self.gone.append((address, port)))

    def fill(self, address: str, number: int) -> None:
        for port in range(number):
            assert self.enter(address, port) is not None


class Line:
    """A connection that takes as much as it is told to."""

    def __init__(self) -> None:
        self.waiting = 0

    def get_write_buffer_size(self) -> int:
        return self.waiting

    def abort(self) -> None:
        raise AssertionError("nobody ends it but by `send_away`")


def test_the_oldest_stranger_of_the_address_with_the_most_goes_when_the_list_is_full() -> None:
    house = House(strangers=5)
    house.fill("10.0.0.1", 1)
    house.fill("10.0.0.2", 4)
    for port in range(100, 200):
        assert house.enter("10.0.0.2", port) is not None
    assert house.enter("10.0.0.3", 1) is not None
    assert ("10.0.0.1", 0) not in house.gone, "whoever opens two hundred takes places from himself"
    assert house.gone[:4] == [("10.0.0.2", port) for port in range(4)]
    assert house.visitors.count == house.visitors.strangers == 5


def test_whoever_has_sent_a_whole_request_goes_after_those_who_have_sent_half_of_one() -> None:
    house = House(strangers=3)
    house.fill("10.0.0.2", 3)
    with house.visitors.heard(("10.0.0.2", 0)):
        for port in range(3, 100):
            house.enter("10.0.0.2", port)
    assert ("10.0.0.2", 0) not in house.gone
    house.enter("10.0.0.2", 100)
    assert house.gone[-1] == ("10.0.0.2", 0)


def test_whoever_has_shown_a_token_is_sent_away_by_no_number_of_strangers() -> None:
    house = House(connections=4, strangers=2)
    house.fill("10.0.0.9", 1)
    with house.visitors.known(("10.0.0.9", 0), "t1"):
        for port in range(1_000):
            assert house.enter("10.0.0.2", port) is not None
        assert house.visitors.count == 3
    for port in range(1_000, 2_000):
        house.enter("10.0.0.2", port)
    assert ("10.0.0.9", 0) not in house.gone, "between two requests it is no stranger either"


def test_an_address_has_its_own_limit_and_this_machine_has_none() -> None:
    house = House(per_address=3, strangers=50)
    house.fill("10.0.0.2", 3)
    house.fill("127.0.0.1", 20)
    assert house.enter("10.0.0.2", 9) is not None
    assert house.gone == [("10.0.0.2", 0)]


def test_an_address_whose_connections_all_work_gets_no_further_one() -> None:
    house = House(per_address=1)
    house.fill("10.0.0.2", 1)
    with house.visitors.known(("10.0.0.2", 0), "t1"):
        assert house.enter("10.0.0.2", 1) is None
        assert house.enter("10.0.0.3", 1) is not None
    assert house.enter("10.0.0.2", 2) is not None, "an idle one makes place"


def test_a_full_house_of_those_who_work_takes_nobody_in() -> None:
    house = House(connections=2)
    house.fill("10.0.0.2", 2)
    with house.visitors.known(("10.0.0.2", 0), "t1"), house.visitors.known(("10.0.0.2", 1), "t2"):
        assert house.enter("10.0.0.3", 0) is None
    assert house.gone == []


def test_a_token_holds_at_most_half_of_all_connections() -> None:
    house = House(connections=4)
    house.fill("10.0.0.2", 4)
    with house.visitors.known(("10.0.0.2", 0), "t1"), house.visitors.known(("10.0.0.2", 1), "t1"):
        with pytest.raises(PondageError) as refused, house.visitors.known(("10.0.0.2", 2), "t1"):
            pass
        assert refused.value.code == "TOO_MANY_AT_ONCE"
        with house.visitors.known(("10.0.0.2", 3), "t2"):
            pass
    with house.visitors.known(("10.0.0.2", 2), "t1"):
        pass


def test_whoever_sends_half_a_request_is_sent_away_when_his_time_is_over() -> None:
    house = House(stranger_s=20)
    house.fill("10.0.0.2", 1)
    house.now = 19.9
    house.visitors.sweep()
    assert house.gone == []
    house.fill("10.0.0.3", 1)
    house.now = 20.0
    house.visitors.sweep()
    assert house.gone == [("10.0.0.2", 0)]


def test_between_two_requests_the_time_is_the_same_and_none_runs_while_one_is_answered() -> None:
    house = House(stranger_s=20)
    house.fill("10.0.0.2", 1)
    with house.visitors.known(("10.0.0.2", 0), "t1"):
        house.now = 1_000.0
        house.visitors.sweep()
    house.now = 1_019.9
    house.visitors.sweep()
    assert house.gone == []
    house.now = 1_020.0
    house.visitors.sweep()
    assert house.gone == [("10.0.0.2", 0)]


def test_whoever_takes_nothing_of_what_is_sent_to_him_is_sent_away_also_with_a_token() -> None:
    house = House(stuck_s=30)
    visitor = house.enter("10.0.0.2", 0)
    assert visitor is not None
    visitor.line = line = Line()
    with house.visitors.known(visitor.peer, "t1"):
        for now, waiting in ((0.0, 0), (100.0, 64_000), (129.0, 64_000), (130.0, 63_000), (159.0, 63_000)):
            house.now, line.waiting = now, waiting
            house.visitors.sweep()
        assert house.gone == [], "slow, but he reads"
        house.now = 160.0
        house.visitors.sweep()
        assert house.gone == [("10.0.0.2", 0)]


def test_whoever_leaves_is_counted_no_more_and_a_second_goodbye_means_nobody_else() -> None:
    house = House(per_address=1)
    first = house.enter("10.0.0.2", 0)
    assert first is not None
    house.visitors.leave(first)
    second = house.enter("10.0.0.2", 0)
    assert second is not None
    house.visitors.leave(first)
    assert house.visitors.count == 1
    assert house.gone == []


def test_a_machine_without_room_for_another_connection_loses_a_stranger_and_nobody_who_works() -> None:
    house = House()
    house.fill("10.0.0.2", 2)
    with house.visitors.known(("10.0.0.2", 0), "t1"):
        for _ in range(3):
            house.visitors.make_room()
    assert house.gone == [("10.0.0.2", 1)]


def test_a_network_of_ipv6_is_one_party_however_many_addresses_it_has() -> None:
    assert party_of("2001:db8::1") == party_of("2001:db8::ffff:1%eth0") != party_of("2001:db8:0:1::1")
    assert party_of("10.0.0.1") == "10.0.0.1"
    assert party_of("::1") == "::1"
    assert party_of("a:b") == "a:b", "what is no address is counted as it is"
