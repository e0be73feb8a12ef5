from __future__ import annotations

import pytest
from lightkube.models import apps_v1, core_v1, meta_v1

from probetui.manifest.schema import FieldKind, empty_object, fields_of


@pytest.mark.parametrize(
    ("model", "name", "kind", "is_list"),
    [
        pytest.param(
            core_v1.Probe, "periodSeconds", FieldKind.INT32, False, id="32-bit"
        ),
        pytest.param(
            core_v1.Probe,
            "terminationGracePeriodSeconds",
            FieldKind.INT64,
            False,
            id="64-bit",
        ),
        pytest.param(core_v1.Container, "command", FieldKind.STRING, True, id="texts"),
        pytest.param(core_v1.Container, "ports", FieldKind.OBJECT, True, id="objects"),
        pytest.param(core_v1.Container, "tty", FieldKind.BOOL, False, id="boolean"),
        pytest.param(
            core_v1.HTTPGetAction, "port", FieldKind.INT_OR_STRING, False, id="port"
        ),
        pytest.param(
            apps_v1.RollingUpdateDeployment,
            "maxSurge",
            FieldKind.INT_OR_STRING,
            False,
            id="optional-number-or-text",
        ),
        pytest.param(
            core_v1.EmptyDirVolumeSource,
            "sizeLimit",
            FieldKind.QUANTITY,
            False,
            id="size",
        ),
        pytest.param(
            core_v1.ResourceRequirements,
            "limits",
            FieldKind.QUANTITY_MAP,
            False,
            id="sizes",
        ),
        pytest.param(
            meta_v1.ObjectMeta, "labels", FieldKind.STRING_MAP, False, id="labels"
        ),
        pytest.param(
            meta_v1.ObjectMeta, "creationTimestamp", FieldKind.TIME, False, id="time"
        ),
        pytest.param(
            meta_v1.ManagedFieldsEntry, "fieldsV1", FieldKind.RAW, False, id="raw"
        ),
    ],
)
def test_fields_have_the_types_of_the_api(
    model: type[core_v1.Probe], name: str, kind: FieldKind, *, is_list: bool
) -> None:
    field = fields_of(model)[name]

    assert (field.kind, field.is_list) == (kind, is_list)


def test_what_is_required_has_gos_zero_value() -> None:
    assert empty_object(core_v1.HTTPGetAction) == core_v1.HTTPGetAction(port=0)
    assert empty_object(core_v1.PodSpec) == core_v1.PodSpec(containers=[])
    assert empty_object(apps_v1.DeploymentSpec) == apps_v1.DeploymentSpec(
        selector=meta_v1.LabelSelector(), template=core_v1.PodTemplateSpec()
    )
