"""The plan of a session from its options."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from probetui.cli.commands.sessions import RunOptions, run
from probetui.cli.option_values import (
    RuntimeOptions,
    ScreenChoices,
    SessionOptions,
)
from probetui.cli.options import WebOptions
from probetui.cli.pods import ManifestOptions
from probetui.cli.session.plan import RunPlan, Stdout
from probetui.cli.session.planning import make_plan
from probetui.cli.session.screen import covered_warnings
from probetui.cli.terminal import Form
from probetui.errors import ManifestError, UsageError
from probetui.k8s.pod import PullPolicy
from probetui.k8s.probe import ProbeType
from probetui.manifest.load import load_manifests
from probetui.manifest.yaml.parser import SourceFile
from tests.cli.contexts import context_of

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  initContainers: [{name: first, image: busybox}]
  containers: [{name: app, image: busybox}]
"""


def plan(*args: str) -> RunPlan:
    """Plan a session with the options of `probetui run`."""
    context = context_of(run, *args)
    return make_plan(
        load_manifests([SourceFile("pod.yaml", POD)]), RunOptions.of(context.params)
    )


def test_every_option_of_run_is_used() -> None:
    known = {
        name
        for kind in (
            ManifestOptions,
            RuntimeOptions,
            SessionOptions,
            ScreenChoices,
            WebOptions,
        )
        for name in kind.field_names()
    }
    others = {"files"}  # added to `filenames`

    assert {str(parameter.name) for parameter in run.params} == known | others


@pytest.mark.parametrize(
    ("args", "policies"),
    [
        pytest.param([], [PullPolicy.ALWAYS] * 2, id="the manifest's own"),
        pytest.param(["--pull", "never"], [PullPolicy.NEVER] * 2, id="never"),
        pytest.param(
            ["--pull", "missing"], [PullPolicy.IF_NOT_PRESENT] * 2, id="missing"
        ),
    ],
)
def test_the_pull_policy_of_the_command_line_applies_to_every_container(
    args: list[str], policies: list[PullPolicy]
) -> None:
    pod = plan(*args).pods[0]

    assert [
        container.image_pull_policy for container in pod.all_containers()
    ] == policies


@pytest.mark.parametrize(
    ("args", "stdout"),
    [
        pytest.param([], Stdout.LINES, id="lines"),
        pytest.param(["-q"], Stdout.NOTHING, id="quiet"),
        pytest.param(["-o", "jsonl"], Stdout.SELECTED_RECORDS, id="jsonl"),
        pytest.param(["-o", "jsonl", "-q"], Stdout.SELECTED_RECORDS, id="quiet jsonl"),
        pytest.param(["--record", "-"], Stdout.RECORDS, id="the record"),
    ],
)
def test_standard_output_has_one_kind_of_data(args: list[str], stdout: Stdout) -> None:
    planned = plan(*args)

    assert planned.form is Form.LINES
    assert planned.stdout is stdout
    assert planned.record is None


def test_a_record_goes_to_its_file_besides_the_output(tmp_path: Path) -> None:
    planned = plan("--record", str(tmp_path / "a.jsonl"), "-o", "jsonl")

    assert planned.stdout is Stdout.SELECTED_RECORDS
    assert planned.record is not None
    planned.record.close()


def test_a_selection_names_containers_and_probes() -> None:
    selection = plan("-c", "app", "-t", "liveness", "-t", "startup").selection

    assert selection.containers == ("app",)
    assert selection.probe_types == [ProbeType.LIVENESS, ProbeType.STARTUP]


def test_the_record_has_the_given_options() -> None:
    arguments = plan("--timeout", "5m", "-c", "app", "--kubelet-age", "fresh").arguments

    assert arguments["timeout"] == "0:05:00"
    assert arguments["containers"] == ["app"]
    assert arguments["kubelet_age"] == "fresh"
    assert "until" not in arguments
    assert "keep" not in arguments


def test_every_parameter_can_be_put_into_a_record(tmp_path: Path) -> None:
    values: list[Any] = list(
        plan("--log-file", str(tmp_path / "x.log"), "-v").arguments.values()
    )

    assert all(isinstance(value, bool | int | str | list) for value in values)


MOUNTING = POD.replace(
    "busybox}]\n  containers", "busybox}]\n  volumes: [{name: v}]\n  containers"
).replace(
    "{name: app, image: busybox}",
    "{name: app, image: busybox, tty: true, livenessProbe: {exec: {command: [a]}}}",
)


def test_unsupported_fields_are_reported_with_their_position_before_the_start(
    capsys: pytest.CaptureFixture[str],
) -> None:
    context = context_of(run, "--runtime", "process")

    make_plan(
        load_manifests([SourceFile("pod.yaml", MOUNTING)]),
        RunOptions.of(context.params),
    )

    messages = capsys.readouterr().err.splitlines()
    (line,) = [line for line in messages if ".tty" in line]
    assert line == (
        "probetui: warning: pod.yaml:7:44: spec.containers[0].tty: is not supported:"
        " a process has no input and no terminal"
    )


def test_another_runtime_may_support_the_field(
    capsys: pytest.CaptureFixture[str],
) -> None:
    context = context_of(run, "--runtime", "docker")

    make_plan(
        load_manifests([SourceFile("pod.yaml", MOUNTING)]),
        RunOptions.of(context.params),
    )

    assert "tty" not in capsys.readouterr().err


NAMING = POD.replace("spec:", "spec:\n  dnsConfig: {nameservers: [192.0.2.9]}")
"""Fields that a CRI runtime supports and Docker does not."""


@pytest.mark.parametrize(
    ("kind", "is_reported"),
    [pytest.param("docker", True), pytest.param("cri", False)],
)
def test_unsupported_fields_are_reported_once_the_runtime_is_known(
    capsys: pytest.CaptureFixture[str],
    kind: str,
    is_reported: bool,  # noqa: FBT001  # a column
) -> None:
    context = context_of(run, "--runtime", "auto")
    made = make_plan(
        load_manifests([SourceFile("pod.yaml", NAMING)]), RunOptions.of(context.params)
    )
    reported_before = capsys.readouterr().err
    assert made.warn_for_runtime is not None

    made.warn_for_runtime(kind)

    assert "dnsConfig" not in reported_before
    assert ("dnsConfig.nameservers" in capsys.readouterr().err) is is_reported


def test_a_condition_without_a_pod_to_be_about_is_refused() -> None:
    context = context_of(run, "pod.yaml", "--until", "ready")

    with pytest.raises(UsageError, match="about pods of --static"):
        make_plan(load_manifests([]), RunOptions.of(context.params))


def test_unsupported_fields_are_an_error_with_strict() -> None:
    context = context_of(run, "--runtime", "process", "--strict")

    with pytest.raises(ManifestError, match="tty: is not supported") as refused:
        make_plan(
            load_manifests([SourceFile("pod.yaml", MOUNTING)]),
            RunOptions.of(context.params),
        )

    assert refused.value.exit_status == 2


BOTH = "ReduceDefaultCrashLoopBackOffDecay=true,KubeletCrashLoopBackOffMax=true"


@pytest.mark.parametrize(
    ("args", "initial", "maximum"),
    [
        pytest.param([], 10, 300, id="by default"),
        pytest.param(["100s"], 10, 100, id="longer than the first"),
        pytest.param(["2s"], 2, 2, id="shorter than the first"),
        pytest.param(
            ["2m", "--kubelet", "1.33", "--feature-gates", BOTH], 1, 120, id="reduced"
        ),
    ],
)
def test_a_node_sets_the_maximum_back_off(
    args: list[str], initial: int, maximum: int
) -> None:
    option = ["--max-container-restart-period", *args] if args else []

    config = plan(*option).kubelet_config(default_seed=1)

    assert config.restart_back_off == (
        timedelta(seconds=initial),
        timedelta(seconds=maximum),
    )


@pytest.mark.parametrize(
    ("args", "words"),
    [
        pytest.param(
            ["500ms"],
            "--max-container-restart-period: must be between 1s and 300s",
            id="too short",
        ),
        pytest.param(
            ["301s"],
            "--max-container-restart-period: must be between 1s and 300s",
            id="too long",
        ),
        pytest.param(
            ["60s", "--kubelet", "1.34"],
            "--max-container-restart-period: kubelet 1.34 has the feature gate "
            "KubeletCrashLoopBackOffMax off",
            id="off",
        ),
        pytest.param(
            ["60s", "--kubelet", "1.28"],
            "--max-container-restart-period: kubelet 1.28 has no such setting",
            id="too old",
        ),
    ],
)
def test_a_period_that_the_kubelet_rejects_is_refused(
    args: list[str], words: str
) -> None:
    with pytest.raises(UsageError) as caught:
        plan("--max-container-restart-period", *args)

    assert str(caught.value) == words


TYPO = POD.replace("[{name: app,", "[{name: app, livenesProbe: {},")


def plan_of_a_file(text: str, *args: str) -> RunPlan:
    """Plan a session whose pods come from a file."""
    context = context_of(run, *args)
    manifests = load_manifests([SourceFile("pod.yaml", text)])
    return make_plan(
        manifests,
        RunOptions.of(context.params),
        source=ManifestOptions(filenames=("pod.yaml",)),
    )


def test_warnings_about_a_pod_stand_in_its_row_and_not_over_the_screen() -> None:
    planned = plan_of_a_file(TYPO)
    pods = [planned.manifests.pod_of(problem) for problem in planned.manifests.warnings]

    assert [*covered_warnings(planned)] == []
    assert pods == [*planned.pods] * 2


OTHER = """
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, lables: {}, a: 1, b: 2, c: 3, d: 4}
"""


def test_the_screen_shows_warnings_about_no_pod_and_counts_the_others() -> None:
    first, *_, last = covered_warnings(plan_of_a_file(POD + OTHER))

    assert 'unknown field "lables"' in first
    assert last.endswith("more warnings: see the events")


def test_quiet_shows_no_warning_on_the_screen_either() -> None:
    assert [*covered_warnings(plan_of_a_file(TYPO, "--quiet"))] == []
