"""What a DSN says, and what it must say so that nothing else has to."""

from __future__ import annotations

import pytest

from elf.config.dsn import Dsn, Tls


def test_everything_is_read_from_the_dsn() -> None:
    dsn = Dsn.parse(
        "postgresql://e%6Cf:p%40ss:word@db1:5433,[::1],db3/memory?sslmode=verify-full&sslrootcert=/ca.crt&sslcert=/c.crt"
        "&sslkey=/c.key&sslpassword=k&sslcrl=/crl&sslnegotiation=direct&target_session_attrs=primary&krbsrvname=pg"
        "&search_path=elf&application_name="
    )
    assert (dsn.hosts, dsn.ports) == (("db1", "::1", "db3"), (5433, 5432, 5432))
    assert (dsn.user, dsn.password, dsn.database) == ("elf", "p@ss:word", "memory")
    assert dsn.tls == Tls("verify-full", "/ca.crt", "/c.crt", "/c.key", "k", "/crl", is_direct=True)
    assert (dsn.session, dsn.kerberos_service) == ("primary", "pg")
    assert dsn.settings == {"search_path": "elf", "application_name": ""}


def test_what_a_dsn_may_leave_out_has_a_fixed_meaning() -> None:
    dsn = Dsn.parse("postgres://elf@db/memory")
    assert (dsn.ports, dsn.password, dsn.tls, dsn.session, dsn.settings) == ((5432,), "", Tls(), "any", {})
    assert dsn.tls.mode == "prefer"


@pytest.mark.parametrize(
    ("dsn", "hosts", "ports"),
    [
        ("postgresql://elf@/m?host=/run/postgresql", ("/run/postgresql",), (5432,)),
        ("postgresql://elf@%2Frun%2Fpostgresql/m?port=5433", ("/run/postgresql",), (5433,)),
        ("postgresql://elf@/m?host=a,b&port=1,2", ("a", "b"), (1, 2)),
        ("postgresql://elf@a:1,b/m?port=3", ("a", "b"), (1, 3)),
        ("postgresql://elf@a,b/m?port=3", ("a", "b"), (3, 3)),
    ],
)
def test_hosts_and_ports_stand_in_the_middle_or_among_the_options(
    dsn: str, hosts: tuple[str, ...], ports: tuple[int, ...]
) -> None:
    found = Dsn.parse(dsn)
    assert (found.hosts, found.ports) == (hosts, ports)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ("sslmode=allow", "must have one of disable, prefer, require, verify-ca, verify-full as sslmode"),
        ("sslmode=verify-full", "must name in sslrootcert whom sslmode=verify-full trusts"),
        ("sslmode=verify-ca&sslrootcert=ca.crt", "must name an absolute path in sslrootcert"),
        ("sslcert=~/c.crt", "must name an absolute path in sslcert"),
        ("sslnegotiation=direct", "sslmode=require or a stricter one"),
        ("target_session_attrs=fast", "as target_session_attrs"),
        ("service=mine", "service would have it read from elsewhere"),
        ("passfile=/p", "passfile would have it read from elsewhere"),
        ("port=0", "ports of 1 to 65535"),
        ("port=1,2", "one port for all hosts, or one for each"),
        ("port=x", "ports of 1 to 65535"),
    ],
)
def test_what_cannot_be_done_or_would_be_read_from_elsewhere_is_refused(options: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem) as refused:
        Dsn.parse(f"postgresql://elf:secret@db/m?{options}")
    assert "secret" not in str(refused.value)


def test_neither_password_is_shown() -> None:
    shown = repr(Dsn.parse("postgresql://elf:secret@db/m?sslpassword=hidden"))
    assert "secret" not in shown
    assert "hidden" not in shown
