"""Findings: probes that are probably not as intended."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from probetui.analysis.findings import FINDING_RULES, findings_for
from probetui.k8s.pod import Container, ContainerPort, EnvVar, Pod, RestartPolicy
from probetui.k8s.probe import (
    ExecAction,
    GRPCAction,
    HTTPGetAction,
    Probe,
    TCPSocketAction,
)
from probetui.k8s.status import ConditionStatus, PodCondition
from probetui.kubelet_rules import rules_of
from tests.builders import a_container, a_pod, an_exec_probe, an_http_probe

PORTS = (ContainerPort(8080, "http"),)
GOOD = a_container(
    "web",
    ports=PORTS,
    startup_probe=an_http_probe(timeout_seconds=2, path="/start", failure_threshold=30),
    liveness_probe=an_http_probe(timeout_seconds=2, path="/live", failure_threshold=5),
    readiness_probe=an_http_probe(timeout_seconds=2, path="/ready"),
)


def found(pod: Pod | Container) -> dict[str, str]:
    pod = a_pod(pod) if isinstance(pod, Container) else pod
    return {finding.rule: finding.path for finding in findings_for(pod)}


def with_liveness(probe: Probe | None = None, **fields: Any) -> Container:
    return a_container(
        ports=PORTS,
        readiness_probe=an_http_probe(timeout_seconds=2, period_seconds=2),
        startup_probe=an_http_probe(timeout_seconds=2, failure_threshold=30),
        liveness_probe=probe or an_exec_probe(timeout_seconds=2, **fields),
    )


def about_handler(handler: Any) -> dict[str, str]:
    return found(with_liveness(Probe(handler, timeout_seconds=2)))


def test_a_good_pod_has_no_findings() -> None:
    assert found(GOOD) == {}


def test_a_container_without_readiness_counts_as_ready() -> None:
    assert found(a_container()) == {"no-readiness-probe": "spec.containers[0]"}


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(
            a_pod(a_container(), restart_policy=RestartPolicy.NEVER), id="a job"
        ),
        pytest.param(
            a_pod(GOOD, init_containers=(a_container("first"),)), id="init container"
        ),
    ],
)
def test_what_gets_no_traffic_needs_no_readiness(pod: Pod) -> None:
    assert found(pod) == {}


def test_a_sidecar_is_checked_like_any_container() -> None:
    sidecar = a_container("log", restart_policy=RestartPolicy.ALWAYS)

    assert found(a_pod(GOOD, init_containers=(sidecar,))) == {
        "no-readiness-probe": "spec.initContainers[0]"
    }


def test_liveness_without_startup_kills_what_is_slow_to_start() -> None:
    container = a_container(
        ports=PORTS,
        liveness_probe=an_exec_probe(
            "true", timeout_seconds=2, initial_delay_seconds=5, period_seconds=5
        ),
        readiness_probe=an_http_probe(timeout_seconds=2, period_seconds=2),
    )

    (finding,) = findings_for(a_pod(container))

    assert finding.rule == "liveness-without-startup"
    assert finding.message == (
        "without a startupProbe it kills an app that is not up within 14s"
    )


def test_the_same_question_for_both_kills_what_is_only_busy() -> None:
    container = a_container(
        ports=PORTS,
        startup_probe=an_http_probe(timeout_seconds=2, failure_threshold=30),
        liveness_probe=an_http_probe(timeout_seconds=2),
        readiness_probe=an_http_probe(timeout_seconds=2),
    )

    assert found(container) == {
        "liveness-same-as-readiness": "spec.containers[0].livenessProbe"
    }


@pytest.mark.parametrize(
    "patience",
    [
        pytest.param({"failure_threshold": 4}, id="higher threshold"),
        pytest.param({"period_seconds": 20}, id="longer period"),
        pytest.param(
            {"period_seconds": 5, "failure_threshold": 12}, id="more, shorter periods"
        ),
    ],
)
def test_the_same_question_with_more_patience_is_what_kubernetes_recommends(
    patience: dict[str, Any],
) -> None:
    container = a_container(
        ports=PORTS,
        startup_probe=an_http_probe(timeout_seconds=2, failure_threshold=30),
        liveness_probe=an_http_probe(timeout_seconds=2, **patience),
        readiness_probe=an_http_probe(timeout_seconds=2),
    )

    assert found(container) == {}


def test_liveness_should_not_be_faster_than_readiness() -> None:
    container = with_liveness(period_seconds=2, failure_threshold=1)

    assert found(container) == {
        "liveness-faster-than-readiness": "spec.containers[0].livenessProbe"
    }


@pytest.mark.parametrize(
    ("timeout", "period", "messages"),
    [
        pytest.param(1, 10, {"timeout-at-default": "is 1, the default"}, id="default"),
        pytest.param(
            20,
            10,
            {
                "timeout-exceeds-period": (
                    "is 20, more than the period of 10s: a slow probe drops ticks"
                )
            },
            id="more than the period",
        ),
        pytest.param(10, 10, {}, id="as much as the period"),
    ],
)
def test_time_limits_are_checked(
    timeout: int, period: int, messages: dict[str, str]
) -> None:
    probe = an_exec_probe("true", timeout_seconds=timeout, period_seconds=period)

    findings = list(findings_for(a_pod(with_liveness(probe))))

    path = "spec.containers[0].livenessProbe.timeoutSeconds"
    assert {finding.rule: finding.message for finding in findings} == messages
    assert {finding.path for finding in findings} <= {path}


def test_a_socket_needs_no_more_than_a_second() -> None:
    probe = Probe(TCPSocketAction("http"))

    assert found(with_liveness(probe)) == {}


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(("cat /tmp/healthy",), id="one word"),
        pytest.param(("pg_isready", "|", "grep", "ok"), id="pipe"),
        pytest.param(("test", "-f", "a", "&&", "true"), id="and"),
        pytest.param(("$HOME/check",), id="variable of a shell"),
    ],
)
def test_a_command_for_a_shell_needs_one(command: tuple[str, ...]) -> None:
    assert about_handler(ExecAction(command)) == {
        "exec-needs-shell": "spec.containers[0].livenessProbe.exec.command"
    }


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(("sh", "-c", "a | b"), id="shell"),
        pytest.param(("/bin/busybox", "sh", "-c", "a && b"), id="shell of busybox"),
        pytest.param(("redis-cli", "a;b", "*"), id="words without meaning"),
        pytest.param((), id="nothing"),
    ],
)
def test_other_commands_do_not(command: tuple[str, ...]) -> None:
    assert about_handler(ExecAction(command)) == {}


VARIABLES = (
    EnvVar("HOST", "db"),
    EnvVar("check", "a"),
    EnvVar("POD_IP", has_value_from=True),
)


def about_command(*command: str) -> dict[str, str]:
    """Return the messages about a probe's command, by rule."""
    container = replace(
        with_liveness(Probe(ExecAction(command), timeout_seconds=2)), env=VARIABLES
    )
    findings = findings_for(a_pod(container))
    return {finding.rule: finding.message for finding in findings}


@pytest.mark.parametrize(
    ("command", "message"),
    [
        pytest.param(
            ("ping", "-c", "1", "$(POD_IP)"),
            '"$(POD_IP)" becomes nothing: the kubelet expands plain values only, and '
            'POD_IP is taken from elsewhere (valueFrom); in a shell it is "$POD_IP"',
            id="of a field",
        ),
        pytest.param(
            ("sh", "-c", "ping -c 1 $(POD_IP)"),
            '"$(POD_IP)" becomes nothing: the kubelet expands plain values only, and '
            'POD_IP is taken from elsewhere (valueFrom); in a shell it is "$POD_IP"',
            id="of a field, in a shell",
        ),
        pytest.param(
            ("nc", "-z", "$(hosts)", "80"),
            '"$(hosts)" stays as it is: the container has no such variable; in a shell '
            'it is "$hosts"',
            id="unknown",
        ),
        pytest.param(
            ("sh", "-c", "nc -z $(DB_HOST) 80"),
            '"$(DB_HOST)" stays as it is: the container has no such variable; in a '
            'shell it is "$DB_HOST"',
            id="unknown, in a shell",
        ),
        pytest.param(
            ("nc", "-z", "${HOST}", "80"),
            '"${HOST}" needs a shell, and none is run; the kubelet expands $(HOST) '
            "only",
            id="of a shell, without one",
        ),
        pytest.param(
            ("nc", "-z", "tcp://$HOST", "80"),
            '"$HOST" needs a shell, and none is run; the kubelet expands $(HOST) only',
            id="of a shell, within a word",
        ),
    ],
)
def test_a_variable_that_nobody_expands_is_found(
    command: tuple[str, ...], message: str
) -> None:
    assert about_command(*command) == {"variable-not-expanded": message}


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(("nc", "-z", "$(HOST)", "80"), id="plain value"),
        pytest.param(("$(check)",), id="plain value, of the program"),
        pytest.param(("echo", "$$(POD_IP)"), id="escaped"),
        pytest.param(("sh", "-c", 'ping -c 1 "$POD_IP"'), id="shell's"),
        pytest.param(("sh", "-c", "test $(hostname) = a"), id="command of a shell"),
        pytest.param(("sh", "-c", "test $(cat a) = a"), id="command with a file"),
        pytest.param(("awk", "END {exit $NF}", "a"), id="variable of awk"),
        pytest.param(("grep", "a$", "b"), id="end of a line"),
        pytest.param(("test", "$5", "=", "$5"), id="a price"),
    ],
)
def test_a_variable_that_somebody_expands_is_not(command: tuple[str, ...]) -> None:
    assert about_command(*command) == {}


@pytest.mark.parametrize(
    ("script", "name"),
    [
        pytest.param('ping -c 1 "$DB_HOST"', "DB_HOST", id="unset"),
        pytest.param("ping -c 1 ${DB_HOST}", "DB_HOST", id="in braces"),
        pytest.param('A=1; test $A = "$MISSING"', "MISSING", id="beside one that is"),
        pytest.param("A=1; B=2; test $A$B", None, id="set one after the other"),
        pytest.param("A=1; test $A'b' = ab", None, id="before a quoted word"),
        pytest.param("A=1; test $A${B:-c} = ab", None, id="before a default"),
        pytest.param('ping "$POD_IP"', None, id="of the container"),
        pytest.param('ping "${DB_HOST:-db}"', None, id="default"),
        pytest.param("DB_HOST=$(cat a); ping $DB_HOST", None, id="set by the script"),
        pytest.param("for HOST_NAME in a b; do ping $HOST_NAME; done", None, id="loop"),
        pytest.param("read -r LINE < a; test $LINE", None, id="read"),
        pytest.param(". /etc/profile; test $JAVA_HOME", None, id="another script"),
        pytest.param("awk '{print $NF}' a", None, id="single quotes"),
        pytest.param('awk "{print \\$NF}" a', None, id="escaped"),
        pytest.param('test "$HOSTNAME" = "$HOME"', None, id="of shells"),
        pytest.param("nc -z $KUBERNETES_SERVICE_HOST 443", None, id="of Kubernetes"),
        pytest.param("nc -z $DB_SERVICE_HOST $DB_SERVICE_PORT", None, id="of Services"),
    ],
)
def test_a_variable_that_nothing_sets_is_noted(script: str, name: str | None) -> None:
    found = about_command("sh", "-c", script)

    assert list(found) == ([] if name is None else ["variable-unset"])
    assert name is None or found["variable-unset"].startswith(f'"${name}" is empty')


@pytest.mark.parametrize("word", ["$(HOST)", "$(POD_IP)", "$(OTHER)"])
@pytest.mark.parametrize("name", ["post_start", "pre_stop"])
def test_the_kubelet_expands_nothing_in_a_hook(name: str, word: str) -> None:
    hook = ExecAction(("wget", f"http://{word}/quit"))
    container = replace(with_liveness(), env=VARIABLES, **{name: hook})

    (finding,) = findings_for(a_pod(container))

    assert finding.rule == "variable-not-expanded"
    assert finding.path.startswith("spec.containers[0].lifecycle.p")
    assert f'the kubelet expands nothing in a hook: "{word}" stays' in finding.message


@pytest.mark.parametrize(
    ("script", "program"),
    [
        pytest.param("exec pg_isready -U a && [ -f /tmp/b ]", "pg_isready", id="and"),
        pytest.param("exec a; b", "a", id="semicolon"),
        pytest.param("set -e\nexec a \\\n -x\nb", "a", id="lines"),
        pytest.param("exec 'a b' || c", "a b", id="or"),
        pytest.param("exec X; b", "X", id="a letter"),
        pytest.param("exec 3 X; b", "3", id="a number"),
        pytest.param("exec a; X", "a", id="before a letter"),
        pytest.param("exec a", None, id="at the end"),
        pytest.param("a && exec b\n", None, id="last of two"),
        pytest.param("exec a;\n", None, id="empty line after it"),
        pytest.param("exec a -x;\n", None, id="empty line after its arguments"),
        pytest.param("test -f x && exec a; b", None, id="on a condition"),
        pytest.param("if a; then exec b; fi; c", None, id="in a branch"),
        pytest.param("exec 3<>/dev/tcp/127.0.0.1/80 && echo", None, id="redirection"),
        pytest.param("exec >/dev/null; a", None, id="redirection of output"),
        pytest.param("exec a | grep b; c", None, id="pipeline"),
        pytest.param("(exec a); b", None, id="shell of its own"),
        pytest.param("docker exec a && b", None, id="argument"),
        pytest.param("echo 'exec a; b'", None, id="quoted"),
        pytest.param("exec a 'b; c", None, id="quote without end"),
    ],
)
def test_exec_ends_the_script_of_a_shell(script: str, program: str | None) -> None:
    found = about_command("/bin/sh", "-ec", script)

    expected = {} if program is None else {"exec-ends-script": program}
    assert found.keys() == expected.keys()
    assert all(f'"{program}"' in message for message in found.values())


@pytest.mark.parametrize(
    ("port", "scheme", "is_found"),
    [
        pytest.param(443, "HTTP", True, id="http at 443"),
        pytest.param(8443, "HTTP", True, id="http at 8443"),
        pytest.param("https", "HTTP", True, id="http at https"),
        pytest.param("secure", "HTTP", True, id="http at the name of 8443"),
        pytest.param("http", "HTTPS", True, id="https at http"),
        pytest.param(80, "HTTPS", True, id="https at 80"),
        pytest.param("https", "HTTPS", False, id="https at https"),
        pytest.param("http", "HTTP", False, id="http at http"),
        pytest.param(9090, "HTTPS", False, id="a port that says nothing"),
    ],
)
def test_a_scheme_is_held_against_its_port(
    port: int | str, scheme: str, *, is_found: bool
) -> None:
    ports = (
        ContainerPort(8080, "http"),
        ContainerPort(9443, "https"),
        ContainerPort(8443, "secure"),
        *map(ContainerPort, (80, 443, 9090)),
    )
    probe = Probe(HTTPGetAction(port, scheme=scheme), timeout_seconds=2)
    container = replace(with_liveness(probe), ports=ports)

    rules = {finding.rule for finding in findings_for(a_pod(container))}

    assert rules == ({"scheme-against-port"} if is_found else set())


@pytest.mark.parametrize("handler", [HTTPGetAction, TCPSocketAction])
@pytest.mark.parametrize("port", [53, "dns"])
def test_a_probe_connects_by_tcp_only(handler: Any, port: int | str) -> None:
    probe = Probe(handler(port), timeout_seconds=2)
    udp = ContainerPort(53, "dns", protocol="UDP")

    def rules(*ports: ContainerPort) -> set[str]:
        pod = a_pod(replace(with_liveness(probe), ports=(*PORTS, *ports)))
        return {finding.rule for finding in findings_for(pod)}

    assert rules(udp) == {"port-not-tcp"}
    assert rules(udp, ContainerPort(53, "dns-tcp")) == (
        set() if port == 53 else {"port-not-tcp"}
    )


def test_busybox_alone_is_no_shell() -> None:
    assert about_handler(ExecAction(("busybox",))) == {}


@pytest.mark.parametrize(
    ("handler", "rules"),
    [
        pytest.param(HTTPGetAction(9), {"port-not-declared"}, id="http port"),
        pytest.param(TCPSocketAction(9), {"port-not-declared"}, id="tcp port"),
        pytest.param(HTTPGetAction("web"), set(), id="name of no port"),
        pytest.param(HTTPGetAction(8080, host="::1"), {"host-set"}, id="http host"),
        pytest.param(TCPSocketAction(8080, "db"), {"host-set"}, id="tcp host"),
        pytest.param(GRPCAction(8080), set(), id="grpc"),
        pytest.param(
            GRPCAction(443), {"port-not-declared", "grpc-tls"}, id="grpc port of TLS"
        ),
        pytest.param(None, set(), id="no handler"),
    ],
)
def test_handlers_are_checked(handler: Any, rules: set[str]) -> None:
    assert about_handler(handler).keys() == rules


def test_a_port_that_is_called_so_is_one_of_tls() -> None:
    container = a_container(
        ports=(ContainerPort(9000, "grpc-tls"),),
        readiness_probe=Probe(GRPCAction(9000), timeout_seconds=2),
    )

    assert found(container) == {
        "grpc-tls": "spec.containers[0].readinessProbe.grpc.port"
    }


@pytest.mark.parametrize(
    ("of_pod", "of_probe", "is_found"),
    [
        pytest.param(30, None, False, id="default"),
        pytest.param(300, None, True, id="long"),
        pytest.param(300, 300, False, id="chosen for the probe"),
    ],
)
def test_a_long_grace_period_keeps_what_hangs(
    of_pod: int, of_probe: int | None, *, is_found: bool
) -> None:
    container = with_liveness(termination_grace_period_seconds=of_probe)
    pod = a_pod(container, termination_grace_period_seconds=of_pod)

    assert ("liveness-grace-long" in found(pod)) is is_found


def test_every_kind_of_finding_has_a_description() -> None:
    assert all(rule.about.endswith(".") for rule in FINDING_RULES.values())


def with_window(**fields: Any) -> Container:
    """A container with a startup probe each 10 s and a quick liveness probe."""
    return a_container(
        **{
            "startup_probe": an_exec_probe("up", timeout_seconds=2, period_seconds=10),
            "liveness_probe": an_exec_probe(
                "live", timeout_seconds=2, period_seconds=1, failure_threshold=3
            ),
            **fields,
        },
    )


def found_by(version: str, pod: Pod) -> list[str]:
    findings = findings_for(pod, rules_of(version))
    return [one.message for one in findings if one.rule == "startup-window"]


@pytest.mark.parametrize(
    ("version", "count"), [("1.32", 0), ("1.34", 0), ("1.35", 1), ("1.36", 1)]
)
def test_a_window_without_startup_is_found_where_the_version_has_it(
    version: str, count: int
) -> None:
    messages = found_by(version, a_pod(with_window()))

    assert len(messages) == count
    assert all("up to 10s" in text and "from 2s on" in text for text in messages)


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(
            a_pod(with_window(liveness_probe=an_exec_probe("live"))),
            id="liveness that takes longer",
        ),
        pytest.param(a_pod(with_window(startup_probe=None)), id="no startup probe"),
        pytest.param(
            a_pod(with_window(), restart_policy=RestartPolicy.NEVER), id="no restart"
        ),
    ],
)
def test_no_window_is_found_that_harms_nobody(pod: Pod) -> None:
    assert found_by("1.36", pod) == []


@pytest.mark.parametrize(
    ("delay", "failures", "said"),
    [
        pytest.param(0, 1, "from 0s on (k/k#141155); a period of 1s or less", id="0"),
        pytest.param(0, 2, "from 1s on (k/k#141155); a period of 1s or less", id="1"),
        pytest.param(0, 3, "from 2s on (k/k#141155); a period of 2s or less", id="2"),
        pytest.param(7, 3, "from 9s on (k/k#141155); a period of 9s or less", id="9"),
        pytest.param(8, 3, None, id="as-late-as-the-next-tick"),
    ],
)
def test_a_window_is_as_long_as_startup_has_its_next_tick_after_the_kill(
    delay: int, failures: int, said: str | None
) -> None:
    liveness = an_exec_probe(
        "live",
        timeout_seconds=2,
        period_seconds=1,
        initial_delay_seconds=delay,
        failure_threshold=failures,
    )

    messages = found_by("1.36", a_pod(with_window(liveness_probe=liveness)))

    assert len(messages) == (said is not None)
    assert (said or "") in "".join(messages)


@pytest.mark.parametrize(("least", "is_found"), [(59, True), (60, False), (61, False)])
def test_a_budget_of_a_minute_is_long_enough(least: int, *, is_found: bool) -> None:
    startup = an_exec_probe(
        "up", timeout_seconds=2, period_seconds=least, failure_threshold=2
    )

    found = rules_found("1.36", a_pod(replace(GOOD, startup_probe=startup)))

    assert ("startup-budget" in found) is is_found


def test_a_gate_does_away_with_the_window() -> None:
    rules = rules_of("1.36", ("ChangeContainerStatusOnKubeletRestart=true",))

    assert not rules.inherits_started
    assert "startup-window" not in [
        one.rule for one in findings_for(a_pod(with_window()), rules)
    ]


def rules_found(version: str, pod: Pod) -> dict[str, str]:
    found = findings_for(pod, rules_of(version))
    return {finding.rule: finding.path for finding in found}


def test_a_short_startup_budget_is_reported_in_seconds() -> None:
    startup = an_http_probe(timeout_seconds=2, failure_threshold=3, path="/start")
    pod = a_pod(replace(GOOD, startup_probe=startup))

    (finding,) = findings_for(pod)

    assert finding.rule == "startup-budget"
    assert finding.path == "spec.containers[0].startupProbe.failureThreshold"
    assert finding.message.startswith("an app that is not up within 20s to 32s is")


@pytest.mark.parametrize(
    ("version", "paths"),
    [
        ("1.33", []),
        (
            "1.34",
            [
                "spec.containers[0].startupProbe.httpGet.host",
                "spec.containers[0].lifecycle.preStop.tcpSocket.host",
            ],
        ),
    ],
)
def test_a_host_is_refused_by_pod_security_since_1_34(
    version: str, paths: list[str]
) -> None:
    probe = Probe(HTTPGetAction(port=8080, host="example.com"), timeout_seconds=2)
    hook = TCPSocketAction(port=8080, host="example.com")
    pod = a_pod(replace(GOOD, startup_probe=probe, pre_stop=hook))

    found = findings_for(pod, rules_of(version))

    refused = [one.path for one in found if one.rule == "host-refused"]
    assert refused == paths


def test_a_readiness_gate_that_nothing_sets_keeps_the_pod_unready() -> None:
    pod = replace(a_pod(GOOD), readiness_gates=("example.com/open",))

    assert found(pod) == {
        "readiness-gate-unset": "spec.readinessGates[0].conditionType"
    }
    set_by_hand = PodCondition("example.com/open", ConditionStatus.TRUE)
    assert list(findings_for(pod, conditions=[set_by_hand])) == []


@pytest.mark.parametrize(
    ("version", "policy", "is_found"),
    [
        pytest.param("1.33.5", RestartPolicy.NEVER, True, id="before"),
        pytest.param("1.33.6", RestartPolicy.NEVER, False, id="mended"),
        pytest.param("1.34.1", RestartPolicy.NEVER, True, id="before, later"),
        pytest.param("1.32", RestartPolicy.ALWAYS, False, id="always"),
    ],
)
def test_a_sidecar_in_a_pod_that_never_restarts_is_not_probed_twice(
    version: str, policy: RestartPolicy, *, is_found: bool
) -> None:
    sidecar = replace(GOOD, name="proxy", restart_policy=RestartPolicy.ALWAYS)
    pod = replace(a_pod(GOOD), init_containers=(sidecar,), restart_policy=policy)

    assert ("sidecar-probes-end" in rules_found(version, pod)) is is_found


def test_the_releases_of_a_finding_are_those_of_its_rule() -> None:
    sidecar = replace(GOOD, name="proxy", restart_policy=RestartPolicy.ALWAYS)
    pod = replace(
        a_pod(GOOD), init_containers=(sidecar,), restart_policy=RestartPolicy.NEVER
    )
    rule = FINDING_RULES["sidecar-probes-end"]

    (finding, *_) = (
        finding
        for finding in findings_for(pod, rules=rules_of("1.33.5"))
        if finding.rule == "sidecar-probes-end"
    )

    assert "(mended in 1.33.6 and 1.34.2, k/k#132826)" in finding.message
    assert rule.about.endswith("(mended in 1.33.6 and 1.34.2).")


@pytest.mark.parametrize(("version", "most"), [("1.20", "100s"), ("1.21", "10s")])
def test_a_short_startup_budget_has_the_resync_of_versions_that_wait_for_it(
    version: str, most: str
) -> None:
    probe = an_exec_probe("true", period_seconds=3, failure_threshold=3)
    pod = a_pod(a_container(startup_probe=probe))

    messages = [
        finding.message
        for finding in findings_for(pod, rules_of(version))
        if finding.rule == "startup-budget"
    ]

    assert len(messages) == 1
    assert f" to {most} is killed" in messages[0]


def worded(pod: Pod, version: str = "1.36") -> list[tuple[str, str]]:
    """Return the field of each finding, below the first container, and what is said."""
    return [
        (finding.path.removeprefix("spec.containers[0]."), finding.message)
        for finding in findings_for(pod, rules_of(version))
    ]


def test_a_pod_with_much_to_find_is_told_all_of_it_in_order() -> None:
    container = a_container(
        "web",
        ports=(
            ContainerPort(8080, "http"),
            ContainerPort(53, "dns", protocol="UDP"),
            ContainerPort(443, "https"),
        ),
        startup_probe=Probe(
            TCPSocketAction("dns", "db"),
            period_seconds=7,
            failure_threshold=3,
            timeout_seconds=9,
        ),
        liveness_probe=Probe(
            HTTPGetAction(443, host="example.com"),
            period_seconds=2,
            failure_threshold=2,
            timeout_seconds=2,
        ),
        readiness_probe=Probe(GRPCAction(443)),
        pre_stop=TCPSocketAction(80, "db"),
        post_start=ExecAction(("echo", "$A", "|", "b")),
    )
    pod = a_pod(
        container,
        termination_grace_period_seconds=90,
        readiness_gates=("example.com/a", "example.com/open"),
    )

    assert worded(pod) == [
        (
            "spec.readinessGates[0].conditionType",
            (
                'nothing sets the condition "example.com/a" here, so that the pod '
                "never becomes Ready; write it into the manifest's "
                "status.conditions"
            ),
        ),
        (
            "spec.readinessGates[1].conditionType",
            (
                'nothing sets the condition "example.com/open" here, so that the '
                "pod never becomes Ready; write it into the manifest's "
                "status.conditions"
            ),
        ),
        (
            "startupProbe.tcpSocket.host",
            (
                'is "db": a namespace with Pod Security\'s baseline or restricted '
                "level refuses the pod since 1.34 (KEP-4940)"
            ),
        ),
        (
            "livenessProbe.httpGet.host",
            (
                'is "example.com": a namespace with Pod Security\'s baseline or '
                "restricted level refuses the pod since 1.34 (KEP-4940)"
            ),
        ),
        (
            "lifecycle.preStop.tcpSocket.host",
            (
                'is "db": a namespace with Pod Security\'s baseline or restricted '
                "level refuses the pod since 1.34 (KEP-4940)"
            ),
        ),
        (
            "lifecycle.postStart.exec.command",
            '"|" only works in a shell: ["sh", "-c", …]',
        ),
        (
            "lifecycle.postStart.exec.command",
            '"$A" needs a shell, and none is run; the kubelet expands $(A) only',
        ),
        (
            "livenessProbe",
            (
                "an app that hangs gets 90s to stop; terminationGracePeriodSeconds "
                "of the probe shortens that"
            ),
        ),
        (
            "livenessProbe",
            "kills within 6s, readiness takes up to 31s to notice",
        ),
        (
            "startupProbe.failureThreshold",
            (
                "an app that is not up within 14s to 34s is killed: 3 failures, one"
                " each 7s"
            ),
        ),
        (
            "startupProbe.timeoutSeconds",
            "is 9, more than the period of 7s: a slow probe drops ticks",
        ),
        (
            "startupProbe.tcpSocket.host",
            (
                'is "db", as seen from the node, not from the container; without it'
                " the probe goes to the pod"
            ),
        ),
        (
            "startupProbe.tcpSocket.port",
            (
                "is dns, which is declared as UDP: a probe connects by TCP, and "
                "nothing answers there"
            ),
        ),
        (
            "livenessProbe.httpGet.host",
            (
                'is "example.com", as seen from the node, not from the container; '
                "without it the probe goes to the pod"
            ),
        ),
        (
            "readinessProbe.timeoutSeconds",
            "is 1, the default",
        ),
        (
            "readinessProbe.grpc.port",
            "is 443, but this gRPC probe does not use TLS",
        ),
        (
            "startupProbe.periodSeconds",
            (
                "a container that is restarted at once counts as started for up to "
                "7s, until the next tick of this probe: liveness can kill it from "
                "2s on (k/k#141155); a period of 2s or less, or a longer "
                "livenessProbe, avoids that"
            ),
        ),
    ]


def test_what_one_probe_for_both_does_is_said() -> None:
    probe = an_http_probe(9443, timeout_seconds=3, period_seconds=4)
    container = a_container(liveness_probe=probe, readiness_probe=probe)

    assert worded(a_pod(container)) == [
        (
            "livenessProbe",
            "without a startupProbe it kills an app that is not up within 8s",
        ),
        (
            "livenessProbe",
            (
                "same check as the readinessProbe, and no later: a container that "
                "is not ready is killed"
            ),
        ),
        (
            "livenessProbe.httpGet.port",
            "is 9443, which is not among the container's ports",
        ),
        (
            "readinessProbe.httpGet.port",
            "is 9443, which is not among the container's ports",
        ),
    ]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        pytest.param(
            ("cat /tmp/healthy",),
            '"cat /tmp/healthy" is one word: a program with this name',
            id="one word",
        ),
        pytest.param(
            ("pg_isready", "|", "grep"),
            '"|" only works in a shell: ["sh", "-c", …]',
            id="operator",
        ),
        pytest.param(
            ("$HOME/check",),
            '"$HOME/check" needs a shell, but no shell is run',
            id="program",
        ),
        pytest.param(
            ("sh", "-c", "exec a; b"),
            'exec replaces the shell by "a": what comes after it in the script is '
            "never run",
            id="exec",
        ),
        pytest.param(
            ("sh", "-c", 'ping "$DB_HOST"'),
            '"$DB_HOST" is empty in this script unless the image sets it: neither the '
            "container nor the script does",
            id="unset",
        ),
    ],
)
def test_what_is_wrong_with_a_command_is_said(
    command: tuple[str, ...], message: str
) -> None:
    assert [*about_command(*command).values()] == [message]


@pytest.mark.parametrize(
    ("port", "scheme", "message"),
    [
        (80, "HTTPS", "is HTTPS, at the port 80 that is meant for plain HTTP"),
        (
            443,
            "HTTP",
            "is HTTP, at the port 443 that is meant for TLS; HTTPS asks by TLS",
        ),
    ],
)
def test_what_is_wrong_with_a_scheme_is_said(
    port: int, scheme: str, message: str
) -> None:
    probe = Probe(HTTPGetAction(port, scheme=scheme), timeout_seconds=2)
    container = replace(with_liveness(probe), ports=(*PORTS, ContainerPort(port)))

    assert worded(a_pod(container)) == [("livenessProbe.httpGet.scheme", message)]


def test_a_scheme_is_not_held_against_the_port_of_another_host() -> None:
    probe = Probe(HTTPGetAction(443, host="db"), timeout_seconds=2)
    container = replace(with_liveness(probe), ports=(*PORTS, ContainerPort(443)))

    assert list(found(container)) == ["host-set"]


def test_what_the_end_of_a_sidecars_probe_means_is_said() -> None:
    sidecar = replace(GOOD, name="proxy", restart_policy=RestartPolicy.ALWAYS)
    pod = replace(
        a_pod(GOOD), init_containers=(sidecar,), restart_policy=RestartPolicy.NEVER
    )

    assert worded(pod, "1.33.5") == [
        (
            "spec.initContainers[0].startupProbe",
            (
                "the sidecar is restarted, but this probe ends with its first exit,"
                " as the pod's restartPolicy is Never: the pod then never gets past"
                " its init containers (mended in 1.33.6 and 1.34.2, k/k#132826)"
            ),
        ),
        (
            "spec.initContainers[0].livenessProbe",
            (
                "the sidecar is restarted, but this probe ends with its first exit,"
                " as the pod's restartPolicy is Never: nothing is probed after that"
                " (mended in 1.33.6 and 1.34.2, k/k#132826)"
            ),
        ),
        (
            "spec.initContainers[0].readinessProbe",
            (
                "the sidecar is restarted, but this probe ends with its first exit,"
                " as the pod's restartPolicy is Never: nothing is probed after that"
                " (mended in 1.33.6 and 1.34.2, k/k#132826)"
            ),
        ),
    ]


def test_a_port_of_two_protocols_is_told_with_both() -> None:
    probe = Probe(TCPSocketAction("dns"), timeout_seconds=2)
    ports = (
        ContainerPort(53, "dns", protocol="UDP"),
        ContainerPort(53, "dns", protocol="SCTP"),
    )

    assert worded(a_pod(replace(with_liveness(probe), ports=(*PORTS, *ports)))) == [
        (
            "livenessProbe.tcpSocket.port",
            (
                "is dns, which is declared as SCTP, UDP: a probe connects by TCP, and "
                "nothing answers there"
            ),
        )
    ]
