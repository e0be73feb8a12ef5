"""A copy of a manifest with the timing that was tried out on the screen."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from probetui.cli.files import STDIN, SourceReader, is_url
from probetui.cli.folders import make_private_directory, state_folder
from probetui.cli.pods import ManifestOptions, load_pods
from probetui.cli.usage_hints import MANIFEST_SUFFIXES
from probetui.debugger.timing import Timing
from probetui.errors import ProbetuiError, UsageError
from probetui.k8s.probe import ProbeKey
from probetui.manifest.edit.probe_numbers import ProbeEdit, edit_probes
from probetui.manifest.manifests import LoadedPod
from probetui.manifest.yaml.parser import SourceFile
from probetui.tui.host_services import ManifestCopy
from probetui.untrusted_files import DirectoryRoot, open_output

_MOST_COPIES = 10_000
_OWNER_ONLY = 0o600
_EDITED = re.compile(r"\.edited(-\d+)?$")
_NO_FILE_NAME = re.compile(r"[^\w.-]+")


def copy_edited(
    loaded: Sequence[LoadedPod],
    options: ManifestOptions | None,
    pod_uid: str,
    timings: Mapping[ProbeKey, Timing],
    reader: SourceReader | None = None,
) -> ManifestCopy:
    """Write a copy of the file that a pod is from, with these timings of its probes.

    It goes beside the file, else to where one is, else to where probetui keeps its own
    files; never over a file that is there, nor into a folder that is read as a whole.

    Args:
        loaded: the pods of the session as they were read.
        options: how to read them again, None if they are in no files.
        pod_uid: the pod whose file is meant.
        timings: what the timing of its probes is to be; those of other files are left.
        reader: what read them, and keeps what cannot be read again.

    Raises:
        ManifestError: the numbers cannot be changed in that text, or none differs.
        UsageError: the pod is from no file, or the copy can be written nowhere.
    """
    known = {
        loaded_pod.pod.uid: loaded_pod
        for loaded_pod in (*loaded, *_read_again(options, reader))
    }
    if pod_uid not in known:
        raise UsageError(
            "the pod no longer matches its manifest; ^r reloads the manifest"
        )
    source = known[pod_uid].source
    edits = [
        ProbeEdit(pod, key.container_name, key.probe_type, timing.numbers)
        for key, timing in timings.items()
        if (pod := known.get(key.pod_uid)) is not None and pod.source is source
    ]
    changed = edit_probes(source, edits)
    return ManifestCopy(_write(changed.data, source, options), changed.fields)


def _read_again(
    options: ManifestOptions | None, reader: SourceReader | None
) -> Sequence[LoadedPod]:
    """Return the pods as they would be read now: ^r or --watch may have done so."""
    if options is None or (reader is None and options.reads_stdin):
        return ()
    # What is wrong with a file by now does not matter if the first text is known.
    with suppress(ProbetuiError):
        return load_pods(options, reader).loaded
    return ()


def _write(data: bytes, source: SourceFile, options: ManifestOptions | None) -> Path:
    problems = []
    for folder in _folders(source, options):
        try:
            return _create(folder, source, data)
        except OSError as error:
            problems.append(f"{folder}: {error.strerror or error}")
    reasons = (
        "; ".join(problems) or "a copy in these folders would be loaded as a manifest"
    )
    raise UsageError(f"no copy is written: {reasons}")


def _folders(source: SourceFile, options: ManifestOptions | None) -> Iterator[Path]:
    """Yield where a copy may go, best first."""
    is_file = source.location and not is_url(source.location)
    own = [Path(source.location).parent] if is_file else []
    for folder in dict.fromkeys((*own, Path.cwd(), state_folder() / "edited")):
        if options is None or not _is_read(folder, options):
            yield folder


def _is_read(folder: Path, options: ManifestOptions) -> bool:
    """Return whether whatever is put into a folder would be read the next time."""
    resolved = folder.resolve()
    for name in (*options.filenames, *options.static):
        read = Path(name).resolve()
        if name == STDIN or is_url(name) or not read.is_dir():
            continue
        if resolved == read or (options.recursive and read in resolved.parents):
            return True
    return False


def _create(folder: Path, source: SourceFile, data: bytes) -> Path:
    """Write a file of a name that is not taken yet; raises `OSError`."""
    if folder == state_folder() / "edited":
        make_private_directory(folder)
    for name in _names(source):
        path = folder / name
        try:
            descriptor = open_output(path, os.O_CREAT | os.O_EXCL, _mode(source))
        except FileExistsError:
            continue
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
        except OSError:
            DirectoryRoot(folder).unlink(name, missing_ok=True)
            raise
        return path
    raise FileExistsError(f"has {_MOST_COPIES} of them already")


def _names(source: SourceFile) -> Iterator[str]:
    """Yield `pod.edited.yaml`, `pod.edited-2.yaml`, and so on."""
    location = source.location or source.name
    if is_url(location):
        location = urlsplit(location).path
    name = "stdin" if source.name == STDIN else Path(location).name
    path = Path(_NO_FILE_NAME.sub("-", name))
    suffix = path.suffix if path.suffix in MANIFEST_SUFFIXES else ".yaml"
    stem = _EDITED.sub("", path.name.removesuffix(suffix)) or "pod"
    yield f"{stem}.edited{suffix}"
    for number in range(2, _MOST_COPIES + 1):
        yield f"{stem}.edited-{number}{suffix}"


def _mode(source: SourceFile) -> int:
    """Return who may read the copy: whoever may read the file, else its owner."""
    with suppress(OSError):
        if source.location and not is_url(source.location):
            return Path(source.location).stat().st_mode & 0o777
    return _OWNER_ONLY
