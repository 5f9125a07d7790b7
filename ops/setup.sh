# Shared by ops/up and ops/test, which source it: finds a Python, makes .venv and installs the pinned packages.
#
# A finished .venv carries a stamp (ops/stamp.py): while it matches, nothing is installed and no network is touched.
# While packages are being laid out the file .venv/.unfinished exists; a .venv that has it, or that has no stamp, or
# whose Python no longer runs, is made anew.

set -euo pipefail

repo=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
venv=$repo/.venv
download_mb=130 # about
running=''
unset PYTHONHOME PYTHONPATH PIP_USER PIP_TARGET PIP_PREFIX PIP_CONSTRAINT

say() { printf 'elf: %s\n' "$*" >&2; }

die() {
    say "$@"
    exit 2
}

# Run a step out of Ctrl-C's reach, which then comes to this script alone: `interrupted` ends the step with all that it
# has begun, and none of them shows a traceback.
step() {
    local code=0
    set -m # a process group of its own
    "$@" </dev/null &
    running=$!
    set +m
    wait "$running" || code=$?
    running=''
    return "$code"
}

interrupted() {
    trap '' INT TERM
    if [ -n "$running" ]; then
        kill -TERM -- "-$running" 2>/dev/null || :
        wait "$running" 2>/dev/null || :
    fi
    if [ -t 2 ]; then printf '\r\033[K' >&2; fi
    say "interrupted; the next run takes it up again"
    exit "$1"
}

# Print the path of a Python 3.11 to 3.13. Inside a virtual environment that is the Python it was made with, because
# the environment may be the very one that is about to be replaced.
find_python() {
    local candidate found='' probe
    probe='import os, sys
if not (3, 11) <= sys.version_info[:2] <= (3, 13):
    sys.exit(".".join(map(str, sys.version_info[:3])))
print(os.path.realpath(sys.executable) if sys.prefix != sys.base_prefix else sys.executable)'
    for candidate in python3 python3.13 python3.12 python3.11; do
        command -v "$candidate" >/dev/null || continue
        if found=$("$candidate" -c "$probe" 2>/dev/null); then
            printf '%s\n' "$found"
            return
        fi
    done
    if command -v python3 >/dev/null; then
        die "needs Python 3.11, 3.12 or 3.13; python3 here is $(python3 --version 2>&1 | sed 's/^Python //')"
    fi
    die "needs Python 3.11, 3.12 or 3.13; there is no python3 on the PATH"
}

# Make an empty .venv. Debian ships venv without ensurepip: there the pip of the Python outside has to do.
make_venv() {
    local python=$1
    "$python" -c 'import venv' 2>/dev/null || die "$python has no venv module: install it (Debian, Ubuntu: python3-venv)"
    rm -rf -- "$venv"
    mkdir -- "$venv" || die "cannot make $venv"
    : >"$venv/.unfinished"
    if "$python" -c 'import ensurepip' 2>/dev/null; then
        step "$python" -m venv "$venv" || die "$python could not make $venv"
    elif "$python" -m pip --version >/dev/null 2>&1; then
        step "$python" -m venv --without-pip "$venv" || die "$python could not make $venv"
    else
        die "$python has neither pip nor ensurepip: install one (Debian, Ubuntu: python3-venv or python3-pip)"
    fi
}

stamp() { "$venv/bin/python" -I -S "$repo/ops/stamp.py" "$1" "$repo" "$2" 2>/dev/null; }

# Install what ops/constraints.txt pins. What pip says is shown when it fails; what it leaves behind when it is ended is
# in .venv, too, and goes with it.
install_packages() {
    local kind=$1 tmp=$venv/tmp pins=(-r "$repo/ops/constraints.txt")
    if [ "$kind" = dev ]; then pins+=(-r "$repo/ops/constraints-dev.txt"); fi
    mkdir -p -- "$tmp"
    {
        install_pins "${pins[@]}" &&
            run_pip --no-build-isolation -e "$repo" # by what is installed by then: nothing more is fetched
    } 2>"$tmp/complaints" | tell_progress || {
        cat -- "$tmp/complaints" >&2
        return 1
    }
    rm -rf -- "$tmp"
}

install_pins() { run_pip --require-hashes "$@"; }

run_pip() {
    local pip=("$venv/bin/python" -m pip)
    if ! "${pip[@]}" --version >/dev/null 2>&1; then pip=("$(find_python)" -m pip --python "$venv/bin/python"); fi
    TMPDIR=$venv/tmp "${pip[@]}" --disable-pip-version-check install --progress-bar off --no-deps "$@"
}

# Read what pip says, and tell how far it is: at a terminal in one line that changes, else in a line every 25 MB.
tell_progress() {
    local line kb=0 told=0 package size count
    local wheel='(Downloading|Using cached) ([^ ]+)\.whl \(([0-9]+)(\.([0-9]))?[0-9]* (kB|MB)\)'
    local layout='Installing collected packages: (.*)'
    while read -r line; do
        if [[ $line =~ $wheel ]]; then
            package=${BASH_REMATCH[2]%%-*}
            size=${BASH_REMATCH[3]}
            if [ "${BASH_REMATCH[6]}" = MB ]; then size=$((size * 1000 + ${BASH_REMATCH[5]:-0} * 100)); fi
            kb=$((kb + size))
            if [ -t 2 ]; then
                printf '\r\033[Kelf: fetching %s: %d MB of about %d' "$package" $((kb / 1000)) "$download_mb" >&2
            elif [ $((kb - told)) -ge 25000 ]; then
                told=$kb
                say "fetched $((kb / 1000)) MB of about $download_mb"
            fi
        elif [[ $line =~ $layout ]]; then
            if [ -t 2 ]; then printf '\r\033[K' >&2; fi
            count=$(wc -w <<<"${BASH_REMATCH[1]}")
            if [ "$count" -gt 1 ]; then say "laying out $((count)) packages"; fi
        fi
    done
}

# set_up run|dev: leave a .venv that has the pinned packages and the project itself (editable); for dev, also the local
# model in the user's cache, where tests find it without a network.
set_up() {
    local kind=$1 python began=$SECONDS
    if [ "$kind" = dev ]; then
        download_mb=190 # with the tools
    fi
    trap 'interrupted 130' INT
    trap 'interrupted 143' TERM
    if command -v flock >/dev/null; then
        exec 9<"$repo/ops/setup.sh"
        if ! flock -n 9; then # two starts at once: the second one waits and then finds the work done
            say "waiting for another set-up of $venv"
            flock 9
        fi
    fi
    if [ -e "$venv/.unfinished" ] || ! stamp check "$kind"; then
        if [ -e "$venv/.unfinished" ] || ! stamp usable "$kind"; then
            python=$(find_python)
            say "making .venv with $("$python" --version)"
            make_venv "$python"
        fi
        : >"$venv/.unfinished"
        say "installing the pinned packages (this once; about $download_mb MB)"
        step install_packages "$kind" || die "the packages could not be installed; the next run tries again"
        stamp write "$kind" || die "cannot write into $venv"
        rm -- "$venv/.unfinished"
        say "installed in $((SECONDS - began)) s"
    fi
    if [ "$kind" = dev ]; then
        step "$venv/bin/elf" model fetch -c "$repo/elf.example.toml" >/dev/null || die "the model could not be fetched"
    fi
    if command -v flock >/dev/null; then exec 9<&-; fi
    trap - INT TERM
}
