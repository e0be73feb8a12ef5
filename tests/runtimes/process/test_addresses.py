"""Addresses of pods."""

from __future__ import annotations

import socket
import sys
from ipaddress import IPv4Address, IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probetui.runtimes.process.sandbox import free_address, is_local
from probetui.runtimes.translation import LOCALHOST

linux_only = pytest.mark.skipif(
    sys.platform != "linux", reason="elsewhere 127.0.0.1 is all there is"
)


@linux_only
@given(uid=st.text())
def test_every_pod_gets_an_address_that_systems_do_not_use(uid: str) -> None:
    address = IPv4Address(free_address(uid, ()))

    assert address in IPv4Network("127.0.0.0/8")
    assert address not in IPv4Network("127.0.0.0/16")
    assert address.packed[3] not in {0, 255}


@linux_only
def test_a_pod_gets_the_same_address_each_time() -> None:
    assert free_address("one", ()) == free_address("one", ())
    assert free_address("one", ()) != free_address("two", ())


@linux_only
def test_an_address_that_is_taken_is_passed_over() -> None:
    first = free_address("one", ())

    second = free_address("one", {first})

    assert second not in {first, LOCALHOST}


def test_a_program_can_listen_at_the_address_of_a_pod() -> None:
    address = free_address("one", ())

    with socket.create_server((address, 0)) as server:
        assert server.getsockname()[0] == address


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        pytest.param(LOCALHOST, True, id="localhost"),
        pytest.param("192.0.2.1", False, id="an address for documentation"),
    ],
)
def test_what_is_local_can_be_listened_at(address: str, *, expected: bool) -> None:
    assert is_local(address) is expected
