"""The limits of container logs, the kubelet's defaults.

Source: apis/config/v1beta1/defaults.go, v1.32.10, SetDefaults_KubeletConfiguration.
"""

from __future__ import annotations

MAX_BYTES = 10 * 1024 * 1024
MAX_FILES = 5
"""How many log files a container may have, the current one included."""
