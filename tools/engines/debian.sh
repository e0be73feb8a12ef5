#!/usr/bin/env bash
#
# Gives the Docker engine an image of Debian with Python, which the Containerfile is
# built on in tests.
#
#   tools/engines/debian.sh
#
# It is made of this Debian's packages, without a registry. An image that is there is
# left as it is. Needs root.

set -euo pipefail

readonly IMAGE=localhost/probetui-debian:1

say() {
  printf 'debian.sh: %s\n' "$*"
}

if docker image inspect "$IMAGE" >/dev/null 2>&1; then
  say "image $IMAGE is here"
  exit
fi
if ! command -v mmdebstrap >/dev/null; then
  say "installing mmdebstrap"
  apt-get -o DPkg::Lock::Timeout=120 update -qq
  DEBIAN_FRONTEND=noninteractive \
    apt-get -o DPkg::Lock::Timeout=120 install -qq -y --no-install-recommends mmdebstrap >/dev/null
fi
codename=$(. /etc/os-release && printf '%s' "$VERSION_CODENAME")
say "making $IMAGE of Debian $codename"
# Its packages come from where this machine has them; the archive is never a folder here.
mmdebstrap --quiet --variant=apt --mode=root --include=python3-venv \
  "$codename" - | docker import - "$IMAGE" >/dev/null
say "image $IMAGE is ready"
