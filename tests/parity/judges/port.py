"""The number behind a probe's port."""

from __future__ import annotations

from typing import Any

import pytest

from probetui.errors import GoError
from probetui.kubelet.prober.container_port import resolve_port
from tests.parity.prober_cases import a_container


def judge(case: dict[str, Any]) -> None:
    out, port = case["out"], case["port"]
    if port["type"] not in {"int", "string"}:
        # We have no such value; for the kubelet it is an error.
        assert out["error"].startswith("intOrString had no kind: ")
        return
    container = a_container({"ports": case.get("containerPorts")})
    value = port.get("value", 0 if port["type"] == "int" else "")
    if out["error"] is None:
        assert resolve_port(value, container) == out["port"]
        return
    with pytest.raises(GoError) as refused:
        resolve_port(value, container)
    assert str(refused.value) == out["error"]
