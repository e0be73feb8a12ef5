"""Expansion of `$(VAR)`, alone and in a container's command."""

from __future__ import annotations

from collections import ChainMap
from typing import Any

from probetui.k8s.environment import expand
from probetui.kubelet.kuberuntime.expansion import expand_command
from probetui.kubelet.runtime.go_format import to_bytes, to_text
from tests.parity.prober_cases import a_container, blob


def judge(case: dict[str, Any]) -> None:
    match case["op"]:
        case "expand":
            contexts = [
                {to_bytes(name): to_bytes(value) for name, value in context.items()}
                for context in case["contexts"]
            ]
            expanded = expand(blob(case["input"]), ChainMap(*contexts))
            assert expanded == blob(case["output"])
        case "command":
            command = [to_text(blob(argument)) for argument in case["command"]]
            arguments = expand_command(command, a_container(case).env)
            assert [to_bytes(argument) for argument in arguments] == list(
                map(blob, case["output"])
            )
        case other:
            raise AssertionError(other)
