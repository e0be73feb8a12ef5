"""The header of a session's record, with secrets masked, and the record's file."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import yaml

from probetui import __version__
from probetui.cli.files import STDOUT
from probetui.kubelet.config import KubeletConfig
from probetui.manifest.manifests import LoadedConfigObject, LoadedPod
from probetui.manifest.yaml.dump import dump_config_object
from probetui.manifest.yaml.parser import YAML_LOADER
from probetui.output_files import AppendedFile
from probetui.record.codec import SessionHeader
from probetui.record.credentials import is_secret_name
from probetui.record.masking import MASKED, Mask, find_object_secrets, find_pod_secrets
from probetui.record.writer import SUFFIX, CompressedRecordWriter, RecordWriter

_FREE_TEXT = frozenset({"command", "args", "path", "value"})
"""Fields of manifests in which a secret may be repeated, and that name nothing."""


def open_writer(target: str) -> RecordWriter:
    """Open what `--record` names; `-` is standard output, `.gz` is compressed.

    Raises:
        RecordError: it cannot be written.
    """
    if target == STDOUT:
        file = AppendedFile(sys.stdout.fileno())
        return RecordWriter(file, "standard output", owned=False)
    is_compressed = target.endswith(SUFFIX)
    return (CompressedRecordWriter if is_compressed else RecordWriter).open(
        Path(target)
    )


def make_header(
    loaded: Sequence[LoadedPod],
    runtime: str,
    config: KubeletConfig,
    options: Mapping[str, object],
    *,
    show_secrets: bool,
    objects: Sequence[LoadedConfigObject] = (),
    observed: bool = False,
) -> SessionHeader:
    """Return the header of a record: what is needed to run the session again."""
    mask = None if show_secrets else MASKED
    known = Mask(find_pod_secrets(pod.pod for pod in loaded))
    known.learn(find_object_secrets(loaded_object.value for loaded_object in objects))
    return SessionHeader(
        probetui=__version__,
        runtime=runtime,
        kubelet=f"v{config.version}",
        options=options if show_secrets else _without_secrets(options, known),
        manifests=[
            (
                pod.position.file,
                pod.manifest if show_secrets else without_secrets(pod.manifest, known),
            )
            for pod in loaded
        ]
        + [
            (loaded_object.position.file, dump_config_object(loaded_object.value, mask))
            for loaded_object in objects
        ],
        seed=config.seed,
        config=config,
        observed=observed,
    )


def _without_secrets(options: Mapping[str, object], mask: Mask) -> dict[str, object]:
    """Return options with the secrets in values of `--set` masked."""

    def masked(value: object) -> object:
        if isinstance(value, list):
            return [masked(item) for item in value]
        return mask.text(value) if isinstance(value, str) else value

    return {name: masked(value) for name, value in options.items()}


def without_secrets(manifest: str, mask: Mask) -> str:
    """Return a manifest in which secrets are masked, where they stand.

    Those are values with secret names, and the same texts in commands, paths and other
    values. Everything else stays as it is, to the letter. `manifest` is what we
    rendered: no anchors, no tags.
    """
    masked = manifest
    spans = sorted(
        _secret_spans(yaml.compose(manifest, YAML_LOADER), "", mask), reverse=True
    )
    for begin, end, text in spans:
        newline = "\n" if manifest[begin:end].endswith("\n") else ""
        spelled = json.dumps(text, ensure_ascii=False)
        masked = f"{masked[:begin]}{spelled}{newline}{masked[end:]}"
    return masked


def _secret_spans(
    node: yaml.Node | None, field: str, mask: Mask
) -> Iterator[tuple[int, int, str]]:
    """Yield from where to where something secret stands, and what to write there."""
    match node:
        case yaml.ScalarNode(value=str(text)) if field in _FREE_TEXT:
            if (masked := mask.text(text)) != text:
                yield node.start_mark.index, node.end_mark.index, masked
        case yaml.SequenceNode():
            for item in node.value:
                yield from _secret_spans(item, field, mask)
        case yaml.MappingNode():
            fields = {key.value: value for key, value in node.value}
            name, value = fields.get("name"), fields.get("value")
            if (
                isinstance(name, yaml.ScalarNode)
                and isinstance(value, yaml.ScalarNode)
                and is_secret_name(name.value)
            ):
                yield value.start_mark.index, value.end_mark.index, MASKED
                return
            for key, child in fields.items():
                # The keys of annotations are anybody's: each value is free text.
                inner = "value" if field == "annotations" else key
                yield from _secret_spans(child, inner, mask)
        case _:
            return
