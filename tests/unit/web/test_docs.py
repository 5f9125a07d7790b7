"""The page for people: whole, safe, and of use without a network."""

from __future__ import annotations

import json
import re
import shlex
from html.parser import HTMLParser
from typing import Any

import pytest

from elf.web.docs import curl_of, docs_page
from tests.fronts_kit import FRONTS

URL = "http://127.0.0.1:8765"
VOID = {"meta", "br", "link", "img"}


class Page(HTMLParser):
    """Reads a page; fails when an element is closed that is not the open one."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def page_of(front: str) -> Page:
    return Page(docs_page(FRONTS[front][1], base_url=URL))


@pytest.mark.parametrize("front", FRONTS)
def test_the_page_is_well_formed_and_needs_nothing_from_elsewhere(front: str) -> None:
    page = page_of(front)
    assert page.open == []
    links = {value for _, name, value in page.attributes if name in ("href", "src", "action")}
    anchors = {f"#{value}" for _, name, value in page.attributes if name == "id"}
    assert links - anchors == {"/openapi.json"}
    assert not {"script", "link", "img", "iframe"} & {tag for tag, _, _ in page.attributes}
    assert "url(" not in docs_page(FRONTS[front][1], base_url=URL)


@pytest.mark.parametrize("front", FRONTS)
def test_the_page_names_every_operation_field_and_meaning(front: str) -> None:
    endpoints, document = FRONTS[front]
    text = " ".join(page_of(front).text.split())
    for endpoint in endpoints:
        assert f"{endpoint.method} {endpoint.path}" in text
    for schema in document["components"]["schemas"].values():
        for name, part in schema.get("properties", {}).items():
            assert name in text
            assert " ".join(part.get("description", "").replace("`", "").split()) in text


def test_the_bounds_of_nested_fields_are_shown_where_errors_name_them() -> None:
    html = docs_page(FRONTS["public"][1], base_url=URL)
    row = re.search(r"<tr><td><code>notes\[\]\.importance</code></td>.*?</tr>", html)
    assert row is not None
    assert "number" in row[0]
    assert "0 to 1" in row[0]
    assert "required" in row[0]
    limit = re.search(r"<tr><td><code>limit</code></td>.*?</tr>", html)
    assert limit is not None
    assert "1 to 200, default 50" in limit[0]


def test_an_address_with_markup_in_it_stays_text() -> None:
    html = docs_page(FRONTS["public"][1], base_url='http://"><script>alert(1)</script>')
    assert "<script" not in html


def entries() -> list[dict[str, Any]]:
    return [
        entry | {"method": method.upper(), "path": path}
        for _, document in FRONTS.values()
        for path, methods in document["paths"].items()
        for method, entry in methods.items()
    ]


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: str(entry["operationId"]))
def test_the_curl_line_of_an_example_is_what_a_shell_takes(entry: dict[str, Any]) -> None:
    command, url, *rest = shlex.split(curl_of(entry, URL))
    assert command == "curl"
    assert url.startswith(URL + entry["path"].split("{", maxsplit=1)[0])
    assert "{" not in url
    if entry["method"] == "POST":
        assert rest[:2] == ["-H", "Content-Type: application/json"]
        assert json.loads(rest[3]) == entry["requestBody"]["content"]["application/json"]["example"]
    else:
        assert rest == []
