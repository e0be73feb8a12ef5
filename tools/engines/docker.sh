#!/usr/bin/env bash
#
# Has a Docker engine run on this machine, with the images that tests and samples use.
#
#   tools/engines/docker.sh
#
# On a bare Debian machine it installs what is missing, starts the daemon in the
# background and builds the images without a registry. What is there already is left
# as it is, so that it may be run again at any time. Needs root for what it changes.

set -euo pipefail

readonly LOG=/var/log/dockerd.log
readonly LOG_LIMITS=(--log-opt max-size=10m --log-opt max-file=5)
readonly ANSWERS_WITHIN_SECONDS=60
readonly BUSYBOX_IMAGES=(busybox:1.36 registry.k8s.io/busybox:1.27.2)

say() {
  printf 'docker.sh: %s\n' "$*"
}

fail() {
  say "$*" >&2
  exit 1
}

need_root() {
  [[ "$(id -u)" == 0 ]] || fail "must be root to $1"
}

# install COMMAND PACKAGE...: installs the packages if the command is not there.
install() {
  local command=$1
  shift
  if command -v "$command" >/dev/null; then
    return
  fi
  need_root "install $*"
  say "installing $*"
  if [[ -z "${updated:-}" ]]; then
    apt-get -o DPkg::Lock::Timeout=120 update -qq
    updated=yes
  fi
  DEBIAN_FRONTEND=noninteractive \
    apt-get -o DPkg::Lock::Timeout=120 install -qq -y --no-install-recommends "$@" >/dev/null
}

answers() {
  docker version --format '{{.Server.Version}}' >/dev/null 2>&1
}

# A daemon that was killed leaves its number behind, and the next one believes it.
remove_stale_pid_file() {
  local file=$1 name=$2 number
  [[ -f "$file" ]] || return 0
  number=$(<"$file")
  if [[ "$(cat "/proc/$number/comm" 2>/dev/null)" != "$name" ]] ||
    grep -q '^State:[[:space:]]*Z' "/proc/$number/status"; then
    say "removing $file, left by a daemon that is gone"
    rm -f "$file"
  fi
}

start() {
  need_root "start dockerd"
  if [[ -d /run/systemd/system ]]; then
    say "starting the service docker"
    systemctl start docker
    return
  fi
  remove_stale_pid_file /var/run/docker.pid dockerd
  remove_stale_pid_file /var/run/docker/containerd/containerd.pid containerd
  say "starting dockerd, which writes to $LOG"
  # A container that a test has left may print for ever.
  setsid --fork dockerd "${LOG_LIMITS[@]}" >>"$LOG" 2>&1 </dev/null
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
  fail "no Docker daemon answers after $ANSWERS_WITHIN_SECONDS seconds"
}

# Unpacks what the image busybox has: one program, a link per applet, a few files.
lay_out_busybox() {
  local root=$1 busybox applet
  busybox=$(command -v busybox)
  mkdir -p "$root"/{bin,etc,home,root,tmp,usr/bin,var}
  chmod 1777 "$root/tmp"
  chmod 700 "$root/root"
  cp "$busybox" "$root/bin/busybox"
  for applet in $("$busybox" --list); do
    # The list names the program itself too.
    [[ "$applet" == busybox ]] || ln -s busybox "$root/bin/$applet"
  done
  ln -s ../../bin/env "$root/usr/bin/env"
  printf '%s\n' root:x:0:0:root:/root:/bin/sh \
    nobody:x:65534:65534:nobody:/home:/bin/false >"$root/etc/passwd"
  printf '%s\n' root:x:0: nobody:x:65534: >"$root/etc/group"
}

build_busybox() {
  local name=$1 root
  install busybox busybox-static
  if ldd "$(command -v busybox)" >/dev/null 2>&1; then
    fail "$(command -v busybox) needs libraries; install busybox-static instead"
  fi
  root=$(mktemp -d)
  lay_out_busybox "$root"
  tar -C "$root" --numeric-owner --owner=0 --group=0 -c . |
    docker import --change 'CMD ["sh"]' - "$name" >/dev/null
  rm -rf "$root"
}

have_busybox_images() {
  local name first=""
  for name in "${BUSYBOX_IMAGES[@]}"; do
    if docker image inspect "$name" >/dev/null 2>&1; then
      say "image $name is here"
    elif [[ -n "$first" ]]; then
      say "naming $first $name too"
      docker tag "$first" "$name"
    else
      say "building image $name from this machine's busybox"
      build_busybox "$name"
    fi
    first=${first:-$name}
  done
}

install dockerd docker.io
install docker docker.io
install iptables iptables
if answers; then
  say "a Docker daemon answers"
else
  start
  wait_until_it_answers
fi
have_busybox_images
say "Docker $(docker version --format '{{.Server.Version}}') is ready"
