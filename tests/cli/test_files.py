"""The files that `-f` names."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from probetui.cli.files import SourceReader, read_sources
from probetui.errors import ManifestError, NothingToDoError, UsageError
from probetui.manifest.yaml.parser import MAX_BYTES


class Pipe(io.TextIOWrapper):
    """Standard input with something in it, and no terminal."""

    def __init__(self, data: bytes) -> None:
        super().__init__(io.BytesIO(data))


class Typing(Pipe):
    """Standard input that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "manifests"
    (folder / "deep").mkdir(parents=True)
    for name in ("b.yaml", "a.yml", "c.json", "notes.txt", "deep/d.yaml"):
        (folder / name).write_text(name)
    return folder


def test_files_are_read_in_the_given_order(folder: Path) -> None:
    names = [str(folder / "b.yaml"), str(folder / "a.yml")]

    sources = read_sources(names, recursive=False)

    assert [source.name for source in sources] == names
    assert [source.data for source in sources] == [b"b.yaml", b"a.yml"]


def test_a_file_that_is_named_twice_is_read_once(folder: Path) -> None:
    name = str(folder / "b.yaml")

    assert len(read_sources([name, name], recursive=False)) == 1


def test_manifests_of_a_folder_are_read_in_order(folder: Path) -> None:
    sources = read_sources([str(folder)], recursive=False)

    assert [Path(source.name).name for source in sources] == [
        "a.yml",
        "b.yaml",
        "c.json",
    ]


def test_subfolders_are_read_with_recursive(folder: Path) -> None:
    sources = read_sources([str(folder)], recursive=True)

    assert str(folder / "deep" / "d.yaml") in [source.name for source in sources]


def test_the_uid_of_a_pod_does_not_depend_on_how_its_file_was_given(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)

    relative = read_sources(["b.yaml"], recursive=False)[0]

    assert relative.location == str(folder / "b.yaml")


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", Pipe(b"kind: Pod"))

    sources = read_sources(["-"], recursive=False)

    assert [(source.name, source.data) for source in sources] == [("-", b"kind: Pod")]


def test_standard_input_on_a_terminal_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stdin", Typing(b""))

    with pytest.raises(UsageError, match="-f -: nothing is piped"):
        read_sources(["-"], recursive=False)


def test_all_files_that_cannot_be_read_are_named_at_once(folder: Path) -> None:
    good, first, second = folder / "b.yaml", folder / "x.yaml", folder / "y.yaml"

    with pytest.raises(ManifestError) as caught:
        read_sources([str(first), str(good), str(second)], recursive=False)

    assert caught.value.problems == (
        f"{first}: No such file or directory",
        f"{second}: No such file or directory",
    )


def test_a_folder_without_manifests_is_nothing_to_do(tmp_path: Path) -> None:
    with pytest.raises(NothingToDoError, match=r"no \.yaml, \.yml or \.json file"):
        read_sources([str(tmp_path)], recursive=False)


@pytest.mark.parametrize("url", ["ftp://example.com/pod.yaml", "file:///etc/a"])
def test_a_url_of_another_scheme_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match=f"^{url}: is not http or https$"):
        read_sources([url], recursive=False)


class TestStaticPods:
    def test_every_file_of_a_folder_that_is_not_hidden_is_read(
        self, folder: Path
    ) -> None:
        (folder / ".hidden.yaml").write_text("")

        sources = SourceReader((), (str(folder),), recursive=True).read()

        assert [Path(source.name).name for source in sources] == [
            "a.yml",
            "b.yaml",
            "c.json",
            "notes.txt",
        ]
        assert {source.kubelet_source for source in sources} == {"file"}

    def test_standard_input_is_none(self) -> None:
        with pytest.raises(UsageError, match="a kubelet reads no standard input"):
            SourceReader((), ("-",)).read()

    def test_only_files_are_read_again_and_not_standard_input(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("sys.stdin", Pipe(b"piped"))
        plain, static = folder / "a.yml", folder / "b.yaml"
        reader = SourceReader(("-", str(plain)), (str(static),))
        reader.read()
        plain.write_text("changed")
        static.write_text("changed")

        alone = reader.read(only_static=True)
        both = reader.read()

        assert [source.data for source in alone] == [b"piped", b"a.yml", b"changed"]
        assert [source.data for source in both] == [b"piped", b"changed", b"changed"]
        assert reader.kubelet_sources == ("api", "file")
        assert reader.paths(only_static=True) == (static,)
        assert reader.paths(only_static=False) == (plain, static)


def test_the_error_without_a_file_suggests_the_demo() -> None:
    with pytest.raises(UsageError, match="`probetui demo` needs none"):
        read_sources([], recursive=False)


def test_reading_stops_at_the_size_limit(
    tmp_path: Path,
) -> None:
    huge = tmp_path / "huge.yaml"
    with huge.open("wb") as file:
        file.truncate(MAX_BYTES * 50)

    sources = read_sources([str(huge)], recursive=False)

    assert len(sources[0].data) == MAX_BYTES + 1


def test_an_empty_name_does_not_mean_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pod.yaml").write_text("kind: Pod\n")
    monkeypatch.chdir(tmp_path)

    with pytest.raises(UsageError, match="an empty name"):
        read_sources([""], recursive=True)
