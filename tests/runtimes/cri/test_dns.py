"""How pods on a CRI runtime resolve names."""

from __future__ import annotations

from typing import Any

import pytest

from probetui.k8s.pod import DNSConfig, DNSOption, HostAlias
from probetui.runtimes.cri.dns import (
    ResolvConf,
    format_hosts_file,
    parse_resolv_conf,
    pod_resolv_conf,
)
from tests.builders import a_pod

MACHINE = ResolvConf(("192.0.2.1", "192.0.2.2"), ("lan",), ("ndots:2", "rotate"))
ALIASES = (HostAlias("192.0.2.9", ("one.test", "two.test")),)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", ResolvConf(), id="empty"),
        pytest.param(
            "# mine\nnameserver 192.0.2.1\nnameserver 192.0.2.2 # two\n",
            ResolvConf(("192.0.2.1", "192.0.2.2")),
            id="servers",
        ),
        pytest.param(
            "search a.test\nsearch b.test. . c.test\n",
            ResolvConf(searches=("b.test", ".", "c.test")),
            id="the last search counts",
        ),
        pytest.param(
            "options ndots:2\noptions rotate\n",
            ResolvConf(options=("ndots:2", "rotate")),
            id="options",
        ),
        pytest.param("nameserver\nsortlist 1\n", ResolvConf(), id="nonsense"),
    ],
)
def test_a_machines_own_is_read(text: str, expected: ResolvConf) -> None:
    assert parse_resolv_conf(text) == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({}, MACHINE, id="the machine's"),
        pytest.param(
            {"dns_config": DNSConfig(("192.0.2.1", "192.0.2.3"), ("own",))},
            ResolvConf(
                ("192.0.2.1", "192.0.2.2", "192.0.2.3"), ("lan", "own"), MACHINE.options
            ),
            id="its own come after them, once",
        ),
        pytest.param(
            {"dns_config": DNSConfig(("192.0.2.3", "192.0.2.4"))},
            ResolvConf(
                ("192.0.2.1", "192.0.2.2", "192.0.2.3"), ("lan",), MACHINE.options
            ),
            id="three are enough",
        ),
        pytest.param(
            {
                "dns_config": DNSConfig(
                    options=(DNSOption("ndots", "5"), DNSOption("debug"))
                )
            },
            ResolvConf(MACHINE.servers, ("lan",), ("ndots:5", "rotate", "debug")),
            id="its own options count",
        ),
        pytest.param(
            {"dns_policy": "None", "dns_config": DNSConfig(("192.0.2.3",))},
            ResolvConf(("192.0.2.3",)),
            id="nothing of the machine's",
        ),
    ],
)
def test_a_pod_has_the_machines_and_its_own(
    fields: dict[str, Any], expected: ResolvConf
) -> None:
    assert pod_resolv_conf(a_pod(**fields), MACHINE) == expected


def test_a_pod_finds_itself_and_its_aliases() -> None:
    pod = a_pod(host_aliases=ALIASES)

    text = format_hosts_file(pod, "web", "10.0.0.2", "never mind")

    assert text == (
        "# Kubernetes-managed hosts file.\n"
        "127.0.0.1\tlocalhost\n"
        "::1\tlocalhost ip6-localhost ip6-loopback\n"
        "fe00::0\tip6-localnet\n"
        "fe00::0\tip6-mcastprefix\n"
        "fe00::1\tip6-allnodes\n"
        "fe00::2\tip6-allrouters\n"
        "10.0.0.2\tweb\n"
        "\n"
        "# Entries added by HostAliases.\n"
        "192.0.2.9\tone.test\ttwo.test\n"
    )


def test_in_the_network_of_the_machine_its_own_file_counts() -> None:
    pod = a_pod(host_network=True, host_aliases=ALIASES)

    text = format_hosts_file(pod, "web", "", "127.0.0.1 me\n")

    assert text == (
        "# Kubernetes-managed hosts file (host network).\n"
        "127.0.0.1 me\n"
        "\n"
        "# Entries added by HostAliases.\n"
        "192.0.2.9\tone.test\ttwo.test\n"
    )
