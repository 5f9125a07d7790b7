"""An environment that leads everything elsewhere."""

from __future__ import annotations

from pathlib import Path

NOWHERE = "http://127.0.0.1:9"


def hostile_variables(folder: Path) -> dict[str, str]:
    """Variables that would change what drivers and clients do, and a home in `folder` with files that would, too."""
    home = folder / "home"
    (home / ".postgresql").mkdir(parents=True)
    for name in ("root.crt", "root.crl", "postgresql.crt", "postgresql.key"):
        (home / ".postgresql" / name).write_text("no certificate")
    (home / ".pgpass").write_text("*:*:*:*:wrong\n")
    (home / ".pgpass").chmod(0o600)
    (home / ".pg_service.conf").write_text("[elsewhere]\nhost=192.0.2.1\n")
    proxies = (
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "http_proxy",
        "https_proxy",
        "all_proxy",
        "grpc_proxy",
    )
    return {
        "HOME": str(home),
        "PGHOST": "192.0.2.1",
        "PGHOSTADDR": "192.0.2.1",
        "PGPORT": "1",
        "PGUSER": "nobody",
        "PGPASSWORD": "wrong",
        "PGDATABASE": "none",
        "PGPASSFILE": str(home / ".pgpass"),
        "PGSERVICE": "elsewhere",
        "PGSERVICEFILE": str(home / ".pg_service.conf"),
        "PGSSLMODE": "verify-full",
        "PGSSLNEGOTIATION": "direct",
        "PGSSLROOTCERT": str(home / ".postgresql" / "root.crt"),
        "PGSSLCERT": str(home / ".postgresql" / "postgresql.crt"),
        "PGSSLKEY": str(home / ".postgresql" / "postgresql.key"),
        "PGSSLCRL": str(home / ".postgresql" / "root.crl"),
        "PGSSLMINPROTOCOLVERSION": "TLSv1.3",
        "PGSSLMAXPROTOCOLVERSION": "TLSv1.2",
        "PGTARGETSESSIONATTRS": "standby",
        "PGKRBSRVNAME": "nobody",
        "PGGSSLIB": "sspi",
        "PGOPTIONS": "-c statement_timeout=1",
        "PGDATA": "/nonexistent",
        "PGTZ": "Mars",
        "PGCLIENTENCODING": "LATIN1",
        **dict.fromkeys(proxies, NOWHERE),
        "NO_PROXY": "",
        "SSL_CERT_FILE": "/nonexistent",
        "SSL_CERT_DIR": "/nonexistent",
        "HF_ENDPOINT": NOWHERE,
        "HF_HOME": "/nonexistent",
        "HF_HUB_OFFLINE": "1",
        "OTEL_SDK_DISABLED": "true",
        "OTEL_PYTHON_TRACER_PROVIDER": "none",
        "OTEL_EXPORTER_OTLP_ENDPOINT": NOWHERE,
        "OTEL_TRACES_SAMPLER": "always_off",
        "QUART_DEBUG": "1",
        "FLASK_DEBUG": "1",
        "MCP_DEBUG": "1",
        "DATABASE_URL": "postgresql://nobody@192.0.2.1/none",
        "ELF_CONFIG": "/nonexistent",
    }
