"""Secrets, known by the names of their variables and headers."""

from __future__ import annotations

import json
import math
from base64 import b64encode, urlsafe_b64encode
from time import process_time
from urllib.parse import quote, quote_plus

import pytest

from probetui.k8s.pod import Container, EnvVar, Pod
from probetui.k8s.probe import (
    ExecAction,
    HTTPGetAction,
    HTTPHeader,
    Probe,
    SleepAction,
    TCPSocketAction,
)
from probetui.k8s.volume import ConfigMap, Secret
from probetui.kubelet.runtime.go_format import go_quote
from probetui.record import credentials
from probetui.record.credentials import (
    find_credentials,
    find_credentials_in_args,
    find_credentials_in_header,
    is_secret_name,
)
from probetui.record.masking import Mask, find_object_secrets, find_pod_secrets
from tests.kubelet.images.test_keyring import pull_secret


@pytest.mark.parametrize(
    "name",
    [
        "API_TOKEN",
        "apiKey",
        "DB_PASSWORD",
        "PGPASSWD",
        "CLIENT_SECRET",
        "Authorization",
        "X-Auth-Token",
        "Cookie",
        "DB_PASS",
        "dbpass",
        "MYSQL_PWD",
        "MYSQLPWD",
        "CREDS",
        "AWS_ACCESS_KEY_ID",
        "REDIS_AUTH",
        "SENTRY_DSN",
        "ConnectionStrings__Default",
        "TLS_PRIVATE",
        "sshKey",
        "X-Hub-Signature",
        "sig",
        "PHPSESSIONID",
    ],
)
def test_a_name_that_holds_secrets_is_known(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "PATH",
        "PORT",
        "LOG_LEVEL",
        "Accept",
        "Host",
        "PWD",
        "OLDPWD",
        "PASSIVE",
        "PASSENGER_COUNT",
        "BYPASS",
        "COMPASS",
        "KEYBOARD",
        "MONKEY",
        "PUBLIC_KEY",
        "PUBKEY",
        "CACHE_KEY",
        "AUTHOR",
        "AUTH_URL",
        "KEY_FILE",
        "PRIVATE_IP",
        "TOKENIZERS_PARALLELISM",
        "SIGNAL",
        "",
    ],
)
def test_any_other_name_is_not_secret(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    ("name", "value", "hides", "shown"),
    [
        pytest.param("TOKEN", "x", True, "***", id="by its name, however short"),
        pytest.param("TOKEN", "x", False, "x", id="by its name, but to be shown"),
        pytest.param("TOKEN", "", True, "", id="nothing to hide"),
        pytest.param("MODE", "x", True, "x", id="not secret"),
        pytest.param("MODE", "a hunter22 b", True, "a *** b", id="a known one in it"),
    ],
)
def test_a_value_is_masked_by_the_name_beside_it(
    name: str,
    value: str,
    hides: bool,  # noqa: FBT001  # a row of the table
    shown: str,
) -> None:
    mask = Mask(["hunter22"], hides=hides)

    assert mask.value(name, value) == shown


def test_secrets_are_found_in_variables_and_in_headers_of_probes_and_hooks() -> None:
    def get(secret: str) -> HTTPGetAction:
        headers = (HTTPHeader("Authorization", secret), HTTPHeader("Accept", "text"))
        return HTTPGetAction(port=80, http_headers=headers)

    pod = Pod(
        uid="1",
        name="demo",
        init_containers=(Container("first", env=(EnvVar("API_KEY", "in init"),)),),
        containers=(
            Container(
                "web",
                env=(EnvVar("DB_PASSWORD", "in env"), EnvVar("MODE", "plain")),
                liveness_probe=Probe(get("in liveness")),
                readiness_probe=Probe(get("in readiness")),
                startup_probe=Probe(get("in startup")),
                post_start=get("in postStart"),
                pre_stop=get("in preStop"),
            ),
        ),
    )

    assert sorted(find_pod_secrets([pod])) == [
        "in env",
        "in init",
        "in liveness",
        "in postStart",
        "in preStop",
        "in readiness",
        "in startup",
    ]


def test_a_secret_is_replaced_wherever_it_occurs() -> None:
    mask = Mask(["hunter22", "hunter22-and-more"])

    masked = mask.text("a hunter22-and-more b hunter22 c")

    assert masked == "a *** b *** c"


def test_a_secret_is_taken_literally() -> None:
    assert Mask(["a.c(d)e"]).text("abc(d)e a.c(d)e") == "abc(d)e ***"


def test_a_short_value_is_not_searched_for() -> None:
    assert Mask(["1", ""]).text("HTTP 1.1") == "HTTP 1.1"
    assert Mask(["1", ""], hides=False).is_empty


def test_all_that_secrets_hold_is_secret_line_by_line() -> None:
    secret = Secret("s", data={"plain": b"one value", "pem": b"BEGIN 1\nEND of it"})

    assert sorted(find_object_secrets([secret, ConfigMap("c", data={"a": "b"})])) == [
        "BEGIN 1",
        "BEGIN 1\nEND of it",
        "END of it",
        "one value",
        "one value",
    ]


def test_bytes_of_a_secret_that_are_no_text_are_secret_as_output_has_them() -> None:
    secret = Secret("s", data={"key": b"\xffhunter22"})

    assert set(find_object_secrets([secret])) == {"\udcffhunter22"}


def test_a_password_in_a_pull_secret_is_secret_in_each_form() -> None:
    auth = b64encode(b"me:hunter22").decode()
    found = set(find_object_secrets([pull_secret({"registry.test": {"auth": auth}})]))
    assert {auth, "hunter22"} <= found


SECRET = 's3cr "t/päss\x02+'
ENCODED = {
    "as it is": SECRET,
    "base64": b64encode(SECRET.encode()).decode(),
    "base64 with a line break": b64encode(f"{SECRET}\n".encode()).decode(),
    "base64 of user and password": b64encode(f"me:{SECRET}".encode()).decode(),
    "base64 in the middle": b64encode(f"me2:{SECRET}:x".encode()).decode(),
    "base64 for URLs": urlsafe_b64encode(SECRET.encode()).decode(),
    "quoted for a path": quote(SECRET),
    "quoted for a query": quote_plus(SECRET),
    "quoted whole": quote(SECRET, safe=""),
    "in JSON": json.dumps({"x": SECRET}),
    "in JSON as it is": json.dumps({"x": SECRET}, ensure_ascii=False),
    "quoted by Go": go_quote(SECRET),
}


@pytest.mark.parametrize("form", ENCODED)
def test_a_secret_is_found_in_every_form(form: str) -> None:
    masked = Mask([SECRET]).text(f"before {ENCODED[form]} after")

    assert "***" in masked
    assert masked.startswith("before ")
    assert masked.endswith(" after")
    assert leaked(masked) == ""
    if "base64" not in form:
        # Of Base64 a character may stay that holds bits of what stands beside it.
        whole = {"in": '{"x": "***"}', "quoted by Go": '"***"'}
        expected = whole.get(form) or whole.get(form[:2], "***")
        assert masked == f"before {expected} after"


def leaked(text: str) -> str:
    """Return the longest piece of any form of the secret that is still there."""
    pieces = {
        form[start : start + 7]
        for form in ENCODED.values()
        for start in range(len(form) - 6)
        if not set(form[start : start + 7]) & set(' "{}:')
    }
    return max((piece for piece in pieces if piece in text), key=len, default="")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("GET https://me:pw@host/x", "GET https://me:***@host/x"),
        ("https://ghp_abc@github.com/x", "https://***@github.com/x"),
        ("postgres://app:s3:cr@t@db:5432/x", "postgres://app:***@db:5432/x"),
        ("/x?api_key=abc&page=2", "/x?api_key=***&page=2"),
        ("/x?page=2&token=abc#y", "/x?page=2&token=***#y"),
        ("/x?a%70i_key=abc", "/x?a%70i_key=***"),
        ("--db-password=abc", "--db-password=***"),
        ("DB_PASS='a b c' app", "DB_PASS='***' app"),
        ("--env=DB_PASS=abc -x", "--env=DB_PASS=*** -x"),
        ("sh -c 'DB_PASS=abc app'", "sh -c 'DB_PASS=*** app'"),
        ("sh -c 'db --password abc -u me'", "sh -c 'db --password *** -u me'"),
        ("app -token  abc&", "app -token  ***&"),
        ("app --api-key 'a b' x", "app --api-key '***' x"),
        ("a=b=c=token=abc", "a=b=c=token=***"),
        ("Authorization: Bearer abc.def", "Authorization: ***"),
        ("curl -H 'x-api-key: abc' x", "curl -H 'x-api-key: ***' x"),
        ("sent Bearer abcdefgh1234", "sent Bearer ***"),
        ("sent Basic bWU6cHcx", "sent Basic ***"),
        ("sent BEARER abcdefgh1234", "sent BEARER ***"),
        ('{"password": "abc", "n": 1}', '{"password": "***", "n": 1}'),
        ('{"password"  : "abc"}', '{"password"  : "***"}'),
        (r'"{\"token\":\"abc\"}"', r'"{\"token\":\"***\"}"'),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----",
            "-----BEGIN RSA PRIVATE KEY----- *** -----END RSA PRIVATE KEY-----",
        ),
    ],
)
def test_what_is_secret_by_its_place_is_masked(text: str, shown: str) -> None:
    assert Mask().text(text) == shown
    assert Mask(hides=False).text(text) == text


@pytest.mark.parametrize(
    "text",
    [
        'Get "http://10.0.0.1:80/": dial tcp 10.0.0.1:80: connect: connection refused',
        "HTTP probe failed with statuscode: 401",
        "invalid token: unexpected end of JSON input",
        "Basic authentication required",
        "ssh://git@github.com/x",
        "app --password $DB_PASS --token --verbose",
        "app --user me --key-file /etc/x less-key abc",
        "env PASSIVE=1 KEYBOARD=us PATH=/bin PWD=/x",
        "mail to me@example.com about http://example.com/x@y",
        "2026-11-20T11:40:38Z web/app liveness #8 failure 19ms run 2/3 trigger=user",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert Mask().text(text) == text


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "://",
        "x-",
        "a=b&",
        '"a":',
        "Basic ",
        "a.",
        "x-key-",
        "authorization",
        " =",
        " --key",
    ],
)
def test_a_megabyte_in_one_line_is_gone_through_once(piece: str) -> None:
    def steps(size: int) -> float:
        text = piece * (size // len(piece))
        mask = Mask([SECRET])
        best = math.inf
        for _ in range(3):
            began = process_time()
            mask.text(text)
            best = min(best, process_time() - began)
        return best

    # Twice the text takes about twice as long; four times as long would be quadratic.
    small, big = steps(1 << 17), steps(1 << 20)

    assert big < 30 * small + 0.05


def test_credentials_are_found_wherever_a_container_has_them() -> None:
    basic = b64encode(b"me:in basic").decode()
    pod = Pod(
        uid="1",
        name="demo",
        containers=(
            Container(
                "web",
                command=("app", "--password", "after-a-flag", "--verbose"),
                args=("--api-key=in-an-argument", "https://me:in-a-url@host"),
                env=(EnvVar("DATABASE_URL", "postgres://app:in%2Da-value@db/x"),),
                liveness_probe=Probe(
                    HTTPGetAction(
                        port=80,
                        path="/x?token=in-a-query",
                        http_headers=(HTTPHeader("Authorization", f"Basic {basic}"),),
                    )
                ),
                readiness_probe=Probe(
                    ExecAction(("sh", "-c", "PGPASSWORD=in-sh psql"))
                ),
            ),
        ),
    )

    assert {
        "after-a-flag",
        "in-an-argument",
        "in-a-url",
        "in-a-value",
        "in-a-query",
        "in basic",
        "in-sh",
        basic,
    } <= set(find_pod_secrets([pod]))


@pytest.mark.parametrize(
    ("words", "secrets"),
    [
        (("app", "--password", "abc"), ["abc"]),
        (("app", "--password", "--verbose"), []),
        (("app", "--mode", "fast", "x"), []),
        (("password", "abc"), []),
        (("app", "-token", "a", "--api-key", "b"), ["a", "b"]),
        (("app", "--db-pass=abc", "x"), ["abc"]),
    ],
)
def test_what_follows_the_flag_of_a_secret_is_secret(
    words: tuple[str, ...], secrets: list[str]
) -> None:
    assert list(find_credentials_in_args(words)) == secrets


@pytest.mark.parametrize(
    ("text", "secrets"),
    [
        ("https://me:pw@host/x", ["pw"]),
        ("https://ghp_abc@host/x", ["ghp_abc"]),
        ("https://me:p%40w@host", ["p%40w", "p@w"]),
        ("/x?token=a%2Fb&page=2", ["a%2Fb", "a/b"]),
        ('{"password": "abc", "n": "1"}', ["abc"]),
        ("db --password abc -u me", ["abc"]),
        ("X-Api-Key: abc", ["abc"]),
        ("Cookie: id=1", ["id=1"]),
        ("sent Bearer abcdefgh1234", ["abcdefgh1234"]),
        ("sent Basic bWU6cHcx", ["bWU6cHcx"]),
        ("nothing to see", []),
    ],
)
def test_what_is_secret_by_its_place_is_found(text: str, secrets: list[str]) -> None:
    assert list(find_credentials(text)) == secrets


@pytest.mark.parametrize(
    ("value", "secrets"),
    [
        ("abc", ["abc"]),
        ("Bearer abc", ["Bearer abc", "abc"]),
        (" TOKEN abc ", [" TOKEN abc ", "abc"]),
        ("Mine abc", ["Mine abc"]),
        ("Bearer", ["Bearer"]),
        ("Basic bWU6cHc=", ["Basic bWU6cHc=", "bWU6cHc=", "me:pw", "pw"]),
        ("Basic no!base64", ["Basic no!base64", "no!base64"]),
        ("Basic /w==", ["Basic /w==", "/w=="]),
        ("Digest bWU6cHc=", ["Digest bWU6cHc=", "bWU6cHc="]),
        ("Digest me, pw", ["Digest me, pw", "me, pw"]),
    ],
)
def test_a_header_is_secret_and_so_is_the_token_in_it(
    value: str, secrets: list[str]
) -> None:
    assert list(find_credentials_in_header(value)) == secrets


def test_a_pod_is_masked_wherever_it_can_have_a_secret() -> None:
    known = "hunter22"

    def get(path: str, value: str, plain: str) -> HTTPGetAction:
        headers = (HTTPHeader("X-Token", value), HTTPHeader("X-Note", plain))
        return HTTPGetAction(port=80, path=path, http_headers=headers)

    def container(name: str, secret: str, value: str) -> Container:
        return Container(
            name,
            command=("app", secret),
            args=(secret, "-v"),
            env=(EnvVar("MODE", secret), EnvVar("TOKEN", value), EnvVar("A", "b")),
            startup_probe=Probe(get(f"/{secret}", value, secret)),
            liveness_probe=Probe(ExecAction(("cat", secret))),
            readiness_probe=Probe(TCPSocketAction(port=1)),
            post_start=ExecAction(("touch", secret)),
            pre_stop=SleepAction(3),
        )

    def pod(secret: str, value: str) -> Pod:
        return Pod(
            uid="1",
            name="demo",
            annotations={"note": f"it is {secret}", "other": "x"},
            init_containers=(container("first", secret, value), Container("bare")),
            containers=(container("web", secret, value), Container("plain")),
        )

    assert Mask([known]).pod(pod(known, "x")) == pod("***", "***")


@pytest.mark.parametrize("handler", [TCPSocketAction(port=1), SleepAction(3), None])
def test_a_hook_without_text_stays_as_it_is(
    handler: TCPSocketAction | SleepAction | None,
) -> None:
    pod = Pod("1", "demo", containers=(Container("web", post_start=handler),))

    assert Mask(["hunter22"]).pod(pod) == pod


def test_headers_without_a_secret_are_the_same_object() -> None:
    headers = (HTTPHeader("Accept", "text"), HTTPHeader("Token", ""))

    assert Mask(["hunter22"]).headers(headers) is headers


@pytest.mark.parametrize(("length", "remembered"), [(512, 1), (513, 0)])
def test_only_short_texts_are_remembered(length: int, remembered: int) -> None:
    credentials._of_short.cache_clear()

    credentials.mask_credentials("x" * length)

    assert credentials._of_short.cache_info().currsize == remembered


def test_a_mask_counts_the_values_that_it_knows() -> None:
    mask = Mask(["hunter22", "short"])
    before = mask.known

    mask.learn(["hunter22", "hunter23", "another one"])

    assert (before, mask.known) == (1, 3)
    assert mask.text("hunter22 hunter23 another one") == "*** *** ***"


@pytest.mark.parametrize(("length", "is_found"), [(8192, True), (8193, False)])
def test_of_a_very_long_secret_no_other_form_is_looked_for(
    length: int, *, is_found: bool
) -> None:
    secret = "päss" * (length // 4) + "x" * (length % 4)
    mask = Mask([secret])

    assert mask.text(secret) == "***"
    assert (mask.text(quote(secret)) == "***") is is_found


@pytest.mark.parametrize(("secret", "shown"), [("12345", "12345"), ("123456", "***")])
def test_a_secret_of_six_characters_is_searched_for(secret: str, shown: str) -> None:
    assert Mask([secret]).text(secret) == shown
