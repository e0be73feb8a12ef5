from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probetui.k8s.environment import (
    MAX_EXPANSION_BYTES,
    ConfigMapEnvSource,
    ConfigMapKeyRef,
    EnvFrom,
    EnvVarSource,
    FieldRef,
    ResourceFieldRef,
    SecretEnvSource,
    SecretKeyRef,
)
from probetui.k8s.pod import Container, EnvVar
from probetui.k8s.runtime import Node
from probetui.k8s.volume import ConfigMap, ConfigObject, Secret
from probetui.kubelet.kuberuntime.container_config import Environment, make_environment
from probetui.kubelet.kuberuntime.downward_api import PodLocation
from probetui.kubelet.object_store import ConfigRefusal, ObjectStore
from tests.builders import a_container, a_pod, env

CONFIG = ConfigMap("config", data={"A": "a", "EMPTY": ""}, binary_data={"BIN": b"\0"})
SECRET = Secret("secret", data={"S": b"s\xff", "EMPTY": b""})


def make(
    container: Container, *objects: ConfigObject, pod_ips: tuple[str, ...] = ()
) -> Environment | ConfigRefusal:
    known = ObjectStore()
    known.replace(objects or (CONFIG, SECRET))
    where = PodLocation(Node(), pod_ips)
    return make_environment(a_pod(container), container, known, where)


def sourced(name: str, source: EnvVarSource | None) -> EnvVar:
    return EnvVar(name, has_value_from=True, value_from=source)


def test_literal_values_keep_their_order() -> None:
    environment = make(a_container(env=env(B="1", A="2")))

    assert not isinstance(environment, ConfigRefusal)
    assert list(environment.items()) == [("B", "1"), ("A", "2")]


def test_a_value_can_reference_earlier_variables_only() -> None:
    variables = env(A="1", B="$(A)-$(C)-$$(A)", C="3")

    assert make(a_container(env=variables)) == {
        "A": "1",
        "B": "1-$(C)-$(A)",
        "C": "3",
    }


def test_a_later_variable_of_the_same_name_may_build_on_the_earlier_one() -> None:
    variables = (*env(PATH="/a"), *env(PATH="$(PATH):/b"))

    assert make(a_container(env=variables)) == {"PATH": "/a:/b"}


def test_all_entries_of_an_object_come_with_the_prefix() -> None:
    container = a_container(
        env_from=(
            EnvFrom(ConfigMapEnvSource("config"), "C_"),
            EnvFrom(SecretEnvSource("secret")),
        )
    )

    assert make(container) == {"C_A": "a", "C_EMPTY": "", "S": "s\udcff", "EMPTY": ""}


def test_of_two_sources_the_later_one_counts_and_env_before_both() -> None:
    container = a_container(
        env_from=(
            EnvFrom(ConfigMapEnvSource("one")),
            EnvFrom(ConfigMapEnvSource("two")),
        ),
        env=env(C="own $(B)"),
    )
    one = ConfigMap("one", data={"A": "1", "B": "1", "C": "1"})
    two = ConfigMap("two", data={"B": "2", "C": "2"})

    assert make(container, one, two) == {"A": "1", "B": "2", "C": "own 2"}


@pytest.mark.parametrize(
    ("source", "value"),
    [
        pytest.param(FieldRef("metadata.name"), "web", id="field"),
        pytest.param(FieldRef("status.podIP"), "10.0.0.9", id="address"),
        pytest.param(ResourceFieldRef("requests.cpu"), "0", id="resource"),
        pytest.param(ConfigMapKeyRef("config", "A"), "a", id="ConfigMap"),
        pytest.param(ConfigMapKeyRef("config", "EMPTY"), "", id="an empty entry"),
        pytest.param(SecretKeyRef("secret", "S"), "s\udcff", id="Secret"),
        pytest.param(SecretKeyRef("secret", "EMPTY"), "", id="an empty secret"),
        pytest.param(None, "", id="a source that is not known"),
    ],
)
def test_a_variable_has_the_value_of_its_source(
    source: EnvVarSource | None, value: str
) -> None:
    container = a_container(env=(sourced("X", source),))

    assert make(container, pod_ips=("10.0.0.9",)) == {"X": value}


def test_a_value_from_a_source_is_not_expanded() -> None:
    container = a_container(
        env=(*env(A="1"), sourced("B", ConfigMapKeyRef("raw", "x")))
    )

    assert make(container, ConfigMap("raw", data={"x": "$(A)"})) == {
        "A": "1",
        "B": "$(A)",
    }


@pytest.mark.parametrize(
    ("source", "message"),
    [
        pytest.param(
            ConfigMapKeyRef("none", "A"), 'configmap "none" not found', id="ConfigMap"
        ),
        pytest.param(SecretKeyRef("none", "S"), 'secret "none" not found', id="Secret"),
        pytest.param(
            ConfigMapKeyRef("config", "B"),
            "couldn't find key B in ConfigMap default/config",
            id="entry of a ConfigMap",
        ),
        pytest.param(
            ConfigMapKeyRef("config", "BIN"),
            "couldn't find key BIN in ConfigMap default/config",
            id="binary entry",
        ),
        pytest.param(
            SecretKeyRef("secret", "B"),
            "couldn't find key B in Secret default/secret",
            id="entry of a Secret",
        ),
    ],
)
def test_a_reference_that_leads_nowhere_is_refused(
    source: EnvVarSource, message: str
) -> None:
    container = a_container(env=(sourced("X", source),))

    assert make(container) == ConfigRefusal(message, is_missing=True)


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(ConfigMapKeyRef("none", "A", optional=True), id="ConfigMap"),
        pytest.param(ConfigMapKeyRef("config", "B", optional=True), id="its entry"),
        pytest.param(SecretKeyRef("none", "S", optional=True), id="Secret"),
        pytest.param(SecretKeyRef("secret", "B", optional=True), id="its entry too"),
    ],
)
def test_an_optional_reference_that_leads_nowhere_changes_nothing(
    source: EnvVarSource,
) -> None:
    container = a_container(env=(*env(X="before"), sourced("X", source)))

    assert make(container) == {"X": "before"}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param(
            ConfigMapEnvSource("none"),
            ConfigRefusal('configmap "none" not found', is_missing=True),
            id="ConfigMap",
        ),
        pytest.param(
            SecretEnvSource("none"),
            ConfigRefusal('secret "none" not found', is_missing=True),
            id="Secret",
        ),
        pytest.param(ConfigMapEnvSource("none", optional=True), {}, id="optional"),
        pytest.param(SecretEnvSource("none", optional=True), {}, id="optional Secret"),
    ],
)
def test_a_whole_object_that_is_missing(
    source: ConfigMapEnvSource | SecretEnvSource, expected: Environment | ConfigRefusal
) -> None:
    assert make(a_container(env_from=(EnvFrom(source),))) == expected


def test_a_field_that_does_not_exist_is_refused_even_if_others_are_optional() -> None:
    container = a_container(env=(sourced("X", FieldRef("spec.nothing")),))

    assert make(container) == ConfigRefusal("unsupported fieldPath: spec.nothing")


@given(st.dictionaries(st.text(min_size=1), st.text()))
def test_values_without_dollars_are_unchanged(values: dict[str, str]) -> None:
    plain = {name: value.replace("$", "") for name, value in values.items()}
    variables = tuple(EnvVar(name, value) for name, value in plain.items())

    assert make(a_container(env=variables)) == plain


def test_variables_that_double_again_and_again_are_refused() -> None:
    doubled = {f"A{number}": f"$(A{number - 1})" * 2 for number in range(1, 40)}

    made = make(a_container(env=env(A0="x" * 64, **doubled)))

    assert made == ConfigRefusal("the variables of the container are larger than 1 MiB")


def test_variables_of_a_mebibyte_are_not_too_large() -> None:
    # Each takes two bytes beside its name and its value.
    most = "x" * (MAX_EXPANSION_BYTES - 3)

    assert make(a_container(env=(EnvVar("A", most),))) == {"A": most}
    assert make(a_container(env=(EnvVar("A", most), EnvVar("A", "y")))) == {"A": "y"}
    assert make(a_container(env=(EnvVar("A", f"{most}x"),))) == ConfigRefusal(
        "the variables of the container are larger than 1 MiB"
    )


def test_variables_that_are_too_large_together_are_refused() -> None:
    many = {f"A{number}": "x" * 1000 for number in range(1100)}

    made = make(a_container(env=env(**many)))

    assert made == ConfigRefusal("the variables of the container are larger than 1 MiB")
