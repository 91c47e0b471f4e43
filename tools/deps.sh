#!/bin/sh
# System packages that the tests need; with the word `long`, also those of their long forms. As root
# on Debian they are installed; elsewhere one line says what to install, with status 2.
set -eu

need=""
command -v "${CC:-cc}" >/dev/null 2>&1 || command -v gcc >/dev/null 2>&1 || need="$need gcc libc6-dev"
command -v g++ >/dev/null 2>&1 || need="$need g++"
command -v make >/dev/null 2>&1 || need="$need make"
command -v git >/dev/null 2>&1 || need="$need git"
command -v gdb >/dev/null 2>&1 || need="$need gdb"
command -v zsh >/dev/null 2>&1 || need="$need zsh"
command -v fish >/dev/null 2>&1 || need="$need fish"
command -v man >/dev/null 2>&1 || need="$need man-db"
command -v mandoc >/dev/null 2>&1 || need="$need mandoc"
command -v lldb >/dev/null 2>&1 || need="$need lldb"
command -v nm >/dev/null 2>&1 || need="$need binutils"
"${PYTHON:-python3}" -c 'import ensurepip, venv' 2>/dev/null || need="$need python3-venv"
if command -v apt-get >/dev/null 2>&1; then       # the trainer for 64-bit ARM, and what runs it
    command -v aarch64-linux-gnu-gcc >/dev/null 2>&1 \
        || need="$need gcc-aarch64-linux-gnu libc6-dev-arm64-cross"
    [ "$(uname -m)" = aarch64 ] || command -v qemu-aarch64 >/dev/null 2>&1 \
        || need="$need qemu-user"
fi

# Programs in a window and in a page: what compiles them, a second compiler with its sanitizers, a
# screen and a browser to open them in
command -v emcc >/dev/null 2>&1 || need="$need emscripten"
command -v chromium >/dev/null 2>&1 || command -v chromium-browser >/dev/null 2>&1 \
    || command -v google-chrome >/dev/null 2>&1 || need="$need chromium"
command -v Xvfb >/dev/null 2>&1 || need="$need xvfb"
command -v xdotool >/dev/null 2>&1 || need="$need xdotool"
command -v clang >/dev/null 2>&1 || need="$need clang"
[ "$(uname -s)" != Linux ] || command -v bwrap >/dev/null 2>&1 || need="$need bubblewrap"
if [ "${1:-}" = long ]; then
    command -v initdb >/dev/null 2>&1 || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 \
        || need="$need postgresql"
fi
has_header() {
    echo "#include <$1>" | "${CC:-cc}" -E -x c - >/dev/null 2>&1
}
if [ "$(uname -s)" = Linux ]; then
    has_header X11/Xlib.h || need="$need libx11-dev"
    has_header X11/extensions/Xrandr.h || need="$need libxrandr-dev"
    has_header X11/extensions/XInput2.h || need="$need libxi-dev"
    has_header X11/Xcursor/Xcursor.h || need="$need libxcursor-dev"
    has_header GL/gl.h || need="$need libgl-dev"
fi
sanitizers=""                   # clang's lie in a package that carries its version in its name
if command -v dpkg >/dev/null 2>&1; then
    dpkg -s libgl1-mesa-dri >/dev/null 2>&1 || need="$need libgl1-mesa-dri"
    echo "int main(void) { return 0; }" | clang -fsanitize=address -x c - -o /dev/null \
        >/dev/null 2>&1 || sanitizers="of clang"
fi

[ -z "$need$sanitizers" ] && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    apt-get update -qq
    [ -z "$sanitizers" ] || need="$need $(apt-cache depends clang \
        | sed -n 's/.*Depends: clang-\([0-9]*\)$/libclang-rt-\1-dev/p')"
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $need >/dev/null
else
    [ -z "$sanitizers" ] || need="$need libclang-rt-N-dev"
    echo "please install:$need   (on Debian: sudo apt-get install$need)" >&2
    exit 2
fi
