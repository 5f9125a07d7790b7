"""The folder of an embedded Postgres, and the programs that work on it.

    FOLDER/
        data/            what initdb makes (PGDATA); only Postgres' own user may enter it run/             the
        unix socket, when its path is short enough; else a folder in the system's temp folder postgres.log
        the server's log; at 16 MiB it becomes postgres.log.1 at the next start start.lock       held alone
        while a process starts, attaches to, or leaves the server holders.lock     held shared by each process
        that uses the server server.lock      held by the server's own processes, so it is free when the last
        of them is gone

Everything here blocks; `elf.db.embedded` calls it in threads.
"""

from __future__ import annotations

import os
import shlex
import shutil
import stat
import tempfile
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

from elf.core.errors import StartupError
from elf.db.file_lock import FileLock, is_locked
from elf.db.postmaster import PidFile, Remains, postgres_processes_in
from elf.db.programs import find_programs, major_version, run
from elf.db.server_user import Account

SUPERUSER = "elf"
PORT = 5432  # names the socket file; nothing listens on TCP
MAX_LOG_BYTES = 16 * 1024 * 1024
INITDB_TIMEOUT_S = 120.0
LAUNCH_TIMEOUT_S = 30.0

# A unix socket's path may have 107 bytes on Linux and 103 on macOS.
_MAX_SOCKET_PATH_BYTES = 100
_OWN_NAMES = frozenset(
    {"data", "data.new", "run", "postgres.log", "postgres.log.1", "start.lock", "holders.lock", "server.lock"}
)

# For a laptop: modest memory, connections for several processes, no replication. Every acknowledged commit is
# on disk. The log holds no statement and no detail, which would quote the texts of notes.
SETTINGS: Mapping[str, str] = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "effective_cache_size": "1GB",
    "wal_compression": "on",
    # A database that fills from nothing needs its first statistics soon: without them plans go astray.
    "autovacuum_naptime": "10s",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "1GB",
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "random_page_cost": "1.1",
    "jit": "off",
    "idle_in_transaction_session_timeout": "60s",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_error_verbosity": "terse",
    "log_min_error_statement": "panic",
    "logging_collector": "off",
}


class Cluster:
    """The files of one embedded Postgres. Raises StartupError for whatever makes its folder unusable."""

    def __init__(self, folder: Path, *, settings: Mapping[str, str] = SETTINGS) -> None:
        self._settings = settings
        self.folder = folder.resolve()
        self.data = self.folder / "data"
        self.log = self.folder / "postgres.log"
        self.start_lock = self.folder / "start.lock"
        self.holders_lock = self.folder / "holders.lock"
        self._server_lock = self.folder / "server.lock"
        self._programs = find_programs()

    def prepare(self) -> None:
        """Check the folder, and make it with its lock files, so that the locks can be taken."""
        try:
            self._refuse_other_contents()
            account = Account.choose(self.data)
            if not self.has_data:
                account.check_named()
            is_new = not self.folder.exists()
            self.folder.mkdir(parents=True, exist_ok=True)
            if is_new:
                account.own(self.folder)
            for path in (self.start_lock, self.holders_lock, self._server_lock, self.log):
                if not path.exists():
                    path.touch(mode=0o600)
                    account.own(path)
            for path in (self.start_lock, self.log):
                path.open("ab").close()
        except OSError as error:
            raise StartupError(
                f"the Postgres folder {self.folder} cannot be used: {error.filename}: {error.strerror}"
            ) from error

    @property
    def has_data(self) -> bool:
        """Whether the database files are there."""
        return self.data.exists()

    def initialise(self) -> None:
        """Make the database files. An interrupted attempt leaves nothing that counts."""
        fresh = self.folder / "data.new"
        try:
            shutil.rmtree(fresh, ignore_errors=True)
            fresh.mkdir(mode=0o700)
            account = self._account()
            account.own(fresh)
            self._initdb(fresh, account)
            fresh.rename(self.data)
        except OSError as error:
            raise StartupError(f"Postgres files cannot be made in {self.folder}: {error.strerror}") from error
        finally:
            shutil.rmtree(fresh, ignore_errors=True)

    def launch(self) -> None:
        """Start the server process and return at once; it belongs to no terminal and outlives this
        process.
        """
        account = self._account()
        lock = FileLock(self._server_lock)
        try:
            if not lock.try_exclusive():
                raise StartupError(f"the Postgres folder {self.folder} is in use by another server")
            if self.log.stat().st_size > MAX_LOG_BYTES:
                self.log.rename(self.log.with_suffix(".log.1"))
            with self.log.open("ab") as log:
                account.own(self.log)
                self._run_pg_ctl(account, lock.descriptor, log)
        except OSError as error:
            raise StartupError(f"Postgres cannot be started in {self.folder}: {error.strerror}") from error
        finally:
            lock.close()

    def read_pid_file(self) -> PidFile | None:
        """Read postmaster.pid. None when there is none, or none that a server has finished writing."""
        return PidFile.read(self.data)

    def dsn(self, pid_file: PidFile) -> str:
        """Return the DSN of the server that wrote the pid file."""
        host = quote(pid_file.socket_dir, safe="")
        return f"postgresql://{SUPERUSER}@/postgres?host={host}&port={pid_file.port}"

    def remains(self) -> Remains:
        """Look for living processes of a server on this data. Zombies and reused pids are not alive."""
        pid_file = self.read_pid_file()
        if pid_file is None and not self.is_running:
            return Remains(None, (), is_locked=False)  # spares the look at every process of the system
        pids = postgres_processes_in(self.data)
        postmaster = pid_file.pid if pid_file and pid_file.pid in pids else None
        orphans = tuple(pid for pid in pids if pid != postmaster)
        return Remains(postmaster, orphans, self.is_running)

    @property
    def is_running(self) -> bool:
        """Whether any process of a server that ELF launched here is alive."""
        return is_locked(self._server_lock)

    def remove_traces(self) -> None:
        """Remove what an ended server left. Only when `remains()` is nothing: the files guard the data."""
        pid_file = self.read_pid_file()
        (self.data / "postmaster.pid").unlink(missing_ok=True)
        folders = {self._socket_dir()} | ({Path(pid_file.socket_dir)} if pid_file else set())
        for folder in folders:
            if folder.is_dir() and folder.parent in (self.folder, Path(tempfile.gettempdir())):
                for name in (f".s.PGSQL.{PORT}", f".s.PGSQL.{PORT}.lock"):
                    (folder / name).unlink(missing_ok=True)
                if not any(folder.iterdir()):
                    folder.rmdir()

    def log_tail(self) -> str:
        """Return the last lines of the server's log, for an error message."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(lines[-8:])

    def _account(self) -> Account:
        account = Account.choose(self.data)
        account.open_way_to(self.data)
        account.open_tree(self._programs.parent)
        return account

    def _refuse_other_contents(self) -> None:
        if self.folder.exists() and not self.folder.is_dir():
            raise StartupError(f"{self.folder} is not a folder, so it cannot hold the embedded Postgres")
        if self.data.exists():
            self._refuse_other_version()
        elif self.folder.exists():
            names = {path.name for path in self.folder.iterdir()} - _OWN_NAMES - {"lost+found"}
            if foreign := sorted(name for name in names if not name.startswith(".")):
                raise StartupError(
                    f"{self.folder} is not a folder of the embedded Postgres,"
                    f" it holds {', '.join(foreign[:3])}: name an empty or a new folder"
                )

    def _refuse_other_version(self) -> None:
        try:
            version = (self.data / "PG_VERSION").read_text().strip()
        except (FileNotFoundError, NotADirectoryError):
            raise StartupError(f"{self.data} holds no Postgres data: name another folder") from None
        installed = major_version(self._programs)
        if version != installed:
            raise StartupError(
                f"{self.data} was made by PostgreSQL {version}, but the installed one is"
                f" {installed}: move the data with pg_dump, or name another folder"
            )

    def _initdb(self, target: Path, account: Account) -> None:
        command = [
            str(self._programs / "initdb"),
            f"--pgdata={target}",
            f"--username={SUPERUSER}",
            "--auth-local=trust",  # the socket's folder lets only its owner in
            "--auth-host=reject",
            "--encoding=UTF8",
            # Postgres' own collation: the same on every system, and no index breaks when the C library
            # changes.
            "--locale-provider=builtin",
            "--locale=C.UTF-8",
            "--no-instructions",
        ]
        result = run(command, account, capture_output=True, text=True, timeout=INITDB_TIMEOUT_S)
        if result.returncode:
            reason = result.stderr.strip().splitlines()[-4:] or [f"exit code {result.returncode}"]
            raise StartupError(f"initdb failed in {self.folder}: {' '.join(reason)}")

    def _run_pg_ctl(self, account: Account, lock: int, log: Any) -> None:
        socket_dir = self._make_socket_dir(account)
        settings = {**self._settings, "unix_socket_directories": str(socket_dir), "port": str(PORT)}
        options = " ".join(shlex.quote(f"--{name}={value}") for name, value in settings.items())
        command = [str(self._programs / "pg_ctl"), "start", "--no-wait", f"--pgdata={self.data}"]
        command += [f"--log={self.log}", f"--options={options}"]
        result = run(command, account, stdout=log, stderr=log, pass_fds=(lock,), timeout=LAUNCH_TIMEOUT_S)
        if result.returncode:
            raise StartupError(f"Postgres cannot be started in {self.folder}:\n{self.log_tail()}")

    def _socket_dir(self) -> Path:
        folder = self.folder / "run"
        if len(os.fsencode(folder / f".s.PGSQL.{PORT}")) <= _MAX_SOCKET_PATH_BYTES:
            return folder
        # The inode tells a folder from one of the same name that was deleted while its server ran.
        identity = f"{self.folder}:{self.folder.stat().st_ino}"
        return Path(tempfile.gettempdir(), f"elf-{sha256(identity.encode()).hexdigest()[:16]}")

    def _make_socket_dir(self, account: Account) -> Path:
        folder = self._socket_dir()
        try:
            folder.mkdir(mode=0o700)
            account.own(folder)
        except FileExistsError:
            status = folder.lstat()
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != account.uid or status.st_mode & 0o077:
                raise StartupError(f"{folder} is not a private folder of Postgres' user") from None
        return folder
