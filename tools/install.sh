# SPDX-License-Identifier: BSD-2-Clause
# Sourced by ./run and ./test: installs Debian packages that are missing, as root or through sudo. Where neither is possible
# it says what is missing and goes on: the build then names what it cannot do without.

missing() {
    for p in "$@"; do
        dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q 'install ok installed' || printf '%s ' "$p"
    done
}

apt() {
    local sudo=
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null || return 1
        sudo -n true 2>/dev/null || [ -t 0 ] || return 1 # sudo may ask for a password where there is somebody to ask
        sudo=sudo
    fi
    DEBIAN_FRONTEND=noninteractive $sudo apt-get -qq -o Dpkg::Use-Pty=0 "$@" >/dev/null
}

install() {
    local want
    want=$(missing "$@")
    [ -n "$want" ] || return 0
    echo "installing: $want"
    # shellcheck disable=SC2086
    apt install -y --no-install-recommends $want 2>/dev/null ||
        { apt update && apt install -y --no-install-recommends $want; } ||
        echo "could not install: $want" >&2
}

# install_foreign ARCH PACKAGE... -- FOREIGN_PACKAGE...: cross tools, and packages of another architecture.
install_foreign() {
    local arch=$1 native=() foreign=()
    shift
    while [ "$1" != -- ]; do native+=("$1"); shift; done
    shift
    for p in "$@"; do foreign+=("$p:$arch"); done
    install "${native[@]}"
    [ -n "$(missing "${foreign[@]}")" ] || return 0
    if ! dpkg --print-foreign-architectures | grep -qx "$arch"; then
        local sudo=
        [ "$(id -u)" = 0 ] || sudo="sudo -n"
        $sudo dpkg --add-architecture "$arch" || return 0
        apt update || true
    fi
    install "${foreign[@]}"
}
