"""The page at /docs: the OpenAPI document for people, as plain HTML that needs nothing from anywhere else."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from importlib.resources import files
from typing import Any
from urllib.parse import quote, urlencode

from elf.web.fields_table import Row, body_rows, parameter_row
from elf.web.openapi import Document, response_at
from elf.web.schemas import resolved

NOTHING: dict[str, Any] = {"": {"schema": {}}}  # what an answer without a body holds
HEADINGS = ("Field", "Type", "", "Bounds", "Meaning")
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


def docs_page(document: Document, *, base_url: str) -> str:
    """Return the page; `base_url` is the address that the examples call, such as `http://127.0.0.1:8765`."""
    info = document["info"]
    style = (files("elf.web") / "docs.css").read_text(encoding="utf-8")
    body = [
        f"<h1>{escape(info['title'])} <small>{escape(info['version'])}</small></h1>",
        _paragraphs(info["description"]),
        '<p>For programs: <a href="/openapi.json">/openapi.json</a> (OpenAPI 3.1).</p>',
        _contents(document),
        *(_operation(entry, document, base_url) for entry in _operations(document)),
        _failures(document),
    ]
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(info["title"])}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{style}</style></head>\n'
        f"<body>{''.join(body)}</body></html>\n"
    )


def _operations(document: Document) -> Iterator[dict[str, Any]]:
    """Yield every operation with its method and path, in the order of their tags."""
    entries = [
        operation | {"method": method.upper(), "path": path}
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    for tag in document["tags"]:
        yield from (entry for entry in entries if entry["tags"] == [tag["name"]])


def _contents(document: Document) -> str:
    items: dict[str, list[str]] = {}
    for entry in _operations(document):
        link = f'<a href="#{escape(entry["operationId"])}">{_signature(entry)}</a> {escape(entry["summary"])}'
        items.setdefault(entry["tags"][0], []).append(f"<li>{link}</li>")
    return "<nav>" + "".join(
        f"<h2>{escape(tag.capitalize())}</h2><ul>{''.join(links)}</ul>" for tag, links in items.items()
    ) + "</nav>"  # fmt: skip


def _signature(entry: Mapping[str, Any]) -> str:
    return f'<b class="{entry["method"].lower()}">{entry["method"]}</b> <code>{escape(entry["path"])}</code>'


def _operation(entry: Mapping[str, Any], document: Document, base_url: str) -> str:
    components = document["components"]["schemas"]
    parts = [
        f'<section id="{escape(entry["operationId"])}"><h3>{_signature(entry)}</h3>',
        f"<p><strong>{escape(entry['summary'])}.</strong></p>",
        _paragraphs(entry.get("description", "")),
        _table([parameter_row(parameter, components) for parameter in entry.get("parameters", ())]),
    ]
    if content := entry.get("requestBody"):
        schema = content["content"]["application/json"]["schema"]
        title = "Body" if content["required"] else "Body, which may be left out"
        parts.append(f"<h4>{title}</h4>{_table(body_rows(schema, components, is_request=True), none='{}')}")
    parts.append(f"<h4>Example</h4><pre>{escape(curl_of(entry, base_url))}</pre>")
    parts.append(_answers(entry, document))
    return "".join(parts) + "</section>"


def curl_of(entry: Mapping[str, Any], base_url: str) -> str:
    """Return the command that sends the example of an operation."""
    path, query = entry["path"], []
    for parameter in entry.get("parameters", ()):
        example = parameter.get("example")
        if parameter["in"] == "path":
            path = path.replace(f"{{{parameter['name']}}}", quote(str(example), safe=""))
        elif example is not None:
            query.append((parameter["name"], str(example)))
    url = base_url + path + (f"?{urlencode(query)}" if query else "")
    verb = "" if entry["method"] in ("GET", "POST") else f"-X {entry['method']} "
    if "requestBody" not in entry:
        return f"curl {verb}{shlex.quote(url)}"
    example = entry["requestBody"]["content"]["application/json"]["example"]
    body = shlex.quote(json.dumps(example, indent=2, ensure_ascii=False))
    return f"curl {verb}{shlex.quote(url)} -H 'Content-Type: application/json' -d {body}"


def _answers(entry: Mapping[str, Any], document: Document) -> str:
    components = document["components"]["schemas"]
    parts: list[str] = []
    failures: list[str] = []
    for status, answer in entry["responses"].items():
        schema = next(iter(response_at(answer, document).get("content", NOTHING).values()))["schema"]
        bodies = [one for one in schema.get("anyOf", [schema]) if "$ref" in one]
        for body in bodies:
            meaning = resolved(body, components).get("description", "")
            table = _table(body_rows(body, components, is_request=False))
            parts.append(
                f"<details><summary>Answer {status}: {_inline(meaning or entry['summary'])}</summary>{table}</details>"
            )
        if int(status) >= 400 and not bodies:
            failures.append(f'<a href="#failures">{status}</a>')
    return "".join(parts) + f"<p>Errors: {', '.join(failures)}.</p>"


def _failures(document: Document) -> str:
    components = document["components"]["schemas"]
    rows: list[str] = []
    body: dict[str, Any] = {}
    for answer in document["components"]["responses"].values():
        schema = answer["content"]["application/json"]["schema"]
        if "allOf" not in schema:
            continue  # in a style of its own, which stands with the operations that have it
        body, code = schema["allOf"]
        rows.append(
            f"<tr><td><code>{escape(code['properties']['error_code']['const'])}</code></td>"
            f"<td>{_inline(answer['description'])}</td></tr>"
        )
    table = _table(body_rows(body, components, is_request=False))
    return (
        '<section id="failures"><h3>Errors</h3><p>Every error has this body:</p>' + table
        + f"<table><tr><th>error_code</th><th>Meaning</th></tr>{''.join(rows)}</table></section>"
    )  # fmt: skip


def _table(rows: Iterable[Row], *, none: str = "") -> str:
    cells = [
        f"<tr><td><code>{escape(row.path)}</code></td><td>{escape(row.type)}</td><td>{row.need}</td>"
        f"<td>{escape(row.bounds)}</td><td>{_inline(row.meaning)}</td></tr>"
        for row in rows
    ]
    if not cells:
        return f"<p><code>{none}</code></p>" if none else ""
    heads = "".join(f"<th>{heading}</th>" for heading in HEADINGS)
    return f"<table><tr>{heads}</tr>{''.join(cells)}</table>"


def _paragraphs(text: str) -> str:
    return "".join(f"<p>{_inline(part)}</p>" for part in text.split("\n\n") if part)


def _inline(text: str) -> str:
    """Return text as HTML, with what stands between backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))
