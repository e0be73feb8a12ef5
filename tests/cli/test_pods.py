"""The pods that a command line selects."""

from __future__ import annotations

from pathlib import Path

import pytest

from probetui.cli.pods import ManifestOptions, check_containers, load_pods
from probetui.errors import ManifestError, NothingToDoError, UsageError
from tests.builders import a_container, a_pod

POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: {name}, labels: {{app: {name}}}}}
spec:
  containers:
    - name: app
      image: busybox
      {probe}
"""
PROBE = "livenessProbe: {exec: {command: ['true']}}"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "pods.yaml"
    path.write_text(
        POD.format(name="web", probe=PROBE)
        + "---\n"
        + POD.format(name="db", probe=PROBE)
    )
    return path


def names(options: ManifestOptions) -> list[str]:
    return [pod.name for pod in load_pods(options).pods]


def test_all_pods_of_a_file_are_selected(path: Path) -> None:
    assert names(ManifestOptions(filenames=(str(path),))) == ["web", "db"]


def test_a_selector_selects_some_pods(path: Path) -> None:
    assert names(ManifestOptions(filenames=(str(path),), selector="app!=web")) == ["db"]


def test_a_selector_that_matches_nothing_is_nothing_to_do(path: Path) -> None:
    with pytest.raises(NothingToDoError, match='no pod has the labels "app=mail"'):
        load_pods(ManifestOptions(filenames=(str(path),), selector="app=mail"))


def test_the_namespace_of_the_command_line_applies(path: Path) -> None:
    pods = load_pods(ManifestOptions(filenames=(str(path),), namespace="shop")).pods

    assert {pod.namespace for pod in pods} == {"shop"}


def test_a_changed_field_is_set_in_the_pod(path: Path) -> None:
    change = "app.livenessProbe.periodSeconds=2"

    pods = load_pods(ManifestOptions(filenames=(str(path),), changes=(change,))).pods

    probes = [pod.containers[0].liveness_probe for pod in pods]
    assert [probe and probe.period_seconds for probe in probes] == [2, 2]


def test_all_errors_are_reported_at_once_with_their_lines(path: Path) -> None:
    path.write_text(path.read_text().replace("name: app\n", "name: App\n"))

    with pytest.raises(ManifestError) as caught:
        load_pods(ManifestOptions(filenames=(str(path),)))

    assert [problem.split(" ")[0] for problem in caught.value.problems] == [
        f"{path}:6:7:",
        f"{path}:15:7:",
    ]


def test_a_file_without_a_document_is_nothing_to_do(path: Path) -> None:
    path.write_text("# nothing\n---\n")

    with pytest.raises(NothingToDoError, match="no YAML received"):
        load_pods(ManifestOptions(filenames=(str(path),)))


def test_a_file_without_a_pod_is_nothing_to_do_and_its_kinds_are_listed(
    path: Path,
) -> None:
    path.write_text("apiVersion: v1\nkind: Service\nmetadata: {name: web}\n")

    with pytest.raises(NothingToDoError, match=r"no pod in it: .*Service"):
        load_pods(ManifestOptions(filenames=(str(path),)))


def test_strict_refuses_unsupported_fields(path: Path) -> None:
    path.write_text(
        POD.format(name="web", probe=PROBE) + "  volumes: [{name: x, nfs: "
        "{server: a, path: /b}}]\n"
    )
    tolerated = names(ManifestOptions(filenames=(str(path),)))

    with pytest.raises(ManifestError, match="volumes"):
        load_pods(ManifestOptions(filenames=(str(path),), strict=True))

    assert tolerated == ["web"]


def test_strict_refuses_pods_without_any_probe(path: Path) -> None:
    path.write_text(POD.format(name="web", probe="args: [sleep]"))
    tolerated = names(ManifestOptions(filenames=(str(path),)))

    with pytest.raises(NothingToDoError, match="no container has a probe"):
        load_pods(ManifestOptions(filenames=(str(path),), strict=True))

    assert tolerated == ["web"]


def test_strict_means_strict_validation_as_well(path: Path) -> None:
    path.write_text(POD.format(name="web", probe="livenesProbe: {}"))
    lenient = load_pods(ManifestOptions(filenames=(str(path),), validate="ignore"))

    with pytest.raises(ManifestError, match="unknown field"):
        load_pods(
            ManifestOptions(filenames=(str(path),), validate="ignore", strict=True)
        )

    assert "unknown field" not in str(lenient.problems)


def test_a_named_container_has_to_exist() -> None:
    pods = [a_pod(a_container("app")), a_pod(a_container("db"), name="two")]

    check_containers(["db"], pods)
    with pytest.raises(
        UsageError, match=r'no container is called "web" \(has: app, db\)'
    ):
        check_containers(["web"], pods)
