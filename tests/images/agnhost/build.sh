#!/usr/bin/env bash
#
# Lays out the root file system of the test server's image, without an image registry:
# Debian's packages of Python and busybox, a wheel of grpcio, and the server.
#
#   tests/images/agnhost/build.sh FOLDER
#
# Takes Python from $PYTHON, or python3. Packages come from where apt and pip are set up
# to take them. Nothing of what is built is run as root, or needs to be.

set -euo pipefail

readonly PYTHON=${PYTHON:-python3}
here=$(cd "$(dirname "$0")" && pwd)
readonly here
mkdir -p "$1"
root=$(cd "$1" && pwd)
readonly root
scratch=$(mktemp -d)
readonly scratch
trap 'rm -rf "$scratch"' EXIT

# What Debian's python3 depends on says which Python that is.
python_version() {
  apt-cache depends python3-minimal |
    sed -n 's/.*Depends: python\(3\.[0-9]*\)-minimal$/\1/p' | head -n 1
}

# The libraries below Python itself; those of modules that are not used can be missing.
libraries() {
  apt-cache depends "python$1-minimal" "libpython$1-minimal" |
    sed -n 's/^ *\(Pre\)\?Depends: \(lib[^p].*\|zlib1g.*\)$/\2/p' | sort -u
}

unpack_packages() {
  local package
  # apt downloads as a user of its own, who has to be able to write there.
  chmod 777 "$scratch"
  (cd "$scratch" && apt-get -qq download "$@" >/dev/null)
  for package in "$scratch"/*.deb; do
    dpkg -x "$package" "$root"
  done
}

remove_what_is_not_used() {
  local lib=$1
  rm -rf "${root:?}"/{etc,usr/share,usr/lib/*/gconv} \
    "$lib"/{config-*,distutils,ensurepip,idlelib,lib2to3,pydoc_data,sqlite3} \
    "$lib"/{test,tkinter,turtledemo,unittest}
}

install_wheels() {
  "$PYTHON" -m venv "$scratch/venv"
  "$scratch/venv/bin/pip" install -q --disable-pip-version-check --no-deps \
    --no-compile --only-binary=:all: --python-version "$1" \
    --target "$root/opt/agnhost" 'grpcio>=1.60,<2' typing_extensions
}

lay_out_busybox() {
  local applet
  mkdir -p "$root"/{bin,etc,root,tmp}
  chmod 1777 "$root/tmp"
  for applet in $("$root/bin/busybox" --list); do
    [[ -e "$root/bin/$applet" ]] || ln -s busybox "$root/bin/$applet"
  done
  echo root:x:0:0:root:/root:/bin/sh >"$root/etc/passwd"
}

# Containers should start at once, and only the very Python that will run these files
# can compile them.
compile() {
  local version=$1 loader libc
  loader=$(find "$root" -name 'ld-linux*.so.*' -print -quit)
  libc=$(find "$root" -name libc.so.6 -print -quit)
  libc=$(dirname "$libc")
  PYTHONHOME="$root/usr" "$loader" \
    --library-path "$libc:$root/usr/lib/$(basename "$libc")" \
    "$root/usr/bin/python$version" -S -m compileall -q -s "$root" \
    --invalidation-mode unchecked-hash "$root/usr/lib/python$version" "$root/opt"
}

if ! apt-cache show python3-minimal >/dev/null 2>&1; then
  apt-get -o DPkg::Lock::Timeout=120 update -qq
fi
version=$(python_version)
mapfile -t libraries < <(libraries "$version")
unpack_packages "python$version-minimal" "libpython$version-minimal" \
  "libpython$version-stdlib" "${libraries[@]}" libgcc-s1 libstdc++6 busybox-static
remove_what_is_not_used "$root/usr/lib/python$version"
lay_out_busybox
ln -s "python$version" "$root/usr/bin/python3"
install_wheels "$version"
install -m 644 -t "$root/opt/agnhost" "$here/agnhost.py"
install -m 644 -t "$root" "$here/localhost.crt" "$here/localhost.key"
install -m 755 "$here/entrypoint.sh" "$root/agnhost"
compile "$version"
