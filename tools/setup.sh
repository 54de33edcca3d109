# Common part of tools/quickstart and tools/test: to be sourced by them.
#
#   install_packages               whatever is missing, by apt
#   configure DIR [-DVAR=VALUE...]  quiet where the build is configured like that already
#   build DIR [TARGET...]

set -euo pipefail
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
LLVM=/usr/lib/llvm-22

say() { printf '== %s\n' "$*"; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# Package | what shows that it (or an equal) is there: a command or a file | what for.
PACKAGES="
g++|g++|compiles attnc (C++17)
cmake|cmake|configures the build
ninja-build|ninja|runs the build
ccache|ccache|makes the next build take seconds
libmlir-22-dev|$LLVM/lib/cmake/mlir/MLIRConfig.cmake|MLIR 22, which the compiler is built on
mlir-22-tools|$LLVM/bin/mlir-tblgen|generates the dialects from their tables
llvm-22-dev|$LLVM/lib/cmake/llvm/LLVMConfig.cmake|LLVM 22, which makes the machine code
llvm-22-tools|$LLVM/bin/FileCheck|lit and FileCheck, which run the tests
libfmt-dev|/usr/include/fmt/format.h|text of messages
libcli11-dev|/usr/include/CLI/CLI.hpp|command lines
libtbb-dev|/usr/include/tbb/parallel_for.h|threads
libdlpack-dev|/usr/include/dlpack/dlpack.h|tensors lent by other libraries
libgtest-dev|/usr/include/gtest/gtest.h|unit tests
libstb-dev|/usr/include/stb/stb_image.h|pictures in the denoising example
"

is_there() { case $1 in /*) [ -e "$1" ] ;; *) command -v "$1" >/dev/null ;; esac; }

has_candidate() {
  # Not grep -q, which would end the pipe early and with it, under pipefail, fail.
  LC_ALL=C apt-cache policy "$1" 2>/dev/null | grep 'Candidate: [^(]' >/dev/null
}

install_packages() {
  local missing=() package probe reason
  while IFS='|' read -r package probe reason; do
    [ -n "$package" ] || continue
    is_there "$probe" && continue
    [ ${#missing[@]} -gt 0 ] || say "Packages that are missing here:"
    printf '   %-16s %s\n' "$package" "$reason"
    missing+=("$package")
  done <<<"$PACKAGES"
  [ ${#missing[@]} -gt 0 ] || return 0

  local command="apt-get install --no-install-recommends ${missing[*]}"
  command -v apt-get >/dev/null ||
    die "this system has no apt-get; install the equals of the packages above by hand (attnc is developed on Debian 12)"
  local sudo=()
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null ||
      die "installing needs root: run this as root, install sudo, or have somebody run '$command'"
    sudo=(sudo)
  fi

  # Lists may be empty (a container) or old; one broken source of the user's is no reason to stop.
  say "Updating apt's lists"
  "${sudo[@]}" apt-get update -qq ||
    printf 'warning: apt-get update failed; going on with the lists as they are\n' >&2
  for package in "${missing[@]}"; do
    has_candidate "$package" && continue
    case $package in
    *-22-*)
      die "apt knows no package $package. LLVM 22 comes to Debian 12 through its security suite,
which is not enabled here. Enable it with

  echo 'deb http://deb.debian.org/debian-security bookworm-security main' | ${sudo[*]}${sudo:+ }tee /etc/apt/sources.list.d/security.list

and run this again." ;;
    *) die "apt knows no package $package; is Debian's main archive among apt's sources?" ;;
    esac
  done
  say "Installing: ${sudo[*]}${sudo:+ }$command"
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    "${missing[@]}" </dev/null || die "apt-get could not install ${missing[*]}"
}

configure() {
  local dir=$1 log=$1/configure.log
  shift
  # Ninja runs CMake again by itself where a CMakeLists.txt changed.
  if [ -f "$dir/build.ninja" ] && [ "$(cat "$dir/configure.options" 2>/dev/null)" = "$*" ]; then
    return 0
  fi
  say "Configuring $dir${*:+ ($*)}"
  mkdir -p "$dir" || die "cannot make $dir"
  # -U: an option that is not given any more is back at its default.
  if ! cmake -G Ninja -S "$ROOT" -B "$dir" -U 'ATTN_*' "$@" >"$log" 2>&1; then
    cat "$log" >&2
    die "CMake failed; its output stands above and in $log"
  fi
  printf '%s' "$*" >"$dir/configure.options"
}

build() {
  local dir=$1
  shift
  say "Building $dir (the first time takes some minutes)"
  ninja -C "$dir" "$@" || die "the build failed; the first 'FAILED' above says where"
}
