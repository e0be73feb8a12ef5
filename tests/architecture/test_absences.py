"""All missing fields of a pod and missing parts of the kubelet are documented."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec
import pytest
from lightkube.models import core_v1

import probetui
from probetui.manifest import schema
from probetui.manifest.supported_fields import SUPPORT, Support, Table

PACKAGE = Path(probetui.__file__).parent
TEXT = (PACKAGE.parents[1] / "docs" / "DIFFERENCES.md").read_text(encoding="utf-8")
SECTIONS = dict(
    zip(*[iter(re.split(r"^## (.+)$", TEXT, flags=re.MULTILINE)[1:])] * 2, strict=True)
)
QUOTED = re.compile(r"`([^`]+)`")

KUBELET_PACKAGES = [
    "allocation", "apis", "cadvisor", "certificate", "checkpointmanager", "client",
    "clustertrustbundle", "cm", "config", "configmap", "container", "envvars",
    "events", "eviction", "images", "kubeletconfig", "kuberuntime", "lifecycle",
    "logs", "metrics", "network", "nodeshutdown", "nodestatus", "oom", "pleg",
    "pluginmanager", "pod", "podcertificate", "preemption", "prober", "qos",
    "runtimeclass", "secret", "server", "stats", "status", "sysctl", "token",
    "types", "userns", "util", "volumemanager", "watchdog", "winstats",
]  # fmt: skip
"""The folders of pkg/kubelet of 1.36, those that its kubelet.go imports among them."""


def rows(section: str) -> list[list[str]]:
    """Return the cells of a section's tables, without their heads."""
    lines = [line for line in section.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    heads = {index for index, row in enumerate(cells) if set(row[0]) == {"-"}}
    return [
        row
        for index, row in enumerate(cells)
        if index not in heads and index + 1 not in heads
    ]


def fields(
    model: type[msgspec.Struct], table: Table, path: str = ""
) -> Iterator[tuple[str, Support | None]]:
    """Yield each field of a model with how it is supported, None if it is not."""
    for name, field in schema.fields_of(model).items():
        support = table.get(name)
        at = f"{path}.{name}" if path else name
        short = at.removeprefix("spec.").replace("initContainers.", "containers.")
        if isinstance(support, Mapping) and field.model is not None:
            yield from fields(field.model, support, at)
        elif isinstance(support, Support):
            yield short, support
        else:
            yield short, None


BY_SUPPORT: dict[Support | None, set[str]] = {}
for path, support in fields(core_v1.Pod, SUPPORT):
    BY_SUPPORT.setdefault(support, set()).add(path)

TABLES = SECTIONS["Absent: fields of a pod"].partition("\nThese are validated")


@pytest.mark.parametrize(
    ("table", "absent"),
    [
        pytest.param(TABLES[0], BY_SUPPORT[None], id="not-carried-out"),
        pytest.param(
            TABLES[2], BY_SUPPORT[Support.NOT_APPLICABLE], id="only-validated"
        ),
    ],
)
def test_each_field_is_carried_out_or_named(table: str, absent: set[str]) -> None:
    patterns = [one for row in rows(table) for one in QUOTED.findall(row[0])]
    others = set().union(*BY_SUPPORT.values()) - absent

    unnamed = {
        path for path in absent if not any(fnmatchcase(path, one) for one in patterns)
    }
    idle = [one for one in patterns if not any(fnmatchcase(p, one) for p in absent)]
    wrong = [one for one in patterns if any(fnmatchcase(p, one) for p in others)]

    assert (sorted(unnamed), idle, wrong) == ([], [], [])


def test_each_absence_has_a_reason() -> None:
    for row in rows(SECTIONS["Absent: fields of a pod"]):
        assert len(row) == 2, row
        assert row[1], row


def test_each_part_of_the_kubelet_is_followed_or_named() -> None:
    table = rows(SECTIONS["Absent: parts of the kubelet"])

    assert [row[0].strip("`") for row in table] == KUBELET_PACKAGES
    for name, here, why in table:
        if here == "absent":
            assert why, name
        else:
            assert (PACKAGE / here.strip("`")).exists(), name
