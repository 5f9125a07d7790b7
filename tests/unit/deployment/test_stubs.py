"""The stubs: they are what the compiler makes of the .proto files, and these say what clients are compiled against."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from deployed import OPS, REPO
from google.protobuf.descriptor import FieldDescriptor

from elf.families.conversations.grpc import memory_service_pb2

PROTO = REPO / "elf" / "families" / "conversations" / "grpc" / "memory_service.proto"
TYPES = {
    FieldDescriptor.TYPE_BYTES: "bytes",
    FieldDescriptor.TYPE_STRING: "string",
    FieldDescriptor.TYPE_INT32: "int32",
    FieldDescriptor.TYPE_INT64: "int64",
    FieldDescriptor.TYPE_BOOL: "bool",
    FieldDescriptor.TYPE_FLOAT: "float",
}
FIELD = re.compile(r"(optional |repeated |)([\w.]+) (\w+) = (\d+);")
RPC = re.compile(r"rpc (\w+)\((stream |)([\w.]+)\) returns \((stream |)([\w.]+)\);")


def test_what_is_kept_is_what_the_compiler_makes(tmp_path: Path) -> None:
    subprocess.run([sys.executable, OPS / "stubs", tmp_path], check=True)
    made = [path.relative_to(tmp_path) for path in tmp_path.rglob("*.py*")]
    assert len(made) == 3
    for path in made:
        assert (tmp_path / path).read_text() == (REPO / path).read_text(), path


def blocks(kind: str) -> dict[str, str]:
    """Return what stands in each block of the file, such as a message, by its name."""
    text = re.sub(r"//.*", "", PROTO.read_text(encoding="utf-8"))
    return dict(re.findall(rf"^{kind} (\w+) \{{(.*?)^\}}", text, flags=re.MULTILINE | re.DOTALL))


def of_field(field: FieldDescriptor) -> tuple[str, str, str, str]:
    typed = field.message_type or field.enum_type
    name = typed.full_name.removeprefix("memory.v1.") if typed else TYPES[field.type]
    label = "repeated " if field.is_repeated else "optional " if field.containing_oneof else ""
    return label, name, field.name, str(field.number)


def test_messages_have_the_fields_of_the_file() -> None:
    built = memory_service_pb2.DESCRIPTOR.message_types_by_name
    written = {name: FIELD.findall(text) for name, text in blocks("message").items()}
    assert {name: [of_field(field) for field in message.fields] for name, message in built.items()} == written


def test_enums_have_the_values_of_the_file() -> None:
    built = memory_service_pb2.DESCRIPTOR.enum_types_by_name
    written = {name: re.findall(r"(\w+) = (\d+);", text) for name, text in blocks("enum").items()}
    assert {
        name: [(value.name, str(value.number)) for value in enum.values] for name, enum in built.items()
    } == written


def test_services_have_the_calls_of_the_file() -> None:
    built = memory_service_pb2.DESCRIPTOR.services_by_name
    written = {name: RPC.findall(text) for name, text in blocks("service").items()}
    assert {
        name: [
            (
                rpc.name,
                "stream " if rpc.client_streaming else "",
                rpc.input_type.full_name.removeprefix("memory.v1."),
                "stream " if rpc.server_streaming else "",
                rpc.output_type.full_name.removeprefix("memory.v1."),
            )
            for rpc in service.methods
        ]
        for name, service in built.items()
    } == written
