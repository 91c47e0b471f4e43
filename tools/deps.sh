#!/bin/sh
# System packages that the tests need. As root on Debian they are installed; elsewhere one line
# says what to install, with status 2.
set -eu

need=""
command -v "${CC:-cc}" >/dev/null 2>&1 || command -v gcc >/dev/null 2>&1 || need="$need gcc libc6-dev"
command -v g++ >/dev/null 2>&1 || need="$need g++"
command -v make >/dev/null 2>&1 || need="$need make"
command -v git >/dev/null 2>&1 || need="$need git"
command -v nm >/dev/null 2>&1 || need="$need binutils"
"${PYTHON:-python3}" -c 'import ensurepip, venv' 2>/dev/null || need="$need python3-venv"
if command -v apt-get >/dev/null 2>&1; then       # the trainer for 64-bit ARM, and what runs it
    command -v aarch64-linux-gnu-gcc >/dev/null 2>&1 \
        || need="$need gcc-aarch64-linux-gnu libc6-dev-arm64-cross"
    [ "$(uname -m)" = aarch64 ] || command -v qemu-aarch64 >/dev/null 2>&1 \
        || need="$need qemu-user"
fi

[ -z "$need" ] && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    apt-get update -qq
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $need >/dev/null
else
    echo "please install:$need   (on Debian: sudo apt-get install$need)" >&2
    exit 2
fi
