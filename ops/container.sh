#!/bin/sh
# How a container starts: as it is told, or, without a config that is mounted, with one of its own in the volume.
set -eu

mounted=/etc/elf/elf.toml
own=${ELF_FOLDER:-/var/lib/elf}/elf.toml

if [ "$*" = "elf up -c $mounted" ] && [ ! -e "$mounted" ]; then
    [ -e "$own" ] || elf init --public "$own"
    set -- elf up -c "$own"
fi
exec "$@"
