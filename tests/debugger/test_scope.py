from __future__ import annotations

import pytest

from probetui.debugger.scope import ALL_PROBES, Scope, ScopedSetting
from probetui.k8s.probe import ProbeType
from tests.builders import a_key

LIVE, READY = a_key(ProbeType.LIVENESS), a_key(ProbeType.READINESS)
APP = Scope(LIVE.pod_uid, "app")
POD = Scope(LIVE.pod_uid)


@pytest.mark.parametrize(
    ("scope", "is_covered"),
    [
        pytest.param(ALL_PROBES, True, id="everything"),
        pytest.param(POD, True, id="its-pod"),
        pytest.param(APP, True, id="its-container"),
        pytest.param(Scope.of(LIVE), True, id="itself"),
        pytest.param(Scope(probe_type=ProbeType.LIVENESS), True, id="its-type"),
        pytest.param(Scope("another"), False, id="another-pod"),
        pytest.param(Scope(LIVE.pod_uid, "x"), False, id="another-container"),
        pytest.param(Scope.of(READY), False, id="another-probe"),
    ],
)
def test_a_scope_covers_what_is_in_it(scope: Scope, is_covered: bool) -> None:  # noqa: FBT001  # a column of the table
    assert scope.includes(Scope.of(LIVE)) is is_covered


def test_a_wider_scope_is_not_in_a_narrower_one() -> None:
    assert POD.includes(APP)
    assert not APP.includes(POD)


class TestScoped:
    def test_without_a_setting_the_default_applies(self) -> None:
        assert ScopedSetting("quiet").of(APP) == "quiet"

    def test_the_newest_statement_about_a_probe_counts(self) -> None:
        scoped = ScopedSetting(default=False)

        scoped.set(ALL_PROBES, value=True)
        scoped.set(Scope.of(LIVE), value=False)

        assert not scoped.of(Scope.of(LIVE))
        assert scoped.of(Scope.of(READY))

    def test_a_setting_for_all_replaces_settings_for_a_part(self) -> None:
        scoped = ScopedSetting(default=False)
        scoped.set(Scope.of(LIVE), value=True)

        scoped.set(ALL_PROBES, value=False)

        assert not scoped.of(Scope.of(LIVE))
        assert not scoped

    def test_a_setting_for_a_probe_does_not_apply_to_its_container(self) -> None:
        scoped = ScopedSetting(default=False)

        scoped.set(Scope.of(LIVE), value=True)

        assert not scoped.of(APP)

    def test_a_pod_that_is_gone_is_forgotten(self) -> None:
        scoped = ScopedSetting(default=False)
        scoped.set(APP, value=True)

        scoped.forget_pod(APP.pod_uid)

        assert not scoped
