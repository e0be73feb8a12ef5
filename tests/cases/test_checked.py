"""What `check` says of manifests that people had questions about."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from msgspec import Struct, convert

from probetui.cli.main import run

CHECKED = Path(__file__).parent / "checked"


class Expected(Struct, frozen=True, forbid_unknown_fields=True):
    """The exit status, and what the report has and has not."""

    status: int
    says: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    static: bool = False


@pytest.mark.parametrize("path", sorted(CHECKED.glob("*.yaml")), ids=lambda it: it.stem)
def test_check_says_what_is_wrong(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head, _, manifest = path.read_text().partition("\n---\n")
    expected = convert(yaml.safe_load(head), Expected)
    pod = tmp_path / "pod.yaml"
    pod.write_text(manifest)

    status = run(["check", "--static" if expected.static else "-f", str(pod)])

    report = capsys.readouterr().out
    assert [text for text in expected.says if text not in report] == [], report
    assert [text for text in expected.never if text in report] == [], report
    assert status == expected.status, report
