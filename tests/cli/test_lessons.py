"""The built-in lessons."""

from __future__ import annotations

import re

import pytest

from probetui.cli.lessons import DEFAULT, lesson_names, load_lesson
from probetui.errors import UsageError
from probetui.manifest.load import load_manifests
from probetui.manifest.manifests import Validation


def test_the_default_lesson_comes_first() -> None:
    assert lesson_names()[0] == DEFAULT
    assert set(lesson_names()) == {
        "crashloop",
        "errored",
        "grace",
        "liveness",
        "readiness",
        "startup",
        "timeout",
    }


@pytest.mark.parametrize("name", lesson_names())
def test_a_lesson_says_in_a_few_sentences_what_to_watch(name: str) -> None:
    lesson = load_lesson(name)

    assert 2 <= len(re.findall(r"[.:](?: |$)", lesson.text)) <= 6
    assert len(lesson.text) < 400


@pytest.mark.parametrize("name", lesson_names())
def test_a_lesson_is_a_faultless_manifest_of_one_pod_of_its_name(name: str) -> None:
    manifests = load_manifests([load_lesson(name).source], validation=Validation.STRICT)

    assert [each.name for each in manifests.pods] == [name]
    assert manifests.errors == ()
    assert manifests.unsupported == ()


@pytest.mark.parametrize("name", lesson_names())
def test_a_lesson_needs_a_shell_and_a_small_image_only(name: str) -> None:
    pod = load_manifests([load_lesson(name).source]).pods[0]

    assert {each.image for each in pod.all_containers()} == {"busybox:1.36"}
    assert {each.command[0] for each in pod.all_containers()} == {"sh"}
    assert (pod.termination_grace_period_seconds or 0) <= 8


def test_a_lesson_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(UsageError, match=r"is not one of liveness.*nearest: liveness"):
        load_lesson("livenes")
