# What tephra needs from Debian, by purpose; sourced by ./demo and ./test.

TEPHRA_BUILD_PACKAGES="cmake ninja-build g++ pkg-config libelf-dev libdw-dev libiberty-dev libcli11-dev libfmt-dev libprotozero-dev
  libzstd-dev zlib1g-dev libdeflate-dev liblzma-dev libdebuginfod-dev libtraceevent-dev libpfm4-dev libbpf-dev clang-14 bpftool
  libre2-dev esbuild"
# Everyday tests: the unit test library, the oracles (perf, binutils, the tools of gperftools and jemalloc), ps, ip, and what
# the fuzzers need.
TEPHRA_TEST_PACKAGES="libgtest-dev python3 procps linux-perf binutils libclang-rt-14-dev clang-format-14
  dwz llvm-14 xz-utils libunwind-dev google-perftools libgoogle-perftools-dev libjemalloc-dev iproute2"
# Heavy peers of ./test --all: a real browser, hotspot's parser of perf.data, Go and its pprof, a server of debug
# information, bpftrace, an emulator for other kernels, and node, which runs the importers of speedscope and the Firefox Profiler, and the tests
# of pages.
TEPHRA_HEAVY_PACKAGES="chromium hotspot golang-go golang-github-google-pprof-dev debuginfod bpftrace qemu-system-x86
  busybox-static nodejs"
TEPHRA_NPM_PACKAGES="speedscope@1.25.0 @firefox-devtools/profiler-cli@0.10.0 playwright-core@1.49.1 typescript@5.7.2"

# Installs those of the packages that are missing; silent and quick when none is.
install_packages() {
  local missing=()
  local package
  for package in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  local as_root=()
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { echo "these packages are missing, and sudo to install them: ${missing[*]}" >&2; return 1; }
    as_root=(sudo)
  fi
  echo "installing: ${missing[*]}"
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" \
    >/dev/null
}

# install_npm_packages NAME@VERSION…: into build/npm, those that are missing. npm comes with some packages of node, and is
# one of its own in Debian.
install_npm_packages() {
  local missing=()
  local package
  for package in "$@"; do
    grep -qs "\"version\": \"${package##*@}\"" "build/npm/node_modules/${package%@*}/package.json" || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  command -v npm >/dev/null || install_packages npm
  echo "installing from npm: ${missing[*]}"
  mkdir -p build/npm
  # All of them: those that are not named would be removed.
  npm install --prefix build/npm --no-save --ignore-scripts --silent "$@" >/dev/null
}

# build_preset PRESET TARGET…: configures and builds; the log is shown only when that fails.
build_preset() {
  local preset=$1 log="build/$1.log"
  shift
  mkdir -p build
  { [ -f "build/$preset/build.ninja" ] || cmake --preset "$preset"; } >"$log" 2>&1 &&
    cmake --build --preset "$preset" --target "$@" >>"$log" 2>&1 || { cat "$log" >&2; return 1; }
}
