"""What the record of a session says before its first entry, and where it goes."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import yaml

from probetui import __version__
from probetui.cli.files import STDOUT
from probetui.drive.compressed_records import SUFFIX, CompressedRecordWriter
from probetui.drive.masking import MASKED, Mask, secrets_of, secrets_of_objects
from probetui.drive.record_writer import LINES_KEPT, Recorder, RecordWriter
from probetui.drive.recording import RecordContext, SessionHeader
from probetui.drive.secret_names import is_secret_name
from probetui.k8s.pod import Pod
from probetui.kubelet.config import KubeletConfig
from probetui.manifest.manifests import LoadedObject, LoadedPod
from probetui.manifest.render import object_as_yaml
from probetui.presentation.api_json import pod_status_to_json

_FREE_TEXT = frozenset({"command", "args", "path", "value"})
"""Fields of manifests in which a secret may be repeated, and that name nothing."""


def open_writer(target: str) -> RecordWriter:
    """Open what `--record` names; `-` is standard output, `.gz` is compressed.

    Raises:
        RecordError: it cannot be written.
    """
    if target == STDOUT:
        return RecordWriter(sys.stdout.fileno(), "standard output", owned=False)
    is_compressed = target.endswith(SUFFIX)
    return (CompressedRecordWriter if is_compressed else RecordWriter).open(
        Path(target)
    )


def recorder(
    writer: RecordWriter,
    pods: Sequence[Pod],
    started_at: datetime,
    mask: Mask,
    *,
    keeps_secrets: bool,
    goes_back: bool,
) -> Recorder:
    """Return what writes a session's entries to a record.

    `goes_back` says that the session may go back in time, to any entry.
    """
    context = RecordContext(
        started_at=started_at,
        pods={each.uid: each for each in pods},
        status_to_json=pod_status_to_json,
        mask=mask,
    )
    return Recorder(
        writer,
        context,
        keeps_secrets=keeps_secrets,
        lines_kept=None if goes_back else LINES_KEPT,
    )


def header(
    loaded: Sequence[LoadedPod],
    runtime: str,
    config: KubeletConfig,
    options: Mapping[str, object],
    *,
    show_secrets: bool,
    objects: Sequence[LoadedObject] = (),
) -> SessionHeader:
    """Return the header of a record: all that it takes to run the session again."""
    mask = None if show_secrets else MASKED
    known = Mask(secrets_of(each.pod for each in loaded))
    known.learn(secrets_of_objects(each.value for each in objects))
    return SessionHeader(
        probetui=__version__,
        runtime=runtime,
        kubelet=f"v{config.version}",
        options=options if show_secrets else _without_secrets(options, known),
        manifests=[
            (
                each.position.file,
                each.manifest
                if show_secrets
                else without_secrets(each.manifest, known),
            )
            for each in loaded
        ]
        + [(each.position.file, object_as_yaml(each.value, mask)) for each in objects],
        seed=config.seed,
        config=config,
    )


def _without_secrets(options: Mapping[str, object], mask: Mask) -> dict[str, object]:
    """Return options without what `--set` gave to a variable that is secret."""

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
    spans = sorted(_secret_spans(yaml.compose(manifest), "", mask), reverse=True)
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
            for each in node.value:
                yield from _secret_spans(each, field, mask)
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
            for key, each in fields.items():
                # The keys of annotations are anybody's: each value is free text.
                inner = "value" if field == "annotations" else key
                yield from _secret_spans(each, inner, mask)
        case _:
            return
