from __future__ import annotations

from decimal import Decimal

import pytest

from probetui.k8s.environment import FieldRef, ResourceFieldRef
from probetui.k8s.pod import VolumeMount
from probetui.k8s.volume import (
    ConfigMapFiles,
    DownwardAPIFile,
    DownwardAPIFiles,
    EmptyDir,
    HostPath,
    KeyToPath,
    OtherVolume,
    PodCertificateFiles,
    Projected,
    SecretFiles,
    ServiceAccountTokenFile,
    TrustBundleFile,
    Volume,
    VolumeSource,
)
from probetui.manifest.draft import build_pod
from tests.manifest.yaml_pods import pod_model


@pytest.mark.parametrize(
    ("written", "source"),
    [
        pytest.param("emptyDir: {}", EmptyDir(), id="empty"),
        pytest.param("", EmptyDir(), id="nothing"),
        pytest.param(
            "emptyDir: {medium: Memory, sizeLimit: 1Ki}",
            EmptyDir("Memory", Decimal(1024)),
            id="in memory",
        ),
        pytest.param("hostPath: {path: /a}", HostPath("/a"), id="host path"),
        pytest.param(
            "hostPath: {path: /a, type: File}", HostPath("/a", "File"), id="host file"
        ),
        pytest.param(
            "configMap: {name: c}", Projected((ConfigMapFiles("c"),)), id="ConfigMap"
        ),
        pytest.param(
            "configMap: {name: c, defaultMode: 256, optional: true, items: [{key: k,"
            " path: p}, {key: l, path: q, mode: 0}]}",
            Projected(
                (
                    ConfigMapFiles(
                        "c",
                        (KeyToPath("k", "p"), KeyToPath("l", "q", 0)),
                        optional=True,
                    ),
                ),
                0o400,
            ),
            id="entries of a ConfigMap",
        ),
        pytest.param(
            "secret: {secretName: s, items: [{key: k, path: p}]}",
            Projected((SecretFiles("s", (KeyToPath("k", "p"),)),)),
            id="Secret",
        ),
        pytest.param(
            "downwardAPI: {items: [{path: a, fieldRef: {fieldPath: f}, mode: 1}, {path:"
            " b, resourceFieldRef: {resource: limits.cpu, containerName: app}}, {path:"
            " c}]}",
            Projected(
                (
                    DownwardAPIFiles(
                        (
                            DownwardAPIFile("a", FieldRef("f"), 1),
                            DownwardAPIFile("b", ResourceFieldRef("limits.cpu", "app")),
                            DownwardAPIFile("c", None),
                        )
                    ),
                )
            ),
            id="about the pod",
        ),
        pytest.param(
            "projected: {defaultMode: 0, sources: [{secret: {name: s}}, {configMap:"
            " {name: c, optional: true}}, {serviceAccountToken: {path: t}},"
            " {downwardAPI: {}}, {clusterTrustBundle: {signerName: example.com/a, path:"
            " b}}, {podCertificate: {signerName: example.com/a, keyType: ED25519,"
            " keyPath: k, certificateChainPath: c}}]}",
            Projected(
                (
                    SecretFiles("s"),
                    ConfigMapFiles("c", optional=True),
                    ServiceAccountTokenFile("t", expiration_seconds=3600),
                    DownwardAPIFiles(),
                    TrustBundleFile("b", signer_name="example.com/a"),
                    PodCertificateFiles(
                        "example.com/a",
                        "ED25519",
                        key_path="k",
                        certificate_chain_path="c",
                    ),
                ),
                0,
            ),
            id="from several sources",
        ),
        pytest.param(
            "persistentVolumeClaim: {claimName: c}",
            OtherVolume("persistentVolumeClaim"),
            id="a kind we do not have",
        ),
    ],
)
def test_a_volume(written: str, source: VolumeSource) -> None:
    fields = ", ".join(filter(None, ["name: v", written]))

    pod = build_pod(pod_model(spec=f"volumes: [{{{fields}}}]"))

    assert pod.volumes == (Volume("v", source),)
    assert pod.volume("v") is pod.volumes[0]


def test_a_mount_with_all_its_fields() -> None:
    model = pod_model(
        "volumeMounts: [{name: v, mountPath: /v, readOnly: true, subPathExpr: $(A),"
        " mountPropagation: Bidirectional}]"
    )

    (container,) = build_pod(model).containers

    assert container.volume_mounts == (
        VolumeMount(
            "v",
            "/v",
            read_only=True,
            sub_path_expr="$(A)",
            mount_propagation="Bidirectional",
        ),
    )
