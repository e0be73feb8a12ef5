"""Which things are ours, whatever their labels say."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from probetui.errors import ContainerRuntimeError
from probetui.runtimes.ownership_ledger import OwnershipLedger

NAME = "k8s_app_web_default_uid_0"


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_was_made_is_ours_in_this_and_in_every_later_process(
    tmp_path: Path,
) -> None:
    ledger = OwnershipLedger(tmp_path)
    ledger.made(ledger.intend(NAME), "c1")

    assert ledger.owns("c1", NAME, "")
    assert OwnershipLedger(tmp_path).owns("c1", "renamed meanwhile", "")
    assert files(tmp_path) == ["c1.json"]


def test_labels_alone_make_nothing_ours(tmp_path: Path) -> None:
    ledger = OwnershipLedger(tmp_path)
    nonce = ledger.intend(NAME)
    ledger.made(nonce, "c1")

    assert not ledger.owns("copy", "mine", nonce)
    assert not ledger.owns("copy", NAME, nonce), "the nonce was for one container"
    assert not ledger.owns("copy", NAME, "")


def test_what_was_made_before_we_were_killed_is_ours_by_name_and_nonce(
    tmp_path: Path,
) -> None:
    nonce = OwnershipLedger(tmp_path).intend(NAME)
    next_start = OwnershipLedger(tmp_path)

    assert not next_start.owns("c1", "another name", nonce)
    assert not next_start.owns("c1", NAME, "another nonce")
    assert next_start.owns("c1", NAME, nonce)
    assert not next_start.owns("c2", NAME, nonce), "of a nonce there is one"


@pytest.mark.parametrize(
    "is_same", [True, False], ids=["we do", "another process does"]
)
def test_what_is_listed_before_the_engine_has_answered_is_made_all_the_same(
    tmp_path: Path, *, is_same: bool
) -> None:
    """A container is in the engine's list before whoever makes it has its ID."""
    maker = OwnershipLedger(tmp_path)
    nonce = maker.intend(NAME)
    lister = maker if is_same else OwnershipLedger(tmp_path)
    assert lister.owns("c1", NAME, nonce)

    maker.made(nonce, "c1")

    assert maker.owns("c1", NAME, "")
    assert files(tmp_path) == ["c1.json"]


def test_an_intent_that_is_gone_makes_nothing_ours(tmp_path: Path) -> None:
    ledger = OwnershipLedger(tmp_path)
    nonce = ledger.intend(NAME)
    ledger.withdraw(nonce)

    with pytest.raises(ContainerRuntimeError):
        ledger.made(nonce, "c1")

    assert not ledger.owns("c1", NAME, nonce)


def test_an_intent_of_which_nothing_came_proves_nothing(tmp_path: Path) -> None:
    ledger = OwnershipLedger(tmp_path)
    nonce = ledger.intend(NAME)

    ledger.withdraw(nonce)

    assert not ledger.owns("c1", NAME, nonce)
    assert files(tmp_path) == []


def test_another_folder_has_no_notes_until_they_are_added(tmp_path: Path) -> None:
    mine, theirs = OwnershipLedger(tmp_path / "a"), OwnershipLedger(tmp_path / "b")
    mine.made(mine.intend(NAME), "c1")
    assert not theirs.owns("c1", NAME, "")

    theirs.take_over("c1", NAME)

    assert theirs.owns("c1", NAME, "")


def test_what_is_gone_is_forgotten(tmp_path: Path) -> None:
    ledger = OwnershipLedger(tmp_path)
    ledger.made(ledger.intend(NAME, "engine"), "c1")
    ledger.made(ledger.intend(NAME, "other"), "c2")
    assert ledger.noted("engine") == {"c1"}
    assert ledger.noted("") == frozenset()

    ledger.forget("c1")
    ledger.forget("c1")

    assert not ledger.owns("c1", NAME, "")
    assert files(tmp_path) == ["c2.json"]


@pytest.mark.parametrize(
    "thing_id",
    [
        pytest.param("../outside", id="out of the folder"),
        pytest.param("/etc/passwd", id="a path"),
        pytest.param("..", id="a folder"),
        pytest.param("", id="nothing"),
        pytest.param("x" * 5000, id="too long"),
        pytest.param("a\0b", id="a zero"),
        pytest.param("\u00e9" * 80, id="longer once it is quoted"),
        pytest.param("\ud800", id="half a character"),
    ],
)
def test_an_id_or_nonce_from_elsewhere_leads_nowhere(
    tmp_path: Path, thing_id: str
) -> None:
    (tmp_path / "outside.json").write_text("{}")
    (tmp_path / "outside.intent").write_text(f'{{"name": "{NAME}"}}')
    ledger = OwnershipLedger(tmp_path / "notes")
    ledger.intend(NAME)

    assert not ledger.owns(thing_id, NAME, thing_id)
    ledger.take_over("c1", NAME)
    assert ledger.owns("c1", NAME, thing_id), "a label takes nothing away"


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\xff\x00", id="no text"),
        pytest.param(b"[]", id="a list"),
        pytest.param(b'{"name": 7}', id="a number"),
    ],
)
def test_a_damaged_intent_proves_nothing(tmp_path: Path, content: bytes) -> None:
    ledger = OwnershipLedger(tmp_path)
    nonce = ledger.intend(NAME)
    (tmp_path / f"{nonce}.intent").write_bytes(content)

    assert not ledger.owns("c1", NAME, nonce)
    assert ledger.noted("engine") == frozenset()


def test_where_nothing_can_be_noted_nothing_is_made(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()

    with pytest.raises(ContainerRuntimeError, match=f"record in {file}"):
        OwnershipLedger(file).intend(NAME)


def test_a_link_that_is_in_the_way_is_not_followed(tmp_path: Path) -> None:
    """A note is written beside and put in place: what a link leads to stays."""
    folder, canary = tmp_path / "notes", tmp_path / "canary"
    folder.mkdir()
    canary.write_text("untouched")
    (folder / "c1.json").symlink_to(canary)
    ledger = OwnershipLedger(folder)

    ledger.take_over("c1", NAME)
    ledger.forget("c1")

    assert canary.read_text() == "untouched"
    assert files(folder) == []


async def test_a_disk_that_does_not_keep_an_intent_lets_nothing_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    ledger = OwnershipLedger(tmp_path)
    await ledger.intend_durably(NAME)
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(ContainerRuntimeError, match="Input/output error"):
        await ledger.intend_durably(NAME)

    assert len(files(tmp_path)) == 1
