"""What a node says of its machine: an API server refuses a whole node for one label."""

from __future__ import annotations

import platform

import pytest

from probetui.cluster.node.machine import check_node_name, default_node_name, node_facts
from probetui.errors import UsageError
from probetui.k8s.runtime import UNKNOWN_NODE
from probetui.kubelet.nodestatus.node_status import node_status
from probetui.kubelet_rules import PORTED_RULES
from probetui.manifest.validation.names import check_label_value, check_subdomain
from tests.builders import START

LONG = "build-agent-7." + "a-very-long-department." * 4 + "example.com"
HOSTS = [
    pytest.param("laptop", "probetui-laptop", "laptop", id="plain"),
    pytest.param("Marys_Laptop", "probetui-marys-laptop", "marys-laptop", id="odd"),
    pytest.param("", "probetui", "demo", id="none"),
    pytest.param("-x-", "probetui-x", "x", id="hyphens at its ends"),
    pytest.param("a..b.-c", "probetui-a.b.c", "a.b.c", id="empty words"),
    pytest.param("☕", "probetui", "demo", id="no letter that is allowed"),
    pytest.param(LONG, f"probetui-{LONG}", LONG[:63].rstrip("-."), id="long"),
]


@pytest.mark.parametrize(("host", "name", "label"), HOSTS)
def test_a_machine_with_any_name_is_a_valid_node(
    host: str, name: str, label: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "node", lambda: host)

    facts = node_facts(
        "demo", "192.0.2.1", UNKNOWN_NODE, ("process", "1"), PORTED_RULES, 0
    )

    assert (default_node_name(), facts.hostname) == (name, label)
    assert list(check_subdomain(default_node_name())) == []
    assert list(check_label_value(facts.hostname)) == []


def test_a_name_that_an_api_server_would_refuse_is_refused_before() -> None:
    check_node_name("demo.example-1")
    with pytest.raises(UsageError, match="--name Demo_1: a lowercase RFC 1123"):
        check_node_name("Demo_1")


def test_an_api_server_that_dials_the_hostname_reaches_the_address() -> None:
    facts = node_facts(
        "demo", "192.0.2.1", UNKNOWN_NODE, ("process", "1"), PORTED_RULES, 0
    )

    addresses = node_status(facts, {}, "", (), START)["addresses"]

    assert addresses == [
        {"type": "InternalIP", "address": "192.0.2.1"},
        {"type": "Hostname", "address": "192.0.2.1"},
    ]
