"""Who listens where, of tables as Linux writes them and of this machine's own."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from probetui.errors import ContainerRuntimeError
from probetui.k8s.runtime import Listeners, ListenerScope, SocketAddress
from probetui.runtimes.proc_net import (
    ListeningSocket,
    listeners_in_network_of,
    listeners_of,
    parse_table,
)

HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt uid"
REST = "00000000:00000000 00:00000000 00000000     0        0"

on_little_endian = pytest.mark.skipif(
    sys.byteorder != "little", reason="the tables are in this machine's order of bytes"
)


def row(local: str, state: str = "0A", inode: int = 7) -> str:
    zeros = "0" * len(local.partition(":")[0])
    return f"   0: {local} {zeros}:0000 {state} {REST} {inode} 1 0 100 0 0 10 0"


def table(*rows: str) -> str:
    return "\n".join([HEAD, *rows, ""])


@on_little_endian
@pytest.mark.parametrize(
    ("local", "endpoint"),
    [
        pytest.param("0100007F:1F90", ("127.0.0.1", 8080), id="loopback"),
        pytest.param("00000000:0050", ("0.0.0.0", 80), id="every-address"),
        pytest.param("020011AC:FFFF", ("172.17.0.2", 65535), id="one-address"),
        pytest.param(f"{'0' * 32}:1F90", ("::", 8080), id="every-ipv6-address"),
        pytest.param(f"{'0' * 24}01000000:1F90", ("::1", 8080), id="ipv6-loopback"),
        pytest.param(
            "0000000000000000FFFF00000100007F:1F90", ("127.0.0.1", 8080), id="mapped"
        ),
        pytest.param(
            "000080FE00000000FF005450B1A2DEFE:0001",
            ("fe80::5054:ff:fede:a2b1", 1),
            id="link-local",
        ),
    ],
)
def test_addresses_are_words_in_hexadecimal(
    local: str, endpoint: tuple[str, int]
) -> None:
    assert list(parse_table(table(row(local)))) == [
        ListeningSocket(SocketAddress(*endpoint), 7)
    ]


def test_only_sockets_that_listen_count() -> None:
    text = table(
        row("0100007F:1F90", inode=1),
        row("00000000:0050", inode=2),
        row("0100007F:1F91", state="01", inode=3),
        row("0100007F:1F92", state="06", inode=0),
    )

    assert [row.inode for row in parse_table(text)] == [1, 2]


@pytest.mark.parametrize("text", ["", HEAD, HEAD + "\n"], ids=["none", "head", "line"])
def test_a_table_without_sockets_is_empty(text: str) -> None:
    assert list(parse_table(text)) == []


@pytest.mark.parametrize(
    ("endpoint", "words"),
    [
        pytest.param(SocketAddress("0.0.0.0", 80), "0.0.0.0:80", id="ipv4"),
        pytest.param(SocketAddress("::", 80), "[::]:80", id="ipv6"),
    ],
)
def test_an_endpoint_is_written_as_urls_have_it(
    endpoint: SocketAddress, words: str
) -> None:
    assert str(endpoint) == words


class Proc:
    """A folder that looks like `/proc`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.add("self", table())

    def add(self, process: str, text: str, *inodes: int) -> None:
        network = self.folder / process / "net"
        network.mkdir(parents=True)
        (network / "tcp").write_text(text)
        descriptors = self.folder / process / "fd"
        descriptors.mkdir()
        (descriptors / "0").symlink_to("/dev/null")
        (descriptors / "1").symlink_to("pipe:[1]")
        for number, inode in enumerate(inodes, start=2):
            (descriptors / str(number)).symlink_to(f"socket:[{inode}]")


@pytest.fixture
def proc(tmp_path: Path) -> Proc:
    return Proc(tmp_path)


@on_little_endian
def test_another_network_is_that_of_a_pod(proc: Proc) -> None:
    rows = row("00000000:1F90"), row("0100007F:0050"), row("00000000:1F90", inode=8)
    proc.add("12", table(*rows))

    found = listeners_in_network_of(12, proc.folder)

    expected = SocketAddress("127.0.0.1", 80), SocketAddress("0.0.0.0", 8080)
    assert found == Listeners(expected, ListenerScope.POD)


@on_little_endian
def test_both_tables_are_read(proc: Proc) -> None:
    proc.add("12", table(row("00000000:0050")))
    (proc.folder / "12" / "net" / "tcp6").write_text(table(row(f"{'0' * 32}:0051")))

    found = listeners_in_network_of(12, proc.folder)

    assert found.endpoints == (SocketAddress("0.0.0.0", 80), SocketAddress("::", 81))


def test_a_network_that_is_our_own_is_that_of_the_machine(proc: Proc) -> None:
    proc.add("12", table())
    (proc.folder / "12" / "net" / "tcp").unlink()
    own = proc.folder / "self" / "net" / "tcp"
    (proc.folder / "12" / "net" / "tcp").hardlink_to(own)

    assert listeners_in_network_of(12, proc.folder).extent is ListenerScope.MACHINE


@on_little_endian
def test_of_processes_only_their_own_sockets_count(proc: Proc) -> None:
    rows = row("0100007F:0050", inode=5), row("0100007F:0051", inode=6)
    (proc.folder / "self" / "net" / "tcp").write_text(table(*rows))
    proc.add("12", "", 6)
    proc.add("13", "", 99)

    found = listeners_of([12, 13, 14], proc.folder)

    assert found == Listeners(
        (SocketAddress("127.0.0.1", 81),), ListenerScope.CONTAINER
    )


def test_an_ended_process_cannot_be_inspected(proc: Proc) -> None:
    with pytest.raises(ContainerRuntimeError, match="is not visible from here"):
        listeners_in_network_of(12, proc.folder)


@pytest.fixture
def listening() -> Iterator[SocketAddress]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield SocketAddress(*server.getsockname())


@pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc elsewhere")
def test_listeners_of_this_process_are_found(listening: SocketAddress) -> None:
    assert listening in listeners_of([os.getpid()]).endpoints


@pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc elsewhere")
def test_the_network_of_this_process_is_the_machines(listening: SocketAddress) -> None:
    found = listeners_in_network_of(os.getpid())

    assert found.extent is ListenerScope.MACHINE
    assert listening in found.endpoints
