"""Ports of tests: nobody gets the one of a server that comes later, and where nobody answers nobody ever does."""

from __future__ import annotations

import socket

import pytest

from tests.ports import LOWEST, _aside, free_port, refusing_port


def test_the_port_of_a_later_server_is_given_to_nobody_else() -> None:
    ports = [free_port() for _ in range(50)]
    assert len(set(ports)) == 50
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        assert any_port.getsockname()[1] not in ports
    with socket.create_server(("127.0.0.1", ports[0])):
        pass


@pytest.mark.parametrize(
    ("given", "aside"),
    [
        ((32_768, 60_999), (LOWEST, 32_000)),
        ((16_000, 60_999), (LOWEST, 16_000)),
        ((1024, 50_000), (50_001, 65_536)),
        ((1024, 65_535), (LOWEST, 32_000)),
    ],
)
def test_it_lies_beside_those_that_the_kernel_gives(given: tuple[int, int], aside: tuple[int, int]) -> None:
    assert _aside(*given) == aside


def test_where_nobody_listens_everybody_is_refused() -> None:
    with refusing_port() as port:
        for _ in range(3):
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", port))
