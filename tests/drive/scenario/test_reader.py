"""Scenario scripts: how the world behaves by them, and their error messages."""

from __future__ import annotations

import inspect
import textwrap
from datetime import timedelta
from pathlib import Path

import pytest

from probetui.debugger.commands import RestartContainer, TriggerProbe
from probetui.drive.scenario import script as scenario_module
from probetui.drive.scenario.reader import read_scenario
from probetui.drive.scenario.script import Scenario
from probetui.drive.simulation import Simulation
from probetui.engine.engine import Engine
from probetui.engine.inputs import AddPod, DeletePod
from probetui.errors import ManifestError
from probetui.k8s.pod import Pod, VolumeMount
from probetui.k8s.probe import ExecAction, HTTPGetAction, ProbeType
from probetui.k8s.volume import EmptyDir, Volume
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.journal import (
    ContainerEntry,
    EventEntry,
    LifecycleStep,
    ListenersEntry,
    TickEntry,
)
from probetui.kubelet.outcome import Attempt, ProbeResult
from probetui.manifest.yaml.parser import SourceFile
from tests.builders import a_container, a_key, a_pod, a_probe

SECOND = timedelta(seconds=1)


def read(text: str) -> Scenario:
    return read_scenario(SourceFile("script.yaml", text))


def problems(text: str) -> list[str]:
    with pytest.raises(ManifestError) as caught:
        read(text)
    return list(caught.value.problems)


def simulate(text: str, pod: Pod, seconds: float) -> Simulation:
    scenario = read(text)
    config = KubeletConfig(finds_listeners=scenario.knows_listeners)
    simulation = Simulation(
        Engine(config, scenario.start), scenario.world(), scenario.start
    )
    simulation.submit(AddPod(pod))
    for at, command in scenario.commands([pod]):
        simulation.schedule(command, at)
    simulation.run_for(seconds * SECOND)
    return simulation


def attempts(simulation: Simulation, kind: ProbeType) -> list[Attempt]:
    return [
        entry.attempts[-1]
        for entry in simulation.journal
        if isinstance(entry, TickEntry) and entry.attempts and entry.key[2] is kind
    ]


def test_results_are_used_in_order_and_the_last_one_repeats() -> None:
    script = """
    containers:
      app:
        readiness:
          - success
          - {result: failure, times: 2, output: not well}
          - {result: warning}
    """
    pod = a_pod(a_container(readiness_probe=a_probe(period_seconds=1)))

    found_attempts = attempts(simulate(script, pod, 8), ProbeType.READINESS)

    assert [attempt.result for attempt in found_attempts[:6]] == [
        ProbeResult.SUCCESS,
        ProbeResult.FAILURE,
        ProbeResult.FAILURE,
        ProbeResult.WARNING,
        ProbeResult.WARNING,
        ProbeResult.WARNING,
    ]
    assert found_attempts[1].output == "not well"


def test_a_result_can_last_until_an_age_of_the_container() -> None:
    script = "containers: {app: {liveness: [{result: success, until: 5s}, failure]}}"
    probe = a_probe(period_seconds=1, failure_threshold=100)
    pod = a_pod(a_container(liveness_probe=probe))

    found_attempts = attempts(simulate(script, pod, 10), ProbeType.LIVENESS)

    results = [attempt.result for attempt in found_attempts]
    assert set(results[:3]) == {ProbeResult.SUCCESS}
    assert set(results[6:]) == {ProbeResult.FAILURE}


def test_results_can_repeat_from_the_start() -> None:
    script = (
        "containers: {app: {readiness: {repeat: true, results: [success, errored]}}}"
    )
    pod = a_pod(a_container(readiness_probe=a_probe(period_seconds=1)))

    found_attempts = attempts(simulate(script, pod, 6), ProbeType.READINESS)

    assert [attempt.error is not None for attempt in found_attempts[:4]] == [
        False,
        True,
        False,
        True,
    ]


def test_every_instance_of_a_container_can_behave_differently() -> None:
    script = """
    containers:
      web/app:
        - {lasts: 3s, exitCode: 4}
        - {lasts: 2s, exitCode: 5}
        - {lasts: never}
    """
    pod = a_pod()

    simulation = simulate(script, pod, 60)

    assert [
        entry.exit_code
        for entry in simulation.journal
        if isinstance(entry, ContainerEntry) and entry.what is LifecycleStep.EXITED
    ] == [4, 5]


@pytest.mark.parametrize(
    ("handler", "output"),
    [
        pytest.param(
            ExecAction(("cat", "x")),
            'command timed out: "cat x" timed out after 1s',
            id="exec",
        ),
        pytest.param(
            HTTPGetAction(80, "/a"),
            'Get "http://10.0.0.1:80/a": context deadline exceeded '
            "(Client.Timeout exceeded while awaiting headers)",
            id="http",
        ),
    ],
)
def test_a_time_out_lasts_as_long_and_has_the_message_of_the_kubelet(
    handler: ExecAction | HTTPGetAction, output: str
) -> None:
    script = "containers: {app: {liveness: timeout}}"
    pod = a_pod(a_container(liveness_probe=a_probe(handler, period_seconds=2)))

    found_attempts = attempts(simulate(script, pod, 6), ProbeType.LIVENESS)

    assert {
        (attempt.result, attempt.output, attempt.duration) for attempt in found_attempts
    } == {(ProbeResult.FAILURE, output, SECOND)}


def test_a_pull_can_be_slow_or_fail() -> None:
    script = """
    images:
      busybox:1.36: {takes: 3s}
      broken:1: {error: no such thing}
    """
    slow = simulate(script, a_pod(), 10)
    broken = simulate(script, a_pod(a_container(image="broken:1")), 10)

    started = [
        entry.at
        for entry in slow.journal
        if isinstance(entry, ContainerEntry) and entry.what is LifecycleStep.STARTED
    ]
    assert started[0] - slow.journal[0].at >= 3 * SECOND
    assert any(
        "no such thing" in entry.event.message
        for entry in broken.journal
        if isinstance(entry, EventEntry)
    )


def test_commands_apply_to_the_objects_with_that_name() -> None:
    scenario = read("""
    do:
      - {at: 9s, command: delete, pod: web}
      - {at: 5s, command: restart, container: web/app}
      - {at: 7s, command: probe, container: app, type: liveness}
      - {at: 8s, command: restart, container: other}
    """)
    web = a_pod(a_container(liveness_probe=a_probe()))
    shop = a_pod(a_container("other"), name="shop")

    assert scenario.commands([web, shop]) == [
        (scenario.start + 5 * SECOND, RestartContainer(web.uid, "app")),
        (
            scenario.start + 7 * SECOND,
            TriggerProbe(a_key(ProbeType.LIVENESS, pod="web")),
        ),
        (scenario.start + 8 * SECOND, RestartContainer(shop.uid, "other")),
        (scenario.start + 9 * SECOND, DeletePod(web.uid)),
    ]


def test_an_empty_script_is_valid() -> None:
    assert read("# nothing\n") == Scenario()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param(
            "containers:\n  app: {livenes: failure}\n",
            "script.yaml:2:9: containers.app.livenes: there is no such field, did you "
            'mean "liveness"? (has: lasts, exitCode, prints, stopsAfter, stopCode, '
            "oomKilled, createError, startError, listens, preStop, postStart, "
            "liveness, readiness, startup)",
            id="unknown field",
        ),
        pytest.param(
            "containers:\n  app:\n    liveness: [success, failed]\n",
            'script.yaml:3:25: containers.app.liveness[1]: "failed" is not one of '
            "success, failure, warning, errored, timeout (nearest: failure)",
            id="unknown result",
        ),
        pytest.param(
            "containers: {app: {lasts: soon}}\n",
            'script.yaml:1:27: containers.app.lasts: "soon" is not a duration; write '
            "90s, 5m, 250ms or a number of seconds",
            id="no duration",
        ),
        pytest.param(
            "containers: {app: {liveness: [{times: 0, result: success}]}}\n",
            "script.yaml:1:39: containers.app.liveness[0].times: must be a number "
            "from 1 to 1000000000",
            id="no count",
        ),
        pytest.param(
            "do: [{at: 1s, command: probe, container: a}]\n",
            "script.yaml:1:6: do[0]: has no type",
            id="missing field",
        ),
        pytest.param(
            "start: noon\n",
            "script.yaml:1:8: start: must be an instant such as 2026-01-01T00:00:00Z",
            id="no instant",
        ),
        pytest.param(
            "containers: {app: {liveness: {repeat: true, results: "
            "[{result: success, until: 1s}]}}}\n",
            "script.yaml:1:54: containers.app.liveness.results: until and repeat "
            "cannot be combined; use times",
            id="until and repeat",
        ),
        pytest.param(
            "containers: {app: {}, app: {}}\n",
            'script.yaml:1:23: containers: duplicate key "app"',
            id="twice",
        ),
        pytest.param(
            "[]\n",
            "script.yaml:1:1: must be a mapping of start, containers, images, "
            "volumes, sandbox, do",
            id="no mapping",
        ),
        pytest.param(
            "a: 1\n---\nb: 1\n",
            "script.yaml:3:1: only one document is allowed",
            id="two documents",
        ),
        pytest.param(
            "containers: {app: [}\n",
            "script.yaml:1:20: did not find expected node content",
            id="no YAML",
        ),
    ],
)
def test_an_error_has_its_position(text: str, problem: str) -> None:
    assert problems(text)[0].splitlines()[0] == problem


def test_all_errors_are_reported_at_once_in_order() -> None:
    found = problems("images: 1\ncontainers: {a: {exitCode: 300, preStop: x}}\ndo: 2\n")

    assert [problem.split(": ")[0] for problem in found] == [
        "script.yaml:1:9",
        "script.yaml:2:28",
        "script.yaml:2:42",
        "script.yaml:3:5",
    ]


def test_a_script_for_a_missing_container_is_an_error() -> None:
    text = (
        "containers:\n  shop/app: {}\n  other: {}\n"
        "do: [{at: 1s, command: delete, pod: shop}]\n"
    )

    with pytest.raises(ManifestError) as caught:
        read_scenario(SourceFile("script.yaml", text), [a_pod()])

    assert list(caught.value.problems) == [
        (
            'script.yaml:2:13: containers.shop/app: there is no container "shop/app" '
            "(has: app, web/app)"
        ),
        (
            'script.yaml:3:10: containers.other: there is no container "other" '
            "(has: app, web/app)"
        ),
        'script.yaml:4:37: do[0].pod: there is no pod "shop" (has: web)',
    ]


def test_the_example_script_is_valid() -> None:
    explanation = inspect.getdoc(scenario_module) or ""
    example = "\n".join(
        line for line in explanation.splitlines() if line.startswith("    ")
    )

    scenario = read(textwrap.dedent(example))

    assert set(scenario.lives) == {"web"}
    assert len(scenario.orders) == 3
    assert scenario.hooks["web"].pre_stop.takes == 3 * SECOND


def test_the_script_of_the_docs_is_valid() -> None:
    page = Path(__file__).parents[3] / "docs" / "reference" / "simulation.md"
    (example,) = [
        block.partition("```")[0]
        for block in page.read_text().split("```yaml\n")[1:]
        if block.startswith("containers:")
    ]

    scenario = read(example)

    assert [instance.exit_code for instance in scenario.lives["app"]] == [0, 1]
    assert set(scenario.images) == {"busybox:1.36"}


def test_an_init_container_that_no_script_mentions_succeeds() -> None:
    pod = a_pod(a_container("app"), init_containers=(a_container("setup"),))

    simulation = simulate("containers: {}", pod, 5)

    started = [
        (entry.container_name, entry.exit_code)
        for entry in simulation.journal
        if isinstance(entry, ContainerEntry)
        and entry.what in {LifecycleStep.STARTED, LifecycleStep.EXITED}
    ]
    assert started == [("setup", None), ("setup", 0), ("app", None)]


def test_an_init_container_does_what_the_script_says() -> None:
    pod = a_pod(a_container("app"), init_containers=(a_container("setup"),))

    simulation = simulate("containers: {setup: {lasts: never}}", pod, 60)

    assert {
        entry.container_name
        for entry in simulation.journal
        if isinstance(entry, ContainerEntry)
    } == {"setup"}


HTTP = a_probe(HTTPGetAction(8080), period_seconds=5)


def entries_of(simulation: Simulation, what: LifecycleStep) -> list[ContainerEntry]:
    return [
        entry
        for entry in simulation.journal
        if isinstance(entry, ContainerEntry) and entry.what is what
    ]


@pytest.mark.parametrize(
    ("listens", "result"),
    [
        ("127.0.0.1:8080", ProbeResult.FAILURE),
        ('["0.0.0.0:9090"]', ProbeResult.FAILURE),
        ("[]", ProbeResult.FAILURE),
        ("0.0.0.0:8080", ProbeResult.SUCCESS),
        ('"[::]:8080"', ProbeResult.SUCCESS),
    ],
)
def test_a_connection_is_refused_where_a_script_says_that_nothing_listens(
    listens: str, result: ProbeResult
) -> None:
    pod = a_pod(a_container(readiness_probe=HTTP))

    simulation = simulate(f"containers: {{app: {{listens: {listens}}}}}", pod, 12)

    *_, last = attempts(simulation, ProbeType.READINESS)
    assert last.result is result
    is_refused = last.refused_at is not None
    assert is_refused == (result is ProbeResult.FAILURE)
    looked = [
        entry for entry in simulation.journal if isinstance(entry, ListenersEntry)
    ]
    assert bool(looked) == is_refused


def test_a_hook_fails_as_a_script_says() -> None:
    pod = a_pod(a_container(post_start=ExecAction(("warm",))))
    script = "containers: {app: {postStart: {takes: 2s, error: exited with 1}}}"

    simulation = simulate(script, pod, 5)

    reasons = [
        entry.event.reason
        for entry in simulation.journal
        if isinstance(entry, EventEntry)
    ]
    assert "FailedPostStartHook" in reasons


def test_a_container_is_out_of_memory_as_a_script_says() -> None:
    script = "containers: {app: {lasts: 3s, exitCode: 137, oomKilled: true}}"

    simulation = simulate(script, a_pod(a_container()), 6)

    assert entries_of(simulation, LifecycleStep.EXITED)[0].oom_killed


def test_a_container_cannot_be_started_as_a_script_says() -> None:
    script = "containers: {app: {startError: 'exec: \"serve\": not found'}}"

    simulation = simulate(script, a_pod(a_container()), 6)

    (ended, *_) = entries_of(simulation, LifecycleStep.EXITED)
    assert (ended.reason, ended.exit_code) == ("StartError", 128)
    assert entries_of(simulation, LifecycleStep.STARTED) == []


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("containers: {app: {createError: no such image}}", "Failed"),
        ("sandbox: {error: no address}", "FailedCreatePodSandBox"),
        ("volumes: {data: {error: not bound}}", "FailedMount"),
    ],
)
def test_nothing_is_created_as_a_script_says(script: str, reason: str) -> None:
    container = a_container(volume_mounts=(VolumeMount("data", "/data"),))
    pod = a_pod(container, volumes=(Volume("data", EmptyDir()),))

    simulation = simulate(script, pod, 6)

    events = [
        entry.event for entry in simulation.journal if isinstance(entry, EventEntry)
    ]
    assert reason in {event.reason for event in events}
    assert entries_of(simulation, LifecycleStep.CREATED) == []


def test_where_a_container_listens_is_an_address_and_a_port() -> None:
    (problem,) = problems("containers: {app: {listens: [localhost]}}")

    assert 'listens[0]: must be ADDRESS:PORT, as "127.0.0.1:8080"' in problem
