"""Which way a container is frozen, by the files that the kernel shows of its groups."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from probetui.runtimes.cri import freezer
from probetui.runtimes.cri.freezer import SignalFreezer, choose_freezer

CRI_ID = "5808f15ae46eb73b"
LOOKS = 25


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait for seconds for what never comes."""
    monkeypatch.setattr(freezer, "LOOKS", LOOKS)
    monkeypatch.setattr(freezer, "PAUSE_SECONDS", 0)


def a_group(
    monkeypatch: pytest.MonkeyPatch, controllers: str, path: str, folder: Path
) -> Path:
    """Have this process be in a group; return the folder of it."""
    monkeypatch.setattr(
        freezer, "list_cgroups", lambda _pid: iter([(controllers, path)])
    )
    folder.mkdir(parents=True)
    return folder


async def test_a_group_of_the_first_kind_is_frozen_and_thawed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = f"/k8s.io/{CRI_ID}/init.scope"
    folder = tmp_path / "freezer/k8s.io" / CRI_ID
    state = a_group(monkeypatch, "freezer", path, folder) / "freezer.state"
    state.write_text("THAWED")
    way = choose_freezer(os.getpid(), CRI_ID, tmp_path)

    began = await way.freeze()
    frozen = state.read_text()
    began_again = await way.freeze()
    way.thaw()

    assert (began, frozen, began_again) == (True, "FROZEN", False)
    assert state.read_text() == "THAWED"


@pytest.mark.parametrize(
    "place", [pytest.param("", id="alone"), pytest.param("unified", id="beside")]
)
async def test_a_partly_frozen_group_is_thawed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, place: str
) -> None:
    """Else runtimes would wait for ever for it: not even a kill would end."""
    path = f"/kubepods.slice/cri-containerd-{CRI_ID}.scope"
    folder = tmp_path / place / path.lstrip("/")
    group = a_group(monkeypatch, "", path, folder)
    (group / "cgroup.freeze").write_text("0")
    (group / "cgroup.events").write_text("populated 1\nfrozen 0\n")

    with pytest.raises(OSError, match="cannot be frozen"):
        await choose_freezer(os.getpid(), CRI_ID, tmp_path).freeze()

    assert (group / "cgroup.freeze").read_text() == "0"


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("/user.slice", id="a group of nobody's container"),
        pytest.param(f"/../{CRI_ID}", id="a group that is not mounted here"),
        pytest.param(f"/k8s.io/{CRI_ID}", id="a group without a switch"),
    ],
)
def test_where_no_group_can_be_frozen_signals_do_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, path: str
) -> None:
    monkeypatch.setattr(freezer, "list_cgroups", lambda _pid: iter([("freezer", path)]))

    way = choose_freezer(os.getpid(), CRI_ID, tmp_path)

    assert isinstance(way, SignalFreezer)
