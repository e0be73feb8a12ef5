from __future__ import annotations

import re

import pytest
from lightkube.models import core_v1, meta_v1

from probetui.manifest.draft import generate_name, pod_uid
from probetui.manifest.yaml.parser import SourceFile
from tests.manifest.yaml_pods import pod_model


def test_a_uid_is_32_hexadecimal_digits_and_stays() -> None:
    uid = pod_uid(pod_model(), "host", SourceFile("/a/pod.yaml", ""))

    assert re.fullmatch("[0-9a-f]{32}", uid)
    assert uid == pod_uid(pod_model(), "host", SourceFile("/a/pod.yaml", ""))


@pytest.mark.parametrize(
    ("container", "host", "location"),
    [
        pytest.param("tty: true", "host", "/a/pod.yaml", id="content"),
        pytest.param("", "other", "/a/pod.yaml", id="host"),
        pytest.param("", "host", "/b/pod.yaml", id="file"),
        pytest.param("", "host", "\udcff", id="file-name-that-is-no-text"),
    ],
)
def test_any_change_gives_another_uid(container: str, host: str, location: str) -> None:
    uid = pod_uid(pod_model(), "host", SourceFile("/a/pod.yaml", ""))

    assert pod_uid(pod_model(container), host, SourceFile(location, "")) != uid


def test_a_generated_name_has_five_letters_of_the_uid() -> None:
    name = generate_name("web-", "u1")

    assert re.fullmatch("web-[bcdfghjklmnpqrstvwxz2-9]{5}", name)
    assert name == generate_name("web-", "u1")
    assert name != generate_name("web-", "u2")


def test_a_generated_name_is_a_label_at_most() -> None:
    assert len(generate_name("x" * 100, "u1")) == 63


def test_a_pod_with_what_is_no_text_has_a_uid_too() -> None:
    strange = core_v1.Pod(metadata=meta_v1.ObjectMeta(namespace="\udcff\udcfe"))

    assert len(pod_uid(strange, "host", SourceFile("pod.yaml", ""))) == 32
