"""Stand-ins for objects that a cluster gives every pod, stubs of missing objects."""

from __future__ import annotations

import ssl
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from probetui.drive.scenario.script import NO_SCENARIO, START
from probetui.drive.simulation import Simulation
from probetui.engine.engine import Engine
from probetui.engine.inputs import SetObjects, SetPods
from probetui.k8s.runtime import Node
from probetui.k8s.volume import (
    STAND_IN_CERTIFICATE,
    STAND_IN_TOKEN,
    ConfigMap,
    Projected,
    Secret,
)
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.journal import EventEntry
from probetui.kubelet.object_store import ConfigRefusal, ObjectStore
from probetui.kubelet.volumes.volume_files import volume_files
from probetui.kubelet_rules import rules_of
from probetui.manifest.load import load_manifests
from probetui.manifest.manifests import Manifests
from probetui.manifest.yaml.parser import SourceFile

CLUSTER_PODS = Path(__file__).parent / "cluster_pods"
"""Pods as `kubectl get pod -o yaml` prints them, by the version of the cluster."""

FILES = sorted(path.name for path in CLUSTER_PODS.iterdir())
STUBBED = {"1.36-mesh.yaml", "1.36-stateful.yaml"}
UNSUPPORTED = {"1.32-service-ca.yaml", "1.36-stateful.yaml"}


def load(name: str, *more: SourceFile, stub_missing: bool = False) -> Manifests:
    source = SourceFile(name, (CLUSTER_PODS / name).read_text())
    rules = rules_of(name.partition("-")[0])
    return load_manifests([source, *more], rules=rules, stub_missing=stub_missing)


def warnings(manifests: Manifests, rule: str) -> list[str]:
    return [one.message for one in manifests.warnings if one.rule == rule]


@pytest.mark.parametrize("name", FILES)
def test_a_pod_of_a_cluster_becomes_ready(name: str) -> None:
    manifests = load(name, stub_missing=name in STUBBED)
    config = KubeletConfig(version=name.partition("-")[0])
    simulation = Simulation(Engine(config, START), NO_SCENARIO.world(), START)
    simulation.schedule(SetObjects(manifests.config_objects), START)
    simulation.schedule(SetPods(manifests.pods), START)

    simulation.run_for(timedelta(seconds=20))

    (pod,) = simulation.engine.snapshot(simulation.now).pods
    (status,) = pod.status.container_statuses or ()
    assert status.ready
    events = [one for one in simulation.journal if isinstance(one, EventEntry)]
    assert [one for one in events if one.event.reason == "FailedMount"] == []


@pytest.mark.parametrize("name", FILES)
def test_what_only_a_server_sets_is_no_obstacle(name: str) -> None:
    manifests = load(name, stub_missing=name in STUBBED)

    rules = {problem.rule for problem in manifests.problems}
    assert rules <= {"cluster-stand-in", "stub-missing"}
    assert bool(manifests.unsupported) == (name in UNSUPPORTED - STUBBED)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        pytest.param(
            "1.28-bound-token.yaml",
            'a cluster has it, here is a stand-in: ConfigMap "kube-root-ca.crt", a '
            "service account token that no API server accepts",
            id="a projected volume",
        ),
        pytest.param(
            "1.20-token-secret.yaml",
            'a cluster has it, here is a stand-in: Secret "default-token-x7k2p"',
            id="a Secret",
        ),
        pytest.param(
            "1.32-service-ca.yaml",
            'a cluster has it, here is a stand-in: ConfigMap "kube-root-ca.crt", '
            'ConfigMap "openshift-service-ca.crt", a service account token that no '
            "API server accepts",
            id="two certificates",
        ),
    ],
)
def test_all_stand_ins_are_named_by_one_warning(name: str, words: str) -> None:
    assert warnings(load(name), "cluster-stand-in") == [words]


def test_pods_of_two_files_are_warned_of_once() -> None:
    text = (CLUSTER_PODS / "1.34-cloud-identity.yaml").read_text()
    other = SourceFile("other.yaml", text.replace("cloud-identity", "other"))

    manifests = load("1.34-cloud-identity.yaml", other)

    assert len(manifests.pods) == 2
    assert len(warnings(manifests, "cluster-stand-in")) == 1


def test_a_stand_in_has_what_a_program_reads() -> None:
    (secret,) = load("1.20-token-secret.yaml").config_objects
    (config_map,) = load("1.28-bound-token.yaml").config_objects

    certificate = STAND_IN_CERTIFICATE.encode()
    assert isinstance(secret, Secret)
    assert secret.data == {
        "ca.crt": certificate,
        "namespace": b"shop",
        "token": STAND_IN_TOKEN,
    }
    assert isinstance(config_map, ConfigMap)
    assert config_map.data == {"ca.crt": STAND_IN_CERTIFICATE}
    ssl.create_default_context(cadata=STAND_IN_CERTIFICATE)


def test_the_files_own_certificate_is_no_stand_in() -> None:
    own = SourceFile(
        "own.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kube-root-ca.crt,"
        " namespace: shop}\ndata: {ca.crt: mine}\n",
    )

    (config_map,) = load("1.28-bound-token.yaml", own).config_objects

    assert isinstance(config_map, ConfigMap)
    assert config_map.data == {"ca.crt": "mine"}


def test_without_stubs_missing_objects_are_reported() -> None:
    manifests = load("1.36-stateful.yaml")

    assert len(warnings(manifests, "no-object")) == 3
    assert [problem.path for problem in manifests.unsupported] == [
        "spec.volumes[1].persistentVolumeClaim"
    ]


def test_each_stub_is_named_with_what_is_in_it() -> None:
    manifests = load("1.36-stateful.yaml", stub_missing=True)

    assert set(warnings(manifests, "stub-missing")) == {
        'ConfigMap "settings" is a stub with "stub" as app.conf, mode',
        'Secret "login" is a stub, empty',
        'PersistentVolumeClaim "data-stateful-0" is a stub, an empty volume',
    }


def test_stand_ins_for_certificates_are_one_warning_with_the_token() -> None:
    manifests = load("1.37-certificates.yaml")

    (warning,) = warnings(manifests, "cluster-stand-in")
    assert "a pod certificate that nobody trusts" in warning
    assert "a service account token that no API server accepts" in warning
    assert "a trust bundle whose certificate has signed nothing" in warning
    assert manifests.unsupported == ()


def test_a_server_can_use_the_certificate_of_its_pod(tmp_path: Path) -> None:
    (pod,) = load("1.37-certificates.yaml").pods
    (volume,) = pod.volumes
    assert isinstance(volume.source, Projected)
    certificates = replace(volume.source, sources=volume.source.sources[-2:])

    files = volume_files(pod, certificates, ObjectStore(), Node("node"))

    assert not isinstance(files, ConfigRefusal)
    contents = {file.path: file.content.decode() for file in files}
    bundle = tmp_path / "bundle.pem"
    bundle.write_text(contents["credentials.pem"])
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(bundle)
    assert contents == {
        "bundle.pem": STAND_IN_CERTIFICATE,
        "credentials.pem": contents["tls/key.pem"] + contents["tls/chain.pem"],
        "tls/chain.pem": contents["tls/chain.pem"],
        "tls/key.pem": contents["tls/key.pem"],
    }
