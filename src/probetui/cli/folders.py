"""Where configuration, state and themes live, by the rules of the platform."""

from __future__ import annotations

from pathlib import Path

from platformdirs import PlatformDirs

from probetui.untrusted_files import make_own_directory

_PRIVATE = 0o700
_FOLDERS = PlatformDirs("probetui", appauthor=False)


def make_private_directory(folder: Path) -> None:
    """Make a folder that only its owner may read, and those above it that are missing.

    One that is there stays as it is. Raises `OSError`.
    """
    make_own_directory(folder, _PRIVATE, parents_mode=_PRIVATE)


def config_file() -> Path:
    """Return the configuration file that is read if it is there."""
    return _FOLDERS.user_config_path / "config.yaml"


def state_folder() -> Path:
    """Return the folder for logs, locks, crash reports and pods."""
    return _FOLDERS.user_state_path


def log_file() -> Path:
    """Return the log file that is written unless another one is named."""
    return state_folder() / "probetui.log"


def themes_folder() -> Path:
    """Return the folder in which the user keeps themes of the screen."""
    return _FOLDERS.user_data_path / "themes"


def pods_folder() -> Path:
    """Return the folder in which pods that are plain processes live."""
    return state_folder() / "pods"


def cri_folder() -> Path:
    """Return the folder with the files and volumes of pods on CRI runtimes."""
    return state_folder() / "cri"


def docker_folder() -> Path:
    """Return the folder in which it is noted what is ours on Docker."""
    return state_folder() / "docker"
