"""Checks of Docker's own settings, which its library reads without a limit.

They name its endpoint, and the credentials of registries, for CRI runtimes too. They
are checked before the library opens them.
"""

from __future__ import annotations

from pathlib import Path

from probetui.untrusted_files import read_settings


def check_docker_settings(context: str = "default") -> None:
    """Check that the library can read Docker's configuration, and a context's.

    Raises:
        OSError: a file is too large, no regular file, or cannot be read.
    """
    # Imported late: a session that pulls nothing does without Docker's library.
    from docker.context.config import get_meta_file  # noqa: PLC0415
    from docker.utils.config import find_config_file  # noqa: PLC0415

    names = [find_config_file()]
    if context != "default":
        names.append(get_meta_file(context))
    for name in filter(None, names):
        if (path := Path(name)).exists():
            read_settings(path)
