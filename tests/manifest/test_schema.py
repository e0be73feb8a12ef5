from __future__ import annotations

import pytest
from lightkube.models import apps_v1, core_v1, meta_v1

from probetui.manifest.schema import Kind, empty, fields_of


@pytest.mark.parametrize(
    ("model", "name", "kind", "is_list"),
    [
        pytest.param(core_v1.Probe, "periodSeconds", Kind.INT32, False, id="32-bit"),
        pytest.param(
            core_v1.Probe,
            "terminationGracePeriodSeconds",
            Kind.INT64,
            False,
            id="64-bit",
        ),
        pytest.param(core_v1.Container, "command", Kind.STRING, True, id="texts"),
        pytest.param(core_v1.Container, "ports", Kind.OBJECT, True, id="objects"),
        pytest.param(core_v1.Container, "tty", Kind.BOOL, False, id="boolean"),
        pytest.param(
            core_v1.HTTPGetAction, "port", Kind.INT_OR_STRING, False, id="port"
        ),
        pytest.param(
            apps_v1.RollingUpdateDeployment,
            "maxSurge",
            Kind.INT_OR_STRING,
            False,
            id="optional-number-or-text",
        ),
        pytest.param(
            core_v1.EmptyDirVolumeSource, "sizeLimit", Kind.QUANTITY, False, id="size"
        ),
        pytest.param(
            core_v1.ResourceRequirements, "limits", Kind.QUANTITY_MAP, False, id="sizes"
        ),
        pytest.param(meta_v1.ObjectMeta, "labels", Kind.STRING_MAP, False, id="labels"),
        pytest.param(
            meta_v1.ObjectMeta, "creationTimestamp", Kind.TIME, False, id="time"
        ),
        pytest.param(meta_v1.ManagedFieldsEntry, "fieldsV1", Kind.RAW, False, id="raw"),
    ],
)
def test_fields_have_the_types_of_the_api(
    model: type[core_v1.Probe], name: str, kind: Kind, *, is_list: bool
) -> None:
    field = fields_of(model)[name]

    assert (field.kind, field.is_list) == (kind, is_list)


def test_what_is_required_has_gos_zero_value() -> None:
    assert empty(core_v1.HTTPGetAction) == core_v1.HTTPGetAction(port=0)
    assert empty(core_v1.PodSpec) == core_v1.PodSpec(containers=[])
    assert empty(apps_v1.DeploymentSpec) == apps_v1.DeploymentSpec(
        selector=meta_v1.LabelSelector(), template=core_v1.PodTemplateSpec()
    )
