"""Why probes fail: the kind that is found, and the clause that is said of it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from probetui.analysis.causes.kinds import CauseKind
from probetui.analysis.causes.probe_failure import (
    FailedProbe,
    ProbeFailure,
    probe_failure,
)
from probetui.k8s.pod import Container, ContainerPort, EnvVar
from probetui.k8s.probe import (
    ExecAction,
    GRPCAction,
    HTTPGetAction,
    ProbeHandler,
    TCPSocketAction,
)
from probetui.k8s.runtime import ContainerID, Listeners, ListenerScope, SocketAddress
from probetui.kubelet.journal import ListenersEntry
from probetui.kubelet.outcome import (
    FORWARDED,
    Attempt,
    HTTPAnswer,
    PeerBehavior,
    ProbeResult,
    Redirect,
)
from probetui.presentation.cause.probe_failure import failure_clause
from tests.builders import START, a_container, a_key, a_probe
from tests.presentation.looking import VIEW

K = CauseKind
FAILURE = ProbeResult.FAILURE
HTTP, HTTPS = HTTPGetAction(8080), HTTPGetAction(8080, scheme="HTTPS")
TCP, GRPC = TCPSocketAction(8080), GRPCAction(8080)
THERE = SocketAddress("10.1.2.3", 8080)
GET = 'Get "http://10.1.2.3:8080/": '
REFUSED = f"{GET}dial tcp 10.1.2.3:8080: connect: connection refused"
NOT_CONNECTED = (
    'timeout: failed to connect service "10.1.2.3:8080" within 1s: context deadline '
    "exceeded"
)
LATE = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
KILLED = 'command timed out: "sh" timed out after 2s'


def a_failure(
    attempt: Attempt,
    handler: ProbeHandler | None,
    *listeners: str,
    container: Container | None = None,
    extent: ListenerScope = ListenerScope.CONTAINER,
    timeout_seconds: int = 2,
    is_looked: bool = False,
) -> ProbeFailure | None:
    """Return why a readiness probe failed, given where the container listens."""
    entry = None
    if is_looked or listeners:
        endpoints = tuple(
            SocketAddress(address, int(port))
            for address, _, port in (text.rpartition(":") for text in listeners)
        )
        entry = ListenersEntry(
            1,
            START,
            a_key(),
            ContainerID("fake://1"),
            attempt.refused_at or THERE,
            Listeners(endpoints, extent),
        )
    probe = None
    if handler is not None:
        probe = a_probe(handler, timeout_seconds=timeout_seconds)
    return probe_failure(FailedProbe(attempt, probe, container or a_container(), entry))


def an_exec(script: str) -> ExecAction:
    return ExecAction(("sh", "-c", script))


def said(failure: ProbeFailure | None) -> tuple[CauseKind, str]:
    assert failure is not None
    return failure.kind, failure_clause(failure, VIEW)


def refused(**fields: object) -> Attempt:
    return Attempt(FAILURE, REFUSED, refused_at=THERE, **fields)  # type: ignore[arg-type]


def answered(status: int, body: str = "", *redirects: str) -> Attempt:
    output = f"HTTP probe failed with statuscode: {status}"
    answer = HTTPAnswer(status, body=body, redirects=redirects)
    return Attempt(FAILURE, output, http=answer)


def test_a_success_has_no_cause() -> None:
    assert a_failure(Attempt(ProbeResult.SUCCESS), HTTP) is None


class TestConnections:
    @pytest.mark.parametrize("handler", [HTTP, TCP, GRPC])
    def test_an_app_on_loopback_only(self, handler: ProbeHandler) -> None:
        kind, clause = said(a_failure(refused(), handler, "127.0.0.1:8080"))

        assert kind is K.LISTENS_ON_LOOPBACK
        assert clause == (
            "the container listens on 127.0.0.1:8080 only; the probe connects to "
            "10.1.2.3, so it is refused"
        )

    @pytest.mark.parametrize(
        ("listeners", "extent", "kind", "words"),
        [
            pytest.param(
                ("0.0.0.0:9090",),
                ListenerScope.CONTAINER,
                K.LISTENS_ELSEWHERE,
                "nothing listens on 8080; the container listens on 0.0.0.0:9090",
                id="another port",
            ),
            pytest.param(
                ("10.9.9.9:8080",),
                ListenerScope.CONTAINER,
                K.LISTENS_ELSEWHERE,
                "listens on 10.9.9.9:8080 only",
                id="another address",
            ),
            pytest.param(
                ("0.0.0.0:15090",),
                ListenerScope.POD,
                K.NOTHING_LISTENS,
                "nothing listens on 8080; the pod listens on 0.0.0.0:15090",
                id="a port of the pod",
            ),
            pytest.param(
                ("0.0.0.0:8080",),
                ListenerScope.CONTAINER,
                K.CONNECTION_REFUSED,
                "it started since",
                id="listens now",
            ),
        ],
    )
    def test_where_it_listens_instead(
        self,
        listeners: tuple[str, ...],
        extent: ListenerScope,
        kind: CauseKind,
        words: str,
    ) -> None:
        failure = a_failure(refused(), HTTP, *listeners, extent=extent)

        assert said(failure)[0] is kind
        assert words in said(failure)[1]

    def test_no_port_at_all(self) -> None:
        kind, clause = said(a_failure(refused(), HTTP, is_looked=True))

        assert kind is K.NOTHING_LISTENS
        assert clause.endswith("the container listens on no port at all")

    def test_nobody_looked(self) -> None:
        container = a_container(ports=(ContainerPort(9090),))

        kind, clause = said(a_failure(refused(), HTTP, container=container))

        assert kind is K.CONNECTION_REFUSED
        assert "or only on 127.0.0.1" in clause
        assert clause.endswith("; the container declares 9090")

    def test_a_forwarded_port(self) -> None:
        kind, clause = said(a_failure(refused(detail=FORWARDED), HTTP))

        assert kind is K.NOTHING_LISTENS
        assert clause == "nothing listens on that port at 127.0.0.1"

    @pytest.mark.parametrize("port", [8125, "statsd"])
    def test_a_udp_port(self, port: int | str) -> None:
        container = a_container(ports=(ContainerPort(8125, "statsd", "UDP"),))
        handler = TCPSocketAction(port)

        kind, clause = said(
            a_failure(refused(), handler, "0.0.0.0:80", container=container)
        )

        assert kind is K.PORT_IS_UDP
        assert clause.startswith(
            f"the port {port} is declared as UDP, and a probe connects by TCP; nothing "
            "listens on"
        )

    def test_a_name_that_nobody_knows(self) -> None:
        output = (
            'Get "http://db.example:80/": dial tcp: lookup db.example: no such host'
        )
        handler = HTTPGetAction(80, host="db.example")

        kind, clause = said(a_failure(Attempt(FAILURE, output), handler))

        assert kind is K.HOST_NOT_RESOLVED
        assert clause == (
            "the name db.example could not be resolved; it is looked up on the node, "
            "not in the pod"
        )

    def test_an_address_without_a_route(self) -> None:
        output = f"{GET}dial tcp 10.1.2.3:8080: connect: no route to host"

        assert said(a_failure(Attempt(FAILURE, output), HTTP))[0] is K.HOST_UNREACHABLE

    def test_a_server_that_hangs_up(self) -> None:
        kind, clause = said(a_failure(Attempt(FAILURE, f"{GET}EOF"), HTTP))

        assert kind is K.CONNECTION_RESET
        assert "closed it without an answer" in clause

    def test_a_grpc_server_that_hangs_up(self) -> None:
        attempt = Attempt(FAILURE, NOT_CONNECTED, peer=PeerBehavior.CLOSES)

        assert said(a_failure(attempt, GRPC))[0] is K.CONNECTION_RESET

    def test_no_answer_in_time(self) -> None:
        kind, clause = said(a_failure(Attempt(FAILURE, f"{GET}{LATE}"), HTTP))

        assert kind is K.TIMED_OUT
        assert clause == "it took longer than timeoutSeconds, which is 2"

    def test_the_default_time_limit_is_called_so(self) -> None:
        attempt = Attempt(FAILURE, NOT_CONNECTED)

        _, clause = said(a_failure(attempt, GRPC, timeout_seconds=1))

        assert clause.endswith("which is 1 by default")


class TestTLS:
    @pytest.mark.parametrize(
        "attempt",
        [
            pytest.param(
                Attempt(FAILURE, f"{GET}EOF", peer=PeerBehavior.TLS), id="asked"
            ),
            pytest.param(
                Attempt(
                    FAILURE,
                    rf'{GET}malformed HTTP response "\x15\x03\x01\x00\x02\x02F"',
                ),
                id="an alert",
            ),
            *(
                pytest.param(
                    Attempt(
                        FAILURE,
                        "HTTP probe failed with statuscode: 400",
                        http=HTTPAnswer(400, body=body),
                    ),
                    id=server,
                )
                for server, body in {
                    "go": "Client sent an HTTP request to an HTTPS server.\n",
                    "nginx": "<center>The plain HTTP request was sent to HTTPS port",
                    "apache": "You're speaking plain HTTP to an SSL-enabled server",
                    "tomcat": "Bad Request\nThis combination of host and port requires "
                    "TLS.",
                }.items()
            ),
        ],
    )
    def test_http_at_a_port_that_speaks_tls(self, attempt: Attempt) -> None:
        kind, clause = said(a_failure(attempt, HTTP))

        assert kind is K.PORT_SPEAKS_TLS
        assert clause.startswith("the port speaks TLS: scheme HTTPS")

    def test_grpc_at_a_port_that_speaks_tls(self) -> None:
        attempt = Attempt(FAILURE, NOT_CONNECTED, peer=PeerBehavior.TLS)

        assert said(a_failure(attempt, GRPC)) == (
            K.PORT_SPEAKS_TLS,
            "the port speaks TLS, and gRPC probes speak no TLS before 1.37",
        )

    @pytest.mark.parametrize(
        "why",
        [
            "http: server gave HTTP response to HTTPS client",
            "tls: first record does not look like a TLS handshake",
        ],
    )
    def test_https_at_a_port_that_does_not(self, why: str) -> None:
        attempt = Attempt(FAILURE, f'Get "https://10.1.2.3:8080/": {why}')

        kind, clause = said(a_failure(attempt, HTTPS))

        assert kind is K.PORT_SPEAKS_PLAIN
        assert "does not speak TLS" in clause

    def test_grpc_with_tls_at_a_port_without(self) -> None:
        attempt = Attempt(FAILURE, NOT_CONNECTED, peer=PeerBehavior.PLAIN)
        handler = GRPCAction(8080, mode="TLS")

        assert said(a_failure(attempt, handler))[0] is K.PORT_SPEAKS_PLAIN

    def test_an_https_server_that_complains_of_http_behind_it_is_not_blamed(
        self,
    ) -> None:
        answer = HTTPAnswer(502, body="sent an HTTP request to an HTTPS server")
        attempt = Attempt(
            FAILURE, "HTTP probe failed with statuscode: 502", http=answer
        )

        assert said(a_failure(attempt, HTTPS))[0] is K.HTTP_STATUS


class TestRedirects:
    ASKED = "http://10.1.2.3:8080/healthz"
    FOLLOWED = (Redirect(302, ASKED, "https://10.1.2.3/healthz"),)
    OUTPUT = (
        'Get "https://10.1.2.3/healthz": dial tcp 10.1.2.3:443: connect: connection '
        "refused"
    )

    def test_a_redirect_to_where_nothing_listens(self) -> None:
        there = SocketAddress("10.1.2.3", 443)
        attempt = Attempt(
            FAILURE, self.OUTPUT, followed=self.FOLLOWED, refused_at=there
        )

        kind, clause = said(a_failure(attempt, HTTP, "0.0.0.0:8080"))

        assert kind is K.REDIRECT_FOLLOWED
        assert clause == (
            "http://10.1.2.3:8080/healthz answered 302 to "
            "https://10.1.2.3:443/healthz; that was refused: nothing listens on 443; "
            "the container listens on 0.0.0.0:8080"
        )

    def test_a_relative_location(self) -> None:
        followed = (Redirect(301, self.ASKED, "/login"),)
        output = f'Get "http://10.1.2.3:8080/login": {LATE}'
        attempt = Attempt(FAILURE, output, followed=followed)

        _, clause = said(a_failure(attempt, HTTP))

        assert clause == (
            f"{self.ASKED} answered 301 to http://10.1.2.3:8080/login; that did not "
            "answer within timeoutSeconds"
        )

    def test_the_text_of_a_kubelet_has_where_it_was_redirected_to(self) -> None:
        attempt = Attempt(FAILURE, self.OUTPUT)

        kind, clause = said(a_failure(attempt, HTTP))

        assert kind is K.REDIRECT_FOLLOWED
        assert clause == (
            "it was redirected to https://10.1.2.3:443/healthz, as one on the same "
            "host is followed; that was refused"
        )

    @pytest.mark.parametrize(
        ("handler", "ports"),
        [
            pytest.param(HTTP, (), id="number"),
            pytest.param(
                HTTPGetAction("web"), (ContainerPort(8080, "web"),), id="name"
            ),
            pytest.param(HTTPGetAction("web"), (), id="unknown name"),
        ],
    )
    def test_the_first_request_is_no_redirect(
        self, handler: HTTPGetAction, ports: tuple[ContainerPort, ...]
    ) -> None:
        container = a_container(ports=ports)

        failure = a_failure(Attempt(FAILURE, REFUSED), handler, container=container)

        assert said(failure)[0] is K.CONNECTION_REFUSED

    def test_a_redirect_to_another_host(self) -> None:
        attempt = Attempt(ProbeResult.WARNING, http=HTTPAnswer(302))

        kind, clause = said(a_failure(attempt, HTTP))

        assert kind is K.REDIRECT_NOT_FOLLOWED
        assert "not followed and counts as success" in clause

    def test_a_status_after_a_redirect(self) -> None:
        answer = HTTPAnswer(404, redirects=("/login",), body="\n  no page \nmore")
        attempt = Attempt(
            FAILURE, "HTTP probe failed with statuscode: 404", http=answer
        )

        kind, clause = said(a_failure(attempt, HTTP))

        assert kind is K.HTTP_STATUS
        assert clause == (
            "404 after a redirect to /login is a 4xx status, a failure: check path, "
            "headers, authorization; the body says: no page"
        )


class TestAnswers:
    def test_a_status_and_the_first_line_of_the_body(self) -> None:
        answer = HTTPAnswer(503, body="db unreachable\nstack")
        attempt = Attempt(
            FAILURE, "HTTP probe failed with statuscode: 503", http=answer
        )

        kind, clause = said(a_failure(attempt, HTTP))

        assert kind is K.HTTP_STATUS
        assert clause == ("the server itself reports a failure: db unreachable")

    def test_a_status_that_an_event_told(self) -> None:
        attempt = Attempt(FAILURE, "HTTP probe failed with statuscode: 503")

        kind, clause = said(a_failure(attempt, HTTP))

        assert kind is K.HTTP_STATUS
        assert clause == "the server itself reports a failure"

    def test_grpc_answers(self) -> None:
        unhealthy = Attempt(FAILURE, 'service unhealthy (responded with "NOT_SERVING")')
        unknown = Attempt(
            FAILURE,
            "error: health rpc probe failed: rpc error: code = NotFound desc = x",
            detail="NotFound",
        )
        without = Attempt(
            FAILURE,
            "error: this server does not implement the grpc health protocol",
            detail="Unimplemented",
        )

        assert said(a_failure(unhealthy, GRPC))[0] is K.GRPC_NOT_SERVING
        kind, clause = said(a_failure(unknown, GRPCAction(8080, "db")))
        assert kind is K.GRPC_NOT_SERVING
        assert clause == "the health service does not know the service db"
        assert said(a_failure(without, GRPC))[0] is K.GRPC_NO_HEALTH_SERVICE


class TestCommands:
    SH = an_exec("sleep 5; true")

    def test_a_child_keeps_the_output_open(self) -> None:
        attempt = Attempt(
            FAILURE,
            KILLED,
            detail="timed out, killed",
            duration=timedelta(seconds=5.1),
        )

        kind, clause = said(a_failure(attempt, self.SH))

        assert kind is K.OUTPUT_HELD_OPEN
        assert clause == (
            "a child of the command keeps its output open, and the runtime waits for "
            "it: 5.1s instead of 2s"
        )

    @pytest.mark.parametrize(
        "attempt",
        [
            pytest.param(
                Attempt(FAILURE, KILLED, detail="timed out, killed"), id="1.36"
            ),
            pytest.param(Attempt(ProbeResult.UNKNOWN, error=KILLED), id="1.19"),
            pytest.param(Attempt(FAILURE, KILLED), id="cluster"),
        ],
    )
    def test_a_command_that_takes_too_long(self, attempt: Attempt) -> None:
        assert said(a_failure(attempt, self.SH))[0] is K.TIMED_OUT

    @pytest.mark.parametrize(
        ("attempt", "words"),
        [
            pytest.param(
                Attempt(ProbeResult.UNKNOWN, error="it is gone", is_missing=True),
                "the command is not in the image: sh; shell built-ins",
                id="a CRI runtime",
            ),
            pytest.param(
                Attempt(FAILURE, "no sh", detail="exit 126", is_missing=True),
                "the command is not in the image",
                id="Docker",
            ),
            pytest.param(
                Attempt(FAILURE, "sh: x: not found", detail="exit 127"),
                "exit code 127: a shell did not find the command",
                id="a shell",
            ),
        ],
    )
    def test_a_command_that_is_not_there(self, attempt: Attempt, words: str) -> None:
        kind, clause = said(a_failure(attempt, self.SH))

        assert kind is K.COMMAND_NOT_FOUND
        assert clause.startswith(words)

    @pytest.mark.parametrize(
        ("command", "env", "output", "words"),
        [
            pytest.param(
                ("ping", "-c", "1", "$(POD_IP)"),
                (EnvVar("POD_IP", has_value_from=True),),
                "ping: bad address ''",
                "$(POD_IP) becomes nothing: the kubelet expands plain values only",
                id="valueFrom",
            ),
            pytest.param(
                ("ping", "$(PODIP)"),
                (),
                "ping: bad address '$(PODIP)'",
                "$(PODIP) stays as it is: the container has no such variable",
                id="unknown",
            ),
            pytest.param(
                ("ping", "$POD_IP"),
                (EnvVar("POD_IP", "10.1.2.3"),),
                "ping: bad address '$POD_IP'",
                "$POD_IP needs a shell, and none is run",
                id="no shell",
            ),
            pytest.param(
                ("sh", "-uc", "ping $POD_IP"),
                (),
                "sh: POD_IP: parameter not set",
                "the shell has no variable POD_IP",
                id="unset in a shell",
            ),
        ],
    )
    def test_a_variable_that_is_not_expanded(
        self,
        command: tuple[str, ...],
        env: tuple[EnvVar, ...],
        output: str,
        words: str,
    ) -> None:
        container = a_container(env=env)
        attempt = Attempt(FAILURE, output, detail="exit 1")

        kind, clause = said(
            a_failure(attempt, ExecAction(command), container=container)
        )

        assert kind is K.VARIABLE_NOT_EXPANDED
        assert words in clause.replace('"', "")

    def test_a_variable_that_only_the_image_can_set(self) -> None:
        attempt = Attempt(FAILURE, "curl: no URL", detail="exit 2")

        kind, clause = said(a_failure(attempt, an_exec("curl $TARGET_URL")))

        assert kind is K.COMMAND_FAILED
        assert clause == (
            "$TARGET_URL is not among the container's variables: unless the image sets "
            "it, the shell leaves nothing in its place"
        )

    @pytest.mark.parametrize(
        "script",
        [
            "test -n $HOME",
            "TARGET=x; curl $TARGET",
            "for HOST in a b; do curl $HOST; done",
            "read -r LINE </f; test $LINE",
            "curl ${TARGET:-x}",
            "curl $REDIS_SERVICE_HOST:$REDIS_PORT",
            "awk '{print $NF}' /f",
            "curl $GIVEN",
        ],
    )
    def test_other_variables_are_not_doubted(self, script: str) -> None:
        container = a_container(env=(EnvVar("GIVEN", "x"),))
        attempt = Attempt(FAILURE, "", detail="exit 2")

        failure = a_failure(attempt, an_exec(script), container=container)

        assert said(failure) == (K.COMMAND_FAILED, "")

    def test_a_command_whose_own_connection_is_refused(self) -> None:
        attempt = Attempt(FAILURE, "psql: connection refused", detail="exit 2")

        kind, clause = said(a_failure(attempt, ExecAction(("psql",))))

        assert kind is K.COMMAND_FAILED
        assert "from inside the container, does not listen" in clause


class TestErrors:
    def test_a_port_name_that_nobody_declares(self) -> None:
        container = a_container(ports=(ContainerPort(8080, "http"),))
        error = 'strconv.Atoi: parsing "web": invalid syntax'
        attempt = Attempt(ProbeResult.UNKNOWN, error=error)

        assert said(a_failure(attempt, HTTPGetAction("web"), container=container)) == (
            K.PORT_NAME_UNKNOWN,
            "the container declares no port named web; it declares http",
        )

    @pytest.mark.parametrize(
        "error",
        [
            "dial tcp 10.1.2.3:8080: socket: too many open files",
            "probetui was busy or stopped for 1.2s of this probe",
        ],
    )
    def test_our_own_trouble(self, error: str) -> None:
        attempt = Attempt(ProbeResult.UNKNOWN, error=error)

        kind, clause = said(a_failure(attempt, HTTP))

        assert kind is K.PROBE_NOT_SENT
        assert "says nothing about the container" in clause

    def test_an_error_of_the_runtime(self) -> None:
        attempt = Attempt(ProbeResult.UNKNOWN, error="rpc error: code = Unavailable")

        assert said(a_failure(attempt, TestCommands.SH))[0] is K.RUNTIME_ERROR

    @pytest.mark.parametrize(
        ("error", "kind"),
        [
            pytest.param("unexpected EOF", K.CONNECTION_RESET, id="broken"),
            pytest.param("context deadline exceeded", K.TIMED_OUT, id="late"),
        ],
    )
    def test_a_body_that_does_not_come_whole(self, error: str, kind: CauseKind) -> None:
        attempt = Attempt(FAILURE, error=error, detail="HTTP 200")

        assert said(a_failure(attempt, HTTP))[0] is kind


def test_every_kind_of_probe_failure_has_a_clause() -> None:
    kinds = list(CauseKind)
    first = kinds.index(CauseKind.NOTHING_LISTENS)
    failed = FailedProbe(Attempt(FAILURE))

    for kind in kinds[first:]:
        assert isinstance(failure_clause(ProbeFailure(kind, failed), VIEW), str)


def test_what_is_foreign_is_made_harmless() -> None:
    assert "\x1b" not in said(a_failure(answered(503, "\x1b[2Jboo"), HTTP))[1]


def test_a_status_is_that_of_the_answer_where_the_text_says_none() -> None:
    failure = a_failure(Attempt(FAILURE, "", http=HTTPAnswer(503)), HTTP)

    assert failure is not None
    assert (failure.kind, failure.name) == (K.HTTP_STATUS, "503")


@pytest.mark.parametrize(
    ("output", "peer", "begins"),
    [
        pytest.param(f"{GET}EOF", PeerBehavior.OTHER, "", id="seen"),
        pytest.param(
            f'{GET}malformed HTTP response "-ERR x"', None, "-ERR x", id="said"
        ),
        pytest.param(
            f"{GET}error reading server preface: http2: frame", None, "", id="http2"
        ),
    ],
)
def test_a_server_may_speak_another_protocol(
    output: str, peer: PeerBehavior | None, begins: str
) -> None:
    failure = a_failure(Attempt(FAILURE, output, peer=peer), HTTP)

    assert failure is not None
    assert (failure.kind, failure.name) == (K.PORT_SPEAKS_OTHER, begins)


def test_without_a_scheme_the_first_request_is_by_http() -> None:
    handler = HTTPGetAction(8080, scheme="")

    failure = a_failure(Attempt(FAILURE, f"{GET}EOF"), handler)

    assert failure is not None
    assert failure.kind is K.CONNECTION_RESET


def test_a_port_of_two_protocols_is_told_with_both() -> None:
    ports = tuple(
        ContainerPort(8080, "dns", protocol=protocol) for protocol in ("UDP", "SCTP")
    )

    failure = a_failure(refused(), TCP, container=a_container(ports=ports))

    assert failure is not None
    assert failure.name == "8080 is declared as SCTP, UDP"
