"""Credentials of image pull Secrets, and the images that they are for."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from probetui.k8s.volume import Secret
from probetui.kubelet.effects import RegistryCredentials
from probetui.kubelet.images.image_manager import repository_of
from probetui.kubelet.images.keyring import (
    Keyring,
    KeyringError,
    find_passwords,
    find_pull_secrets,
    mask_pull_secret,
)
from probetui.kubelet.object_store import ObjectStore
from tests.builders import a_container, a_pod


def pull_secret(auths: Any, name: str = "regcred") -> Secret:
    data = {".dockerconfigjson": json.dumps({"auths": auths}).encode()}
    return Secret(name, data=data, type="kubernetes.io/dockerconfigjson")


def old_secret(entries: Any) -> Secret:
    data = {".dockercfg": json.dumps(entries).encode()}
    return Secret("old", data=data, type="kubernetes.io/dockercfg")


def _auth(text: str) -> dict[str, str]:
    return {"auth": base64.b64encode(text.encode()).decode()}


def _users(image: str, *places: str) -> list[str]:
    """Return which places have credentials for an image, in their order."""
    auths = {place: {"username": place, "password": "p"} for place in places}
    found = Keyring([pull_secret(auths)]).lookup(repository_of(image))
    return [one.username for one in found]


@pytest.mark.parametrize(
    ("image", "place"),
    [
        ("busybox", "https://index.docker.io/v1/"),
        ("busybox:1.36", "index.docker.io"),
        ("docker.io/library/busybox", "https://index.docker.io/v2/"),
        ("team/app", "docker.io/team"),
        ("registry.test/app:1", "registry.test"),
        ("registry.test/app@sha256:" + "0" * 64, "http://registry.test"),
        ("registry.test:5000/app", "registry.test:5000"),
        ("registry.test:5000/app", "https://registry.test:5000/v2/"),
        ("registry.test/team/app", "registry.test/team"),
        ("registry.test/team/app", "registry.test/te"),
        ("eu.registry.test/app", "*.registry.test"),
        ("eu.registry.test/app", "e*.registry.*"),
        ("registry.test/v1/app", "registry.test"),
    ],
)
def test_credentials_are_for_images_of_their_registry(image: str, place: str) -> None:
    assert _users(image, place) == [place]


@pytest.mark.parametrize(
    ("image", "place"),
    [
        ("busybox", "registry.test"),
        ("registry.test/app", "https://index.docker.io/v1/"),
        ("registry:5000/app", "https://index.docker.io/v1/"),
        ("registry.test/app", "registry.test:5000"),
        ("registry.test:5000/app", "registry.test"),
        ("registry.test/other/app", "registry.test/team"),
        ("a.b.registry.test/app", "*.registry.test"),
        ("registry.test/app", "*.registry.test"),
        ("eu.registry.test/app", "us*.registry.test"),
        ("localhost/app", "index.docker.io.test"),
        ("registry.test/app", "user@other.test"),
    ],
)
def test_credentials_are_for_no_other_images(image: str, place: str) -> None:
    assert _users(image, place) == []


def test_the_most_specific_credentials_come_first() -> None:
    places = ("registry.test", "registry.test/team/app", "registry.test/team")
    assert _users("registry.test/team/app", *places) == [
        "registry.test/team/app",
        "registry.test/team",
        "registry.test",
    ]


def test_credentials_of_several_secrets_come_in_their_order() -> None:
    secrets = [
        pull_secret({"registry.test": _auth("one:1")}),
        old_secret({"https://registry.test": _auth("two:2:3")}),
        pull_secret({"registry.test": {"username": "three", "password": "3"}}),
    ]
    assert Keyring(secrets).lookup("registry.test/app") == (
        RegistryCredentials("one", "1"),
        RegistryCredentials("two", "2:3"),
        RegistryCredentials("three", "3"),
    )


@pytest.mark.parametrize(
    "secret",
    [
        pytest.param(Secret("s", data={"a": b"b"}, type="Opaque"), id="another type"),
        pytest.param(
            Secret("s", data={".dockerconfigjson": b"{}"}), id="without a type"
        ),
        pytest.param(
            Secret("s", type="kubernetes.io/dockercfg"), id="without its entry"
        ),
        pytest.param(pull_secret(None), id="without registries"),
    ],
)
def test_other_secrets_have_no_credentials(secret: Secret) -> None:
    assert Keyring([secret]).lookup("registry.test/app") == ()


@pytest.mark.parametrize("entry", [{}, None], ids=["empty", "null"])
def test_an_entry_without_user_and_password_has_empty_ones(entry: Any) -> None:
    found = Keyring([pull_secret({"registry.test": entry})]).lookup("registry.test/a")
    assert found == (RegistryCredentials("", ""),)


def test_auth_may_be_unpadded_and_counts_before_the_user() -> None:
    auth = base64.b64encode(b"user:words").decode()
    assert auth.endswith("=")
    entry = {"username": "other", "password": "other", "auth": auth.rstrip("=")}
    found = Keyring([pull_secret({"registry.test": entry})]).lookup("registry.test/a")
    assert found == (RegistryCredentials("user", "words"),)


@pytest.mark.parametrize(
    ("secret", "why"),
    [
        pytest.param(
            pull_secret({"a.test": {"auth": "ab!d"}}),
            "illegal base64 data at input byte 2",
            id="no base64",
        ),
        pytest.param(
            pull_secret({"a.test": {"auth": "dTpwdw="}}),
            "illegal base64 data at input byte 7",
            id="too little padding",
        ),
        pytest.param(
            pull_secret({"a.test": _auth("nobody")}),
            "unable to parse auth field, must be formatted as "
            "base64(username:password)",
            id="no password",
        ),
        pytest.param(
            pull_secret("none"),
            ".dockerconfigjson of secret default/regcred is no Docker configuration",
            id="no registries",
        ),
        pytest.param(
            Secret(
                "regcred",
                data={".dockerconfigjson": b'{"x":' + b"[" * 100_000},
                type="kubernetes.io/dockerconfigjson",
            ),
            ".dockerconfigjson of secret default/regcred is no Docker configuration",
            id="nested too deeply",
        ),
    ],
)
def test_a_secret_of_another_form_is_an_error_that_masks_keep(
    secret: Secret, why: str
) -> None:
    for one in (secret, mask_pull_secret(secret, "***")):
        with pytest.raises(KeyringError) as caught:
            Keyring([one])
        assert str(caught.value) == why


def test_bytes_that_are_no_text_are_replaced() -> None:
    data = b'{"auths": {"a.test": {"username": "\xff", "password": "p"}}}'
    secret = Secret(
        "regcred",
        data={".dockerconfigjson": data},
        type="kubernetes.io/dockerconfigjson",
    )

    (credentials,) = Keyring([secret]).lookup("a.test/web")
    assert credentials.username == "\ufffd"
    assert list(find_passwords(secret)) == ["p", "p"]
    assert b"p" not in mask_pull_secret(secret, "***").data[".dockerconfigjson"].split(
        b'"'
    )


def test_a_masked_secret_is_for_the_same_images_and_says_no_password() -> None:
    secret = pull_secret({"a.test/b": _auth("me:hunter22"), "c.test": _auth("me:x")})
    masked = mask_pull_secret(secret, "***")
    assert b"hunter22" not in b"".join(masked.data.values())
    assert base64.b64encode(b"me:hunter22") not in b"".join(masked.data.values())
    assert Keyring([masked]).lookup("a.test/b/c") == (
        RegistryCredentials("***", "***"),
    )
    assert Keyring([masked]).lookup("a.test/x") == ()
    assert "hunter22" in set(find_passwords(secret))


def test_credentials_are_printed_without_the_password() -> None:
    assert "hunter22" not in repr(RegistryCredentials("me", "hunter22"))


def test_the_pull_secrets_of_a_pod_are_those_of_its_namespace_that_can_be_had() -> None:
    objects = ObjectStore()
    here = pull_secret({}, "here")
    objects.replace(
        [
            here,
            Secret("refused", is_refused=True),
            Secret("elsewhere", "other", type=here.type),
        ]
    )
    names = ("refused", "here", "", "elsewhere")
    pod = a_pod(a_container(), image_pull_secrets=names)
    assert find_pull_secrets(pod, objects) == ((here,), ("refused", "elsewhere"))
