# packages.sh: installs the packages that a bare Debian or Ubuntu lacks. run_all.sh sources this file and provides the functions
# for output and options: die, heading, quietly, is_given.
#
#     set_up      install missing packages, or end with 1 and print the command for it
#
# shellcheck shell=bash

# One row per package: its name (| separates alternatives, ? marks an optional package), a program that shows its presence
# however installed (- for none), and its purpose.
readonly package_rows=(
    "cmake                               cmake      build system"
    "make                                make       runs the build"
    "gcc                                 gcc        compiles"
    "libc6-dev                           -          the C library's headers"
    "openmpi-bin                         ompi_info  starts the ranks"
    "libopenmpi-dev                      mpicc      communication between ranks"
    "libopenblas-dev                     -          multiplies matrices"
    "libcmocka-dev                       -          unit tests"
    "libjansson-dev                      -          reads traces as JSON, to test them"
    "libyajl-dev                         -          reads profilers' traces"
    "zlib1g-dev                          -          … that are compressed"
    "gnuplot-nox|gnuplot-qt|gnuplot-x11  gnuplot    draws the charts"
    "fonts-dejavu-core                   -          font of the charts"
    "libcmark-gfm-dev                    -          reads the lessons, for the report"
    "libcmark-gfm-extensions-dev         -          … and their tables"
    "?libsimgrid-dev                     -          simulates ranks with one core each"
    "?g++                                g++        compiles the CUDA kernels for the CPU, to test them; nvcc needs it too"
)

is_there() # PACKAGE[|PACKAGE]... PROGRAM
{
    if [[ $2 != - ]] && command -v "$2" >/dev/null; then
        return 0
    fi
    if ! command -v dpkg-query >/dev/null; then
        [[ $2 == - ]] # unknown without a program to look for; the build will show
        return
    fi
    # shellcheck disable=SC2016,SC2086 # dpkg-query's variable; one word per package
    [[ $(dpkg-query -W -f '<${db:Status-Status}>' ${1//|/ } 2>/dev/null) == *"<installed>"* ]]
}

# shellcheck disable=SC2317 # called through `quietly`
apt() # run apt-get as root, without questions, after waiting for other package managers
{
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get -q -y --no-remove --no-install-recommends -o Acquire::Retries=3 -o DPkg::Lock::Timeout=120 "$@"
}

megabytes() # PACKAGE...: print the megabytes to download; fail if the package lists lack one
{
    apt-get -qq -y --no-remove --no-install-recommends --print-uris install "$@" 2>/dev/null |
        awk '{ bytes += $3 } END { printf "%.0f", bytes / 1e6 }'
}

become_root() # set as_root; fail without permission
{
    as_root=()
    ((EUID != 0)) || return 0
    as_root=(sudo)
    command -v sudo >/dev/null || return 1
    sudo -n true 2>/dev/null || { [[ -t 0 ]] && sudo -v; }
}

by_hand() # PACKAGE...
{
    printf 'apt-get update && apt-get install --no-install-recommends %s' "$*"
}

# Optional packages come last, and only if the package lists have them.
install() # HOW-MANY-ARE-NEEDED PACKAGE...
{
    local needed=$1 log=build/setup.log size answer=y package as_root
    shift
    command -v apt-get >/dev/null ||
        die 1 "no apt-get here; install these packages (Debian's names) with this system's package manager, then run this again"
    become_root || die 1 "installing needs an administrator; run as root:  $(by_hand "$@")"
    : >"$log"
    if ! megabytes "$@" >/dev/null; then
        quietly "Fetching the package lists" "$log" apt update ||
            die 1 "set-up needs a network; by hand, as root:  $(by_hand "$@")"
    fi
    for package in "${@:needed + 1}"; do
        megabytes "$package" >/dev/null && continue
        printf '%s is not in the package lists of this system; going on without\n' "$package"
        set -- "${@:1:needed}"
    done
    (($# > 0)) || return 0
    size=$(megabytes "$@") || die 1 "this system's package lists lack one of: $*"
    if [[ -t 0 && -t 1 ]] && ! is_given --yes; then
        read -r -p "Install these and what they need, $size MB to download? [Y/n] " answer
        if [[ ${answer:-y} != [yY]* ]]; then
            ((needed == 0)) && return
            die 1 "nothing was installed; by hand, as root:  $(by_hand "$@")"
        fi
    fi
    quietly "Installing, $size MB to download" "$log" apt install "$@" && return
    quietly "Fetching fresh package lists" "$log" apt update && quietly "Installing again" "$log" apt install "$@" && return
    die 1 "set-up failed; by hand, as root:  $(by_hand "$@")"
}

set_up()
{
    local row packages program why needed=() spared=()
    mkdir -p build 2>/dev/null
    [[ -w build ]] || die 1 "'$PWD/build' cannot be written; copy the project to a folder of your own"
    for row in "${package_rows[@]}"; do
        read -r packages program why <<<"$row"
        is_there "${packages#\?}" "$program" && continue
        ((${#needed[@]} + ${#spared[@]} > 0)) || heading "Missing packages"
        packages=${packages%%|*}
        printf '  %-18s %s\n' "${packages#\?}" "$why"
        if [[ $packages == \?* ]]; then
            spared+=("${packages#\?}")
        else
            needed+=("$packages")
        fi
    done
    ((${#needed[@]} + ${#spared[@]} > 0)) || return 0
    if ((${#needed[@]} > 0)) || { command -v apt-get && { ((EUID == 0)) || sudo -n true; }; } &>/dev/null; then
        install ${#needed[@]} "${needed[@]}" "${spared[@]}"
    else
        printf 'Going on without; to install it, as root:  %s\n' "$(by_hand "${spared[@]}")"
    fi
}
