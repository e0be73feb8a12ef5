"""Build the files of a release: `python -m tools.release URL [FOLDER]`.

URL is where the files of this release will be published, FOLDER is dist by default. It
builds the man pages, the sdist and the wheel, the archive and the manifest for krew,
the list of components (CycloneDX), the notes, and the checksums of all files.

    python -m tools.release man

builds the man pages only, in build/man.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from string import Template

from click_man.core import write_man_pages

from probetui import __version__
from probetui.cli.main import COMMANDS, group

ROOT = Path(__file__).parents[1]
MAN = ROOT / "build" / "man"
KREW = ROOT / "packaging" / "krew"
LICENSE = ROOT / "LICENSE"


class ReleaseError(Exception):
    """A reason why this checkout cannot be released."""


def make_man_pages(folder: Path = MAN) -> None:
    """Write a man page for the program and for every command."""
    folder.mkdir(parents=True, exist_ok=True)
    for page in folder.glob("*.1"):
        page.unlink()
    for name, entry in COMMANDS.items():
        command = entry.load()
        # Otherwise click-man uses the first half of the first sentence.
        command.short_help = entry.help
        group.add_command(command, name)
    group.short_help = group.help
    write_man_pages("probetui", group, version=__version__, target_dir=str(folder))


def release_notes(changelog: str, version: str = __version__) -> str:
    """Return the changelog's section of a version.

    Raises:
        ReleaseError: the changelog has no section of that version.
    """
    lines = iter(changelog.splitlines())
    for line in lines:
        if line.startswith(f"## [{version}]"):
            return "\n".join(_until_next_section(lines)).strip() + "\n"
    raise ReleaseError(f"CHANGELOG.md has no section ## [{version}]")


def _until_next_section(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        if line.startswith("## "):
            return
        yield line


def make_krew_archive(wheel: Path, folder: Path) -> Path:
    """Write the wheel and its launcher to an archive that krew can unpack."""
    archive = folder / f"kubectl-probetui-{__version__}.tar.gz"
    with tarfile.open(archive, "w:gz") as packed:
        for path in (KREW / "kubectl-probetui", wheel, LICENSE):
            packed.add(path, path.name, filter=_without_owner)
    return archive


def _without_owner(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def krew_manifest(archive: Path, url: str) -> str:
    """Return the manifest of the plugin, whose archive is published below a URL."""
    form = Template((KREW / "probetui.yaml").read_text(encoding="utf-8"))
    return form.substitute(
        version=__version__,
        homepage=url,
        url=url,
        archive=archive.name,
        sha256=_sha256(archive),
    )


def make_sbom(wheel: Path, target: Path) -> None:
    """Write the list of components of an environment with the wheel only."""
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder, "bin", "python")
        _run(sys.executable, "-m", "venv", folder)
        _run(python, "-m", "pip", "install", "--quiet", wheel)
        _run(python, "-m", "pip", "uninstall", "--quiet", "--yes", "pip", "setuptools")
        components = (sys.executable, "-m", "cyclonedx_py", "environment", python)
        project = ("--pyproject", ROOT / "pyproject.toml")
        _run(*components, *project, "--output-reproducible", "-o", target)


def release(url: str, folder: Path) -> None:
    """Build all files in a folder that is empty or does not exist.

    Raises:
        ReleaseError: the changelog does not name this version, or the folder is used.
    """
    notes = release_notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise ReleaseError(f"{folder} is not empty")
    make_man_pages()
    _run(sys.executable, "-m", "build", "--outdir", folder, ROOT)
    (wheel,) = folder.glob("*.whl")
    archive = make_krew_archive(wheel, folder)
    (folder / "probetui.yaml").write_text(krew_manifest(archive, url))
    make_sbom(wheel, folder / "probetui.cdx.json")
    (folder / "NOTES.md").write_text(notes)
    sums = [f"{_sha256(path)}  {path.name}" for path in sorted(folder.iterdir())]
    (folder / "SHA256SUMS").write_text("\n".join(sums) + "\n")


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _run(*command: str | Path) -> None:
    subprocess.run(command, check=True)  # noqa: S603  # what is written above


def main() -> None:
    """Build a release, or the man pages only."""
    match sys.argv[1:]:
        case ["man"]:
            make_man_pages()
        case [url, *folder]:
            release(url.rstrip("/"), Path(*folder) if folder else ROOT / "dist")
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
