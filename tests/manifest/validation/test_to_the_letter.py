"""The exact errors of the API server for one wrong value each.

A case in data/to_the_letter.jsonl is what is put into a pod with one container
(`meta`, `container`, `spec`, in flow style), and the messages in their order; warnings
are looked at where a case has some. Its `function` is the API server's, so that one
sees which of them have cases. Of 1.32 where a case names no `kubelet`; `gates` are
feature gates, `LARGE` is a text of 256 KiB.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from probetui.kubelet_rules import rules_of
from probetui.manifest.admission import prepare_pod
from probetui.manifest.validation.api_warnings import find_api_warnings
from probetui.manifest.validation.pod import validate_pod
from tests.bulk import fail_with, select_cases
from tests.manifest.yaml_pods import pod_model

_FILE = Path(__file__).parent / "data" / "to_the_letter.jsonl"
_LARGE = "x" * 256 * 1024


def _read() -> Iterator[dict[str, Any]]:
    for line in _FILE.read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def test_each_wrong_value_has_the_error_of_the_api_server(
    pytestconfig: pytest.Config,
) -> None:
    cases = {case["id"]: case for case in _read()}
    problems: dict[str, BaseException] = {}
    for name in select_cases(cases, pytestconfig):
        case = cases[name]
        pod = pod_model(
            case.get("container", ""),
            case.get("spec", ""),
            case.get("meta", "name: web").replace("LARGE", _LARGE),
        )
        rules = rules_of(case.get("kubelet", "1.32"), tuple(case.get("gates", ())))
        prepare_pod(pod, rules)
        found = [error.message for error in validate_pod(pod, rules=rules)]
        warnings = [f"{path}: {text}" for path, text in find_api_warnings(pod, rules)]
        try:
            assert found == case["errors"]
            if "warnings" in case:
                assert warnings == case["warnings"]
        except AssertionError as error:
            problems[name] = error
    fail_with(problems)
