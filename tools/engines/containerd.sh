#!/usr/bin/env bash
#
# Has a containerd with a CRI run on this machine, with the images that tests and samples
# use; it is one of its own, beside those of Docker and of the system.
#
#   tools/engines/containerd.sh
#   probetui -f pod.yaml --runtime cri -r unix:///run/probetui-containerd/containerd.sock
#
# On a bare Debian machine it installs what is missing, starts the daemon in the
# background and takes the images from Docker, so that no registry is needed. What is
# there already is left as it is, so that it may be run again at any time. Needs root.

set -euo pipefail

readonly NAME=probetui-containerd
readonly STATE=/run/$NAME
readonly ROOT=/var/lib/$NAME
readonly SETTINGS=/etc/$NAME
readonly SOCKET=$STATE/containerd.sock
readonly PID_FILE=$STATE/pid
readonly LOG=/var/log/$NAME.log
readonly ANSWERS_WITHIN_SECONDS=60

# Not among the networks that Docker gives away by itself.
readonly POD_NETWORK=10.213.0.0/16

readonly PAUSE_IMAGE=localhost/probetui-pause:1
readonly IMAGES=(
  busybox:1.36
  registry.k8s.io/busybox:1.27.2
  registry.k8s.io/e2e-test-images/agnhost:2.53
  "$PAUSE_IMAGE"
)
readonly LABEL=io.probetui.image-id

here=$(cd "$(dirname "$0")" && pwd)
readonly here

say() {
  printf 'containerd.sh: %s\n' "$*"
}

fail() {
  say "$*" >&2
  exit 1
}

# install PACKAGE...: installs those packages.
install() {
  say "installing $*"
  apt-get -o DPkg::Lock::Timeout=120 update -qq
  DEBIAN_FRONTEND=noninteractive \
    apt-get -o DPkg::Lock::Timeout=120 install -qq -y --no-install-recommends "$@" >/dev/null
}

install_what_is_missing() {
  local packages=()
  command -v containerd >/dev/null || packages+=(containerd)
  command -v iptables >/dev/null || packages+=(iptables)
  [[ -x /usr/lib/cni/bridge ]] || packages+=(containernetworking-plugins)
  [[ ${#packages[@]} == 0 ]] || install "${packages[@]}"
}

ctr() {
  command ctr --address "$SOCKET" --namespace k8s.io "$@"
}

answers() {
  ctr version >/dev/null 2>&1
}

# What the root's file system can hold layers with: an overlay does not lie on another.
snapshotter() {
  case $(stat --file-system --format %T "$ROOT") in
    overlayfs | nfs | fuseblk) printf native ;;
    *) printf overlayfs ;;
  esac
}

write_settings() {
  mkdir -p "$SETTINGS/cni" "$STATE" "$ROOT"
  cat >"$SETTINGS/config.toml" <<END
version = 2
root = "$ROOT"
state = "$STATE"
[grpc]
  address = "$SOCKET"
[plugins."io.containerd.internal.v1.opt"]
  path = "$ROOT/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "$PAUSE_IMAGE"
  # Else nothing starts where root may not lower it.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$SETTINGS/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "$(snapshotter)"
END
  cat >"$SETTINGS/cni/10-probetui.conflist" <<END
{
  "cniVersion": "0.4.0",
  "name": "probetui",
  "plugins": [
    {
      "type": "bridge",
      "bridge": "probetui0",
      "isGateway": true,
      "ipMasq": true,
      "hairpinMode": true,
      "ipam": {
        "type": "host-local",
        "dataDir": "$ROOT/addresses",
        "ranges": [[{"subnet": "$POD_NETWORK"}]],
        "routes": [{"dst": "0.0.0.0/0"}]
      }
    },
    {"type": "portmap", "capabilities": {"portMappings": true}}
  ]
}
END
}

# A daemon that was killed leaves its number and its socket behind.
remove_what_is_stale() {
  local number
  if [[ -f "$PID_FILE" ]]; then
    number=$(<"$PID_FILE")
    if [[ "$(cat "/proc/$number/comm" 2>/dev/null)" == containerd ]] &&
      ! grep -q '^State:[[:space:]]*Z' "/proc/$number/status"; then
      say "containerd runs as process $number and is still starting"
      return 1
    fi
    say "removing $PID_FILE and $SOCKET, left by a daemon that is gone"
  fi
  rm -f "$PID_FILE" "$SOCKET" "$SOCKET.ttrpc"
}

start() {
  write_settings
  remove_what_is_stale || return 0
  say "starting containerd, which writes to $LOG"
  setsid --fork bash -c 'echo $$ >"$1"; exec containerd --config "$2"' - \
    "$PID_FILE" "$SETTINGS/config.toml" >>"$LOG" 2>&1 </dev/null
}

wait_until_it_answers() {
  local second
  for ((second = 0; second < ANSWERS_WITHIN_SECONDS; second++)); do
    if answers; then
      return
    fi
    sleep 1
  done
  tail -n 20 "$LOG" >&2 || true
  fail "no containerd answers after $ANSWERS_WITHIN_SECONDS seconds"
}

# What a sandbox runs: a program that waits for its end, and reaps what others left.
have_pause_image() {
  local root
  if docker image inspect "$PAUSE_IMAGE" >/dev/null 2>&1; then
    return
  fi
  say "building image $PAUSE_IMAGE from this machine's busybox"
  root=$(mktemp -d)
  mkdir "$root/bin"
  cp "$(command -v busybox)" "$root/bin/busybox"
  ln -s busybox "$root/bin/sh"
  ln -s busybox "$root/bin/sleep"
  tar -C "$root" --numeric-owner --owner=0 --group=0 -c . |
    docker import --change 'ENTRYPOINT ["/bin/sh", "-c", "trap \"exit 0\" INT TERM; while :; do sleep 3600 & wait $!; done"]' \
      - "$PAUSE_IMAGE" >/dev/null
  rm -rf "$root"
}

# full_name IMAGE: the name under which containerd has one of Docker's.
full_name() {
  case ${1%%/*} in
    "$1") printf 'docker.io/library/%s' "$1" ;;
    *.* | localhost) printf '%s' "$1" ;;
    *) printf 'docker.io/%s' "$1" ;;
  esac
}

# Takes over an image, unless it is there as Docker has it now.
have_image() {
  local image=$1 name id
  if ! id=$(docker image inspect -f '{{.Id}}' "$image" 2>/dev/null); then
    say "Docker has no image $image, so neither has containerd"
    return
  fi
  name=$(full_name "$image")
  if [[ -n "$(ctr images ls -q "name==$name,labels.\"$LABEL\"==\"$id\"")" ]]; then
    say "image $image is here"
    return
  fi
  say "taking image $image from Docker"
  docker save "$image" | ctr images import --snapshotter "$(snapshotter)" - >/dev/null
  ctr images label "$name" "$LABEL=$id" >/dev/null
}

[[ "$(id -u)" == 0 ]] || fail "must be root"
install_what_is_missing
# The images are made for Docker.
bash "$here/docker.sh"
have_pause_image
if answers; then
  say "containerd answers"
else
  start
  wait_until_it_answers
fi
for image in "${IMAGES[@]}"; do
  have_image "$image"
done
say "$(containerd --version | cut -d ' ' -f 1,3) is ready at unix://$SOCKET"
