"""The contract against a real containerd."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.runtimes.capability_contract import (
    ImageContract,
    LabelContract,
    LogContract,
    NetworkContract,
)
from tests.runtimes.contract import RuntimeContract
from tests.runtimes.cri.bench import bench
from tests.runtimes.message_contract import MessageContract
from tests.runtimes.streaming_contract import AttachContract, StreamingContract
from tests.runtimes.volume_contract import VolumeContract

__all__ = ["bench"]

pytestmark = [pytest.mark.cri, pytest.mark.slow]


class TestCriContract(
    AttachContract,
    StreamingContract,
    RuntimeContract,
    ImageContract,
    NetworkContract,
    LabelContract,
    LogContract,
    MessageContract,
    VolumeContract,
):
    """CRI runtimes fulfil the contract; they do not get the stop signal.

    A command whose client is gone runs on.
    """

    stopped_by_usr1 = 137
    kills_what_is_left = False

    @pytest.fixture
    def server(self) -> Callable[[int], tuple[str, ...]]:
        return lambda port: ("httpd", "-f", "-p", str(port))
