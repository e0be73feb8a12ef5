from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from probetui.k8s.pod import PullPolicy
from probetui.k8s.volume import Secret
from probetui.kubelet.effects import (
    GetImageStatus,
    PulledImage,
    PullImage,
    RegistryCredentials,
)
from probetui.kubelet.images.image_manager import (
    EnsuredImage,
    ImageManager,
    InvalidImageNameError,
    with_default_tag,
)
from probetui.kubelet.runtime.backoff import Backoff
from probetui.kubelet_rules import PORTED_RULES, rules_of
from tests.builders import a_container, a_pod
from tests.kubelet.effect_executor import EffectExecutor
from tests.kubelet.images.test_keyring import pull_secret

ALWAYS, IF_NOT_PRESENT, NEVER = PullPolicy
IMAGE = "busybox:1.36"


class Bench(EffectExecutor):
    """An image manager and what carries its routines."""

    def __init__(self, version: str = PORTED_RULES.version) -> None:
        super().__init__()
        windows = [timedelta(seconds=length) for length in (10, 300, 600)]
        self.backoff = Backoff(*windows)
        self.images = ImageManager(self.turn_builder, self.backoff, rules_of(version))

    def ensure(
        self,
        policy: PullPolicy = ALWAYS,
        image: str = IMAGE,
        pull_secrets: Sequence[Secret] = (),
    ) -> None:
        container = a_container(image=image, image_pull_policy=policy)
        self.start(
            self.images.ensure_image(
                a_pod(container), container, self.now, pull_secrets
            )
        )

    def fail(self, error: str = "no such host") -> None:
        """Have a pull fail."""
        self.ensure()
        self.answer(error=error)

    def last(self) -> Any:
        return self.returned[-1]


class TestPolicy:
    def test_an_image_that_is_here_is_not_pulled(self) -> None:
        bench = Bench()
        bench.ensure(IF_NOT_PRESENT)
        assert bench.pending_operations() == [GetImageStatus(IMAGE)]

        bench.answer("sha256:1")

        assert bench.returned == [EnsuredImage("sha256:1")]
        assert bench.events() == [
            (
                "Normal",
                "Pulled",
                'Container image "busybox:1.36" already present on machine',
            )
        ]

    def test_one_that_is_not_here_is(self) -> None:
        bench = Bench()
        bench.ensure(IF_NOT_PRESENT)

        bench.answer(None)

        assert bench.pending_operations() == [PullImage(a_pod(a_container()), IMAGE)]

    def test_with_pull_policy_always_the_image_is_not_inspected(self) -> None:
        bench = Bench()

        bench.ensure(ALWAYS)

        assert isinstance(bench.pending_operations()[0], PullImage)

    def test_with_pull_policy_never_the_image_must_exist(self) -> None:
        bench = Bench()
        bench.ensure(NEVER)

        bench.answer(None)

        message = (
            'Container image "busybox:1.36" is not present with pull policy of Never'
        )
        assert bench.returned == [EnsuredImage("", "ErrImageNeverPull", message)]
        assert bench.events() == [("Warning", "ErrImageNeverPull", message)]

    def test_an_image_that_cannot_be_inspected_is_not_named(self) -> None:
        """Quirk: the quotes are empty."""
        bench = Bench()
        bench.ensure(IF_NOT_PRESENT)

        bench.answer(error="daemon gone")

        message = 'Failed to inspect image "": daemon gone'
        assert bench.returned == [EnsuredImage("", "ImageInspectError", message)]
        assert bench.events() == [("Warning", "InspectFailed", message)]

    def test_an_invalid_image_name_is_never_requested(self) -> None:
        bench = Bench()

        bench.ensure(image="Busybox")

        message = (
            'Failed to apply default image tag "Busybox": '
            'couldn\'t parse image name "Busybox": invalid reference format: '
            "repository name (library/Busybox) must be lowercase"
        )
        assert bench.returned == [EnsuredImage("", "InvalidImageName", message)]
        assert bench.events() == [("Warning", "InspectFailed", message)]
        assert bench.pending_operations() == []

    def test_the_runtime_hears_of_the_tag_that_people_left_out(self) -> None:
        bench = Bench()

        bench.ensure(IF_NOT_PRESENT, "busybox")

        assert bench.pending_operations() == [GetImageStatus("busybox:latest")]
        bench.answer("sha256:1")
        assert '"busybox"' in bench.events()[0][2]


class TestPull:
    def test_a_pull_has_events_with_its_duration(self) -> None:
        bench = Bench()
        bench.ensure()

        bench.answer(PulledImage("sha256:1", 4_000_000), after=1.2345)

        assert bench.returned == [EnsuredImage("sha256:1")]
        assert [message for _, _, message in bench.events()] == [
            'Pulling image "busybox:1.36"',
            (
                'Successfully pulled image "busybox:1.36" in 1.234s '
                "(1.234s including waiting). Image size: 4000000 bytes."
            ),
        ]

    def test_a_failed_pull_is_an_event(self) -> None:
        bench = Bench()

        bench.fail("no such host")

        assert bench.returned == [
            EnsuredImage("", "ErrImagePull", "no such host"),
        ]
        assert bench.events()[-1] == (
            "Warning",
            "Failed",
            'Failed to pull image "busybox:1.36": no such host',
        )

    @pytest.mark.parametrize(
        ("error", "reason", "message"),
        [
            pytest.param(
                "RegistryUnavailable: 503",
                "RegistryUnavailable",
                (
                    "image pull failed for busybox:1.36 because "
                    "the registry is unavailable: 503"
                ),
                id="registry",
            ),
            pytest.param(
                "SignatureValidationFailed: no key",
                "SignatureValidationFailed",
                (
                    "image pull failed for busybox:1.36 because "
                    "the signature validation failed: no key"
                ),
                id="signature",
            ),
        ],
    )
    def test_some_errors_are_recognized_by_their_prefix(
        self, error: str, reason: str, message: str
    ) -> None:
        bench = Bench()

        bench.fail(error)

        assert bench.returned == [EnsuredImage("", reason, message)]

    def test_a_pull_without_an_image_has_failed(self) -> None:
        bench = Bench()
        bench.ensure()

        bench.answer(None)

        assert bench.last().message == "the runtime gave no image"


class TestBackOff:
    def test_after_a_failure_the_next_pull_waits(self) -> None:
        bench = Bench()
        bench.fail()

        bench.wait(9.9)
        bench.ensure()

        assert bench.last() == EnsuredImage(
            "",
            "ImagePullBackOff",
            'Back-off pulling image "busybox:1.36": ErrImagePull: no such host',
        )
        assert bench.events()[-1] == (
            "Normal",
            "BackOff",
            'Back-off pulling image "busybox:1.36"',
        )
        assert bench.pending_operations() == []

    def test_the_wait_ends_and_is_twice_as_long_the_next_time(self) -> None:
        bench = Bench()
        waited = []
        for wait in (0, 10, 19.9, 0.1):
            bench.wait(wait)
            bench.ensure()
            waited.append(bench.pending_operations() == [])
            for _ in bench.pending_operations():
                bench.answer(error="no")

        assert waited == [False, False, True, False]

    def test_a_success_does_not_shorten_it(self) -> None:
        bench = Bench()
        bench.fail()
        bench.wait(10)
        bench.ensure()
        bench.answer(PulledImage("sha256:1", 1))

        bench.fail()
        bench.wait(19.9)
        bench.ensure()

        assert bench.last().reason == "ImagePullBackOff"

    def test_without_an_error_the_message_is_only_that_it_waits(self) -> None:
        bench = Bench()
        bench.backoff.next(f"uid-of-web_{IMAGE}", bench.now, bench.now)

        bench.ensure()

        assert bench.last().message == 'Back-off pulling image "busybox:1.36"'

    def test_two_pods_with_one_image_wait_each_for_themselves(self) -> None:
        bench = Bench()
        bench.fail()
        container = a_container(image_pull_policy=ALWAYS)
        other = a_pod(container, name="other")

        bench.start(bench.images.ensure_image(other, container, bench.now))

        assert bench.pending_operations() == [PullImage(other, IMAGE)]


@pytest.mark.parametrize(
    ("image", "full"),
    [
        pytest.param("busybox", "busybox:latest", id="short"),
        pytest.param("busybox:1.36", "busybox:1.36", id="tagged"),
        pytest.param("a/b/c", "a/b/c:latest", id="path"),
        pytest.param("localhost/app", "localhost/app:latest", id="localhost"),
        pytest.param("host:5000/app", "host:5000/app:latest", id="port"),
        pytest.param("host:5000/app:v1", "host:5000/app:v1", id="port-and-tag"),
        pytest.param("Host/app", "Host/app:latest", id="upper-case-host"),
        pytest.param("[::1]:5000/app", "[::1]:5000/app:latest", id="ipv6"),
        pytest.param(f"app@sha256:{'0' * 64}", f"app@sha256:{'0' * 64}", id="digest"),
    ],
)
def test_an_image_without_tag_or_digest_is_the_latest(image: str, full: str) -> None:
    assert with_default_tag(image) == full


@pytest.mark.parametrize(
    ("image", "why"),
    [
        pytest.param("", "invalid reference format", id="empty"),
        pytest.param("a b", "invalid reference format", id="space"),
        pytest.param("app:", "invalid reference format", id="empty-tag"),
        pytest.param(f"app:{'x' * 129}", "invalid reference format", id="long-tag"),
        pytest.param("app@sha256:12", "invalid reference format", id="short-digest"),
        pytest.param("app@", "invalid reference format", id="empty-digest"),
        pytest.param(
            "docker.io/a/B",
            "invalid reference format: repository name (a/B) must be lowercase",
            id="upper-case-path",
        ),
        pytest.param(
            "B",
            "invalid reference format: repository name (library/B) must be lowercase",
            id="upper-case-name",
        ),
    ],
)
def test_what_is_not_an_image_s_name_is_refused_in_go_s_words(
    image: str, why: str
) -> None:
    with pytest.raises(InvalidImageNameError) as refused:
        with_default_tag(image)

    assert str(refused.value) == why


class TestVersions:
    @pytest.mark.parametrize(
        ("version", "ending"),
        [
            ("1.15", ""),
            ("1.19", " in 1.2345s"),
            ("1.20", " in 1.2345s"),
            ("1.28", " in 1.234s (1.234s including waiting)"),
            ("1.32", " in 1.234s (1.234s including waiting). Image size: 7 bytes."),
        ],
    )
    def test_the_event_of_a_pull_is_that_of_the_version(
        self, version: str, ending: str
    ) -> None:
        bench = Bench(version)
        bench.ensure()
        bench.wait(1.2345)

        bench.answer(PulledImage("sha256:1", 7))

        message = f'Successfully pulled image "busybox:1.36"{ending}'
        assert bench.events()[-1] == ("Normal", "Pulled", message)

    @pytest.mark.parametrize(
        ("version", "ending"), [("1.28", ""), ("1.32", ": ErrImagePull: no such host")]
    )
    def test_a_back_off_says_why_the_last_pull_failed_from_1_32_on(
        self, version: str, ending: str
    ) -> None:
        bench = Bench(version)
        bench.fail()

        bench.ensure()

        message = f'Back-off pulling image "busybox:1.36"{ending}'
        assert bench.last() == EnsuredImage("", "ImagePullBackOff", message)

    @pytest.mark.parametrize(("version", "name"), [("1.28", IMAGE), ("1.32", "")])
    def test_an_image_that_cannot_be_inspected_has_its_name_until_1_32(
        self, version: str, name: str
    ) -> None:
        bench = Bench(version)
        bench.ensure(IF_NOT_PRESENT)

        bench.answer(error="broken")

        assert bench.last().message == f'Failed to inspect image "{name}": broken'

    @pytest.mark.parametrize(
        ("version", "what"), [("1.20", "reference"), ("1.28", "name")]
    )
    def test_what_is_no_image_s_name_has_the_words_of_the_version(
        self, version: str, what: str
    ) -> None:
        bench = Bench(version)

        bench.ensure(image="a b")

        assert bench.last().message == (
            'Failed to apply default image tag "a b": '
            f'couldn\'t parse image {what} "a b": invalid reference format'
        )


class TestPullSecrets:
    SECRETS = (
        pull_secret({"registry.test": {"username": "one", "password": "1"}}),
        pull_secret({"registry.test": {"username": "two", "password": "2"}}),
    )

    def _pulls(self, bench: Bench) -> list[RegistryCredentials | None]:
        pulls = bench.pending_operations()
        return [pull.credentials for pull in pulls if isinstance(pull, PullImage)]

    def test_credentials_are_tried_in_turn_until_the_image_is_here(self) -> None:
        bench = Bench()
        bench.ensure(ALWAYS, "registry.test/app:1", self.SECRETS)
        assert self._pulls(bench) == [RegistryCredentials("one", "1")]
        bench.answer(error="unauthorized: one")
        assert self._pulls(bench) == [RegistryCredentials("two", "2")]
        bench.answer(PulledImage("sha256:1", 1))
        assert bench.returned == [EnsuredImage("sha256:1")]
        assert [reason for _, reason, _ in bench.events()] == ["Pulling", "Pulled"]

    def test_credentials_are_not_written_into_a_log(self) -> None:
        assert repr(RegistryCredentials("one", "1")) == "RegistryCredentials(...)"

    def test_the_errors_of_all_credentials_are_one_error(self) -> None:
        bench = Bench()
        bench.ensure(ALWAYS, "registry.test/app:1", self.SECRETS)
        bench.answer(error="unauthorized: one")
        bench.answer(error="unauthorized: two")
        why = "[unauthorized: one, unauthorized: two]"
        assert bench.returned == [EnsuredImage("", "ErrImagePull", why)]
        message = f'Failed to pull image "registry.test/app:1": {why}'
        assert bench.events()[-1] == ("Warning", "Failed", message)

    def test_the_credentials_of_the_engine_are_for_all_other_images(self) -> None:
        bench = Bench()
        bench.ensure(ALWAYS, IMAGE, self.SECRETS)
        assert self._pulls(bench) == [None]

    def test_a_secret_that_cannot_be_read_fails_the_pull(self) -> None:
        bench = Bench()
        bench.ensure(ALWAYS, IMAGE, [pull_secret({"a.test": {"auth": "!"}})])
        assert bench.pending_operations() == []
        why = "illegal base64 data at input byte 0"
        assert bench.returned == [EnsuredImage("", "ErrImagePull", why)]
