"""Which file systems are those of other hosts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

KINDS: Final = frozenset(
    {
        "nfs", "nfs4", "cifs", "smb3", "smbfs", "ncpfs", "afs", "ceph", "glusterfs", "lustre", "beegfs", "gpfs",
        "ocfs2", "gfs2", "fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.s3fs", "fuse.rclone",
        "fuse.gcsfuse", "fuse.davfs2",
        "davfs",
    }
)  # fmt: skip
MOUNTS: Final = Path("/proc/self/mountinfo")


def network_file_system(device: int) -> str | None:
    """Return the kind of the network file system that a device is; None for a local one, and where nobody knows."""
    try:
        mounts = MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:  # another system than Linux
        return None
    kind = kind_of(mounts, f"{os.major(device)}:{os.minor(device)}")
    return kind if kind in KINDS else None


def kind_of(mounts: str, device: str) -> str | None:
    """Return the kind of the file system on a device, such as 8:1, by the kernel's list of mounts."""
    for line in mounts.splitlines():
        fields, _, described = line.partition(" - ")
        if fields.split(" ")[2:3] == [device] and described:
            return described.split(" ")[0]
    return None
