"""Where containers on a real containerd listen."""

from __future__ import annotations

import pytest

from tests.runtimes.cri.bench import bench
from tests.runtimes.listener_contract import ListenerContract, Server

__all__ = ["bench"]

pytestmark = [pytest.mark.cri, pytest.mark.slow]


class TestCriListeners(ListenerContract):
    """Listeners of a CRI runtime's containers are found if it is on this machine."""

    @pytest.fixture
    def server(self) -> Server:
        return lambda endpoint: ("httpd", "-f", "-p", endpoint)
