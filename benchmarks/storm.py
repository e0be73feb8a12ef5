"""Real load under real faults, and what is left behind when it ends.

    python benchmarks/storm.py [--minutes N] [--every SECONDS] [--seed N]

The installed program runs the same pods on Docker, on containerd and as processes, each
session in a HOME of its own. Both engines are started by this script, with folders and
sockets of their own, so that no container of anybody else is touched: they run exec
probes in containers without a network. Every few seconds one fault comes: an engine is
ended or killed and started again, a program is suspended (SIGSTOP) for a while, as with
its machine, or the disk of its record is full for a while. In the end all sessions get
SIGTERM, and everything that is left counts: containers, sandboxes, volumes, mounts and
processes; and a container of somebody else in each engine must still be there.

Needs root, `unshare`, and the images of tools/engines.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

IMAGE = "busybox:1.36"
FULL_IMAGE = f"docker.io/library/{IMAGE}"
PAUSE = "localhost/probetui-pause:1"
MEGABYTES_OF_DISK = 8
END_SECONDS = 180
POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec:
  hostNetwork: true
  terminationGracePeriodSeconds: 5
  volumes: [{{name: data, emptyDir: {{}}}}]
  containers:
  - name: app
    image: busybox:1.36
    command: [/bin/sh, -c, "{script}"]
    volumeMounts: [{{name: data, mountPath: /data}}]
    lifecycle: {{preStop: {{exec: {{command: [/bin/sh, -c, "sleep 1"]}}}}}}
    livenessProbe: {{exec: {{command: [/bin/sh, -c, "{probe}"]}}, periodSeconds: 3}}
    readinessProbe: {{exec: {{command: [/bin/true]}}, periodSeconds: 2}}
---
"""
WAIT = "trap 'exit 0' TERM; while :; do echo here; sleep 1 & wait; done"
PODS = {
    "steady": (WAIT, "true"),
    "killed": (f"touch well; (sleep 20; rm well) & {WAIT}", "test -e well"),
    "crashes": ("echo no; sleep 9; exit 3", "true"),
    "stubborn": ("trap '' TERM; while :; do sleep 1; done", "exit $(($$ % 2))"),
    "slow": (WAIT, "sleep 2"),
}


class Engine:
    """A daemon of this script, which can be ended and started again."""

    def __init__(self, name: str, command: list[str], log: Path) -> None:
        self.name, self._command, self._log = name, command, log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, answers: Callable[[], bool]) -> None:
        """Start it, and wait until it answers."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)
        for _ in range(120):
            if answers():
                return
            time.sleep(0.5)
        raise SystemExit(f"{self.name} does not answer: see {self._log}")

    def end(self, number: signal.Signals) -> None:
        """End it by a signal, and wait for that."""
        assert self._process is not None
        self._process.send_signal(number)
        self._process.wait()


def run(*command: str | Path) -> str:
    """Return what a command printed, or FAILED and its errors."""
    done = subprocess.run(
        [*map(str, command)], capture_output=True, text=True, check=False
    )
    return done.stdout if done.returncode == 0 else f"FAILED: {done.stderr}"


class Storm:
    """All engines and sessions.

    Args:
        folder: for everything.
        chance: of which fault comes when.
    """

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.folder, self.chance = folder, chance
        self.docker_socket = f"unix://{folder}/docker.sock"
        self.cri_socket = f"{folder}/containerd/containerd.sock"
        self.faults: Counter[str] = Counter()
        self.sessions: dict[str, subprocess.Popen[bytes]] = {}
        self.engines = {"docker": self._docker(), "cri": self._containerd()}

    def _docker(self) -> Engine:
        own = self.folder / "docker"
        # In the machine's network it would remove the bridge of the Docker there.
        command = ["unshare", "--net", "dockerd", "-H", self.docker_socket]
        command += ["--bridge=none"]
        command += ["--iptables=false", f"--data-root={own}/root"]
        command += [f"--exec-root={own}/run", f"--pidfile={own}/pid"]
        own.mkdir()
        return Engine("docker", command, self.folder / "dockerd.log")

    def _containerd(self) -> Engine:
        own = self.folder / "containerd"
        own.mkdir()
        settings = own / "config.toml"
        settings.write_text(
            f'version = 2\nroot = "{own}/root"\nstate = "{own}/state"\n'
            f'[grpc]\n  address = "{self.cri_socket}"\n'
            '[plugins."io.containerd.internal.v1.opt"]\n'
            f'  path = "{own}/opt"\n'
            '[plugins."io.containerd.grpc.v1.cri"]\n'
            f'  sandbox_image = "{PAUSE}"\n  restrict_oom_score_adj = true\n'
            '  [plugins."io.containerd.grpc.v1.cri".cni]\n'
            '    bin_dir = "/usr/lib/cni"\n'
            '    conf_dir = "/etc/probetui-containerd/cni"\n'
            '  [plugins."io.containerd.grpc.v1.cri".containerd]\n'
            '    snapshotter = "overlayfs"\n'
        )
        command = ["containerd", "--config", str(settings)]
        return Engine("cri", command, self.folder / "containerd.log")

    def docker(self, *words: str) -> str:
        """Return what Docker's client printed."""
        return run("docker", "-H", self.docker_socket, *words)

    def ctr(self, *words: str) -> str:
        """Return what containerd's client printed."""
        return run("ctr", "-a", self.cri_socket, "-n", "k8s.io", *words)

    def answers(self, engine: str) -> bool:
        """Return whether an engine answers."""
        if engine == "docker":
            return not self.docker("version").startswith("FAILED")
        return not self.ctr("version").startswith("FAILED")

    def begin(self) -> None:
        """Start engines with images and a container of somebody else, and sessions."""
        for name, engine in self.engines.items():
            engine.start(lambda name=name: self.answers(name))  # type: ignore[misc]
        for image in (IMAGE, PAUSE):
            archive = self.folder / "image.tar"
            run("docker", "save", "-o", archive, image)
            self.docker("load", "-i", str(archive))
            self.ctr("images", "import", "--snapshotter", "overlayfs", str(archive))
        others = ("sleep", "100000")
        words = ("--restart", "always", "--network", "host", "--name", "other")
        self.docker("run", "-d", *words, IMAGE, *others)
        self.ctr("run", "-d", "--snapshotter", "overlayfs", FULL_IMAGE, "o", *others)
        pods = self.folder / "pods.yaml"
        pods.write_text(
            "".join(
                POD.format(name=name, script=script, probe=probe)
                for name, (script, probe) in PODS.items()
            )
        )
        for name in ("docker", "cri", "process"):
            self.sessions[name] = self._session(name, pods)

    def _session(self, name: str, pods: Path) -> subprocess.Popen[bytes]:
        home, disk = self.folder / f"home-{name}", self.folder / f"disk-{name}"
        home.mkdir()
        disk.mkdir()
        program = Path(sys.executable).with_name("probetui")
        options = f"-f {pods} --runtime {name} --record {disk}/record.jsonl -o plain"
        script = (
            f"mount -t tmpfs -o size={MEGABYTES_OF_DISK}m tmpfs {disk} && "
            f"exec {program} run {options}"
        )
        environment = {
            **os.environ,
            "HOME": str(home),
            "XDG_RUNTIME_DIR": str(home),
            "DOCKER_HOST": self.docker_socket,
            "CONTAINER_RUNTIME_ENDPOINT": f"unix://{self.cri_socket}",
        }
        with (self.folder / f"{name}.txt").open("wb") as told:
            return subprocess.Popen(
                ["unshare", "--mount", "sh", "-c", script],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=told,
                stderr=subprocess.STDOUT,
            )

    def fault(self) -> None:
        """Let one fault come, and go."""
        name = self.chance.choice([*self.sessions])
        kinds = ["suspended", "full disk"]
        if name in self.engines:
            kinds += ["engine ended", "engine killed"]
        kind = self.chance.choice(kinds)
        self.faults[f"{name}: {kind}"] += 1
        session, lasts = self.sessions[name], self.chance.uniform(1, 20)
        match kind:
            case "suspended":
                session.send_signal(signal.SIGSTOP)
                time.sleep(lasts)
                session.send_signal(signal.SIGCONT)
            case "full disk":
                inside = ["nsenter", "-m", "-t", str(session.pid)]
                filler = self.folder / f"disk-{name}" / "filler"
                size = f"bs=1M count={MEGABYTES_OF_DISK + 1}"
                fill = f"dd if=/dev/zero of={filler} {size}"
                run(*inside, "sh", "-c", f"{fill} 2>&1; true")
                time.sleep(lasts)
                run(*inside, "rm", filler)
            case _:
                ends = kind == "engine ended"
                self.engines[name].end(signal.SIGTERM if ends else signal.SIGKILL)
                time.sleep(lasts)
                (self.folder / "docker" / "pid").unlink(missing_ok=True)
                self.engines[name].start(lambda: self.answers(name))

    def ended(self) -> dict[str, int]:
        """Return the sessions that have ended, with their exit statuses."""
        polled = {name: session.poll() for name, session in self.sessions.items()}
        return {name: status for name, status in polled.items() if status is not None}

    def end_sessions(self) -> dict[str, int]:
        """End all sessions by SIGTERM; return their exit statuses."""
        for session in self.sessions.values():
            session.send_signal(signal.SIGTERM)
        return {
            name: session.wait(END_SECONDS) for name, session in self.sessions.items()
        }

    def left(self) -> list[str]:
        """Return what is left of the sessions, and what is not of others."""
        containers = self.docker("ps", "-a", "--format", "{{.Names}}").split()
        left = [f"docker container {name}" for name in containers if name != "other"]
        running = self.docker("ps", "--format", "{{.Names}}").split()
        left += [] if "other" in running else ["docker: the other container has gone"]
        volumes = self.docker("volume", "ls", "-q").split()
        left += [f"docker volume {name}" for name in volumes]
        for what in ("containers", "tasks"):
            found = self.ctr(what, "ls", "-q").split()
            left += [f"cri {what} {name}" for name in found if name != "o"]
            left += [] if "o" in found else [f"cri: the other one of {what} has gone"]
        for name in self.sessions:
            home = str(self.folder / f"home-{name}")
            mounts = Path("/proc/self/mounts").read_text().splitlines()
            left += [f"mount {line}" for line in mounts if home in line]
            left += [f"process {line}" for line in _processes_with(home)]
        return left

    def end_engines(self) -> None:
        """Remove the containers of somebody else, and end the engines."""
        self.docker("rm", "-f", "other")
        self.ctr("tasks", "kill", "-s", "9", "o")
        time.sleep(1)
        self.ctr("containers", "rm", "o")
        for engine in self.engines.values():
            engine.end(signal.SIGTERM)


def _processes_with(home: str) -> list[str]:
    """Return the processes that have a HOME in their environment or work below it."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            variables = (process / "environ").read_bytes().split(b"\0")
            below = str((process / "cwd").readlink()).startswith(home)
            words = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue  # It has ended meanwhile.
        if below or f"HOME={home}".encode() in variables:
            found.append(f"{process.name} {words}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--every", type=float, default=30, help="seconds, on average")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    storm = Storm(Path(tempfile.mkdtemp(prefix="storm-")), chance)
    print(storm.folder, flush=True)
    storm.begin()
    until = time.monotonic() + options.minutes * 60
    while time.monotonic() < until and not storm.ended():
        time.sleep(chance.uniform(0, 2 * options.every))
        storm.fault()
    early = storm.ended()
    statuses = storm.end_sessions()
    left = storm.left()
    storm.end_engines()
    for what, count in sorted(storm.faults.items()):
        print(f"{count:5} {what}")
    print(f"ended by themselves: {early or 'none'}; exit statuses: {statuses}")
    print("\n".join(left) or "nothing is left")
    return 1 if left or early else 0


if __name__ == "__main__":
    sys.exit(main())
