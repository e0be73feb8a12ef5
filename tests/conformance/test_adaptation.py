"""Manifests for plain processes."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from tests.conformance.adaptation import SERVER, for_processes, why_not
from tests.conformance.cases import OWN_DATA, load_cases

AGNHOST = "registry.k8s.io/e2e-test-images/agnhost:2.53"
BUSYBOX = "registry.k8s.io/busybox:1.27.2"


def a_pod(**container: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "app", "image": BUSYBOX} | container]}}


def adapted(**container: Any) -> dict[str, Any]:
    [found] = for_processes(a_pod(**container))["spec"]["containers"]
    assert isinstance(found, dict)
    return found


def test_the_test_server_is_run_from_its_source() -> None:
    found = adapted(
        image=AGNHOST, args=["netexec", "--tls-cert-file", "/localhost.crt"]
    )

    assert found["command"] == [
        *(sys.executable, str(SERVER / "agnhost.py"), "netexec"),
        *("--tls-cert-file", str(SERVER / "localhost.crt")),
    ]
    assert "args" not in found


def test_a_container_has_its_own_tmp_folder() -> None:
    probe = {"exec": {"command": ["cat", "/tmp/alive"]}, "periodSeconds": 1}

    found = adapted(command=["touch", "/tmp/alive"], livenessProbe=probe)

    assert found["command"][-1] == "./alive"
    assert found["livenessProbe"]["exec"]["command"] == ["cat", "./alive"]


def test_paths_of_volumes_are_in_the_home_folder_also_in_queries() -> None:
    mounts = [{"name": "data", "mountPath": "/shared"}]

    found = adapted(
        command=["cat", "/shared/n"],
        volumeMounts=mounts,
        readinessProbe={"httpGet": {"path": "/shell?cmd=cat%20%2Fshared%2Fn"}},
    )

    assert found["command"][-1] == "./shared/n"
    query = found["readinessProbe"]["httpGet"]["path"]
    assert query == "/shell?cmd=cat%20.%2Fshared%2Fn"
    assert found["volumeMounts"] == mounts


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        pytest.param({}, "/dev/termination-log", id="the-default"),
        pytest.param({"terminationMessagePath": "/dev/my"}, "/dev/my", id="of-its-own"),
    ],
)
def test_the_termination_message_path_is_in_the_home_folder(
    fields: dict[str, str], path: str
) -> None:
    found = adapted(command=["tee", path], **fields)

    assert found["command"][-1] == f".{path}"
    assert found.items() >= fields.items()


@pytest.mark.parametrize(
    ("script", "exit_code"),
    [
        pytest.param("kill -TERM $$; exit 7", 7, id="that-does-not-handle-sigterm"),
        pytest.param("trap 'exit 5' TERM; kill -TERM $$; exit 7", 5, id="that-does"),
    ],
)
def test_a_program_handles_sigterm_as_process_1(script: str, exit_code: int) -> None:
    found = adapted(command=["/bin/sh", "-c", script])

    assert subprocess.run(found["command"], check=False).returncode == exit_code


def test_a_missing_program_is_not_wrapped() -> None:
    found = adapted(command=["/no/such/program"])

    assert found["command"] == ["/no/such/program"]


def test_the_original_manifest_is_not_changed() -> None:
    pod = a_pod(command=["touch", "/tmp/alive"])

    for_processes(pod)

    assert pod == a_pod(command=["touch", "/tmp/alive"])


@pytest.mark.parametrize(
    ("container", "reason"),
    [
        pytest.param({"command": ["true"]}, "", id="nothing-special"),
        pytest.param(
            {"image": "invalid.registry.k8s.io/no:1"}, "needs images", id="no-image"
        ),
    ],
)
def test_a_case_that_needs_an_image_has_a_reason(
    container: dict[str, Any], reason: str
) -> None:
    found = why_not(a_pod(**container))

    assert found.startswith(reason)
    assert bool(found) is bool(reason)


def test_few_cases_are_left_out() -> None:
    left_out = [case["id"] for case in load_cases(OWN_DATA) if why_not(case["pod"])]

    assert left_out == ["sidecar-image-missing-never"]
