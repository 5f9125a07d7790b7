"""The table of statuses: each call of the conversations' wire, over REST and gRPC, whoever makes it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from uuid import uuid4

import grpc
import pytest

from elf.api.operation import Operation
from elf.families.conversations.grpc import memory_service_pb2 as pb
from elf.families.conversations.manifest import CONVERSATIONS
from tests.families.identities import Identities
from tests.folders import fresh_folder
from tests.keys_kit import without_auth
from tests.system.conversation_calls import CALLERS, CALLS, House
from tests.system.conversation_rpcs import RPCS, status_of
from tests.system.service import RunningService, write_config

NAME: Final = 15  # characters of a row of a table that name its call
TABLE: Final = """
#               nobody   bare  wrong strngr reader writer managr  owner client  other indexr auditr  admin  other
#                         key    key                                           client                      tenant
health             200    200    200    200    200    200    200    200    200    200    200    200    200    200
list               401    401    401    200    200    200    200    200    200    200    200    200    200    200
create             401    401    401    201    201    201    201    201    201    201    201    201    201    201
read               401    401    401    403    200    200    200    200    200    200    403    403    403    404
read unknown       401    401    401    404    404    404    404    404    404    404    404    404    404    404
read deleted       401    401    401    404    404    404    404    404    404    404    404    404    404    404
rename             401    401    401    403    403    200    200    200    200    200    403    403    403    404
delete             401    401    401    403    403    403    403    204    204    204    403    403    403    404
entries            401    401    401    403    200    200    200    200    200    200    403    403    403    404
memory             401    401    401    403    403    403    403    403    200    200    403    403    403    404
context            401    401    401    403    200    200    200    200    200    200    403    403    403    404
append             401    401    401    403    403    201    201    201    201    201    403    403    403    201
remember           401    401    401    403    403    403    403    403    201    201    403    403    403    201
begin              401    401    401    201    201    201    201    201    201    201    201    201    201    201
sync               401    401    401    403    403    403    403    403    200    200    403    403    403    404
fork               401    401    401    403    403    201    201    201    201    201    403    403    403    404
forks              401    401    401    403    200    200    200    200    200    200    403    403    403    404
members            401    401    401    403    200    200    200    200    200    200    403    403    403    404
share              401    401    401    403    403    403    201    201    201    201    403    403    403    404
make manager       401    401    401    403    403    403    403    201    201    201    403    403    403    404
make owner         401    401    401    403    403    403    400    400    400    400    403    403    403    404
change             401    401    401    403    403    403    200    200    200    200    403    403    403    404
change manager     401    401    401    403    403    403    403    200    200    200    403    403    403    404
remove             401    401    401    403    204    403    204    204    204    204    403    403    403    404
remove owner       401    401    401    403    403    403    400    400    400    400    403    403    403    404
leave              401    401    401    403    204    204    204    400    400    400    403    403    403    404
transfers          401    401    401    200    200    200    200    200    200    200    200    200    200    200
transfer           401    401    401    403    403    403    403    201    201    201    403    403    403    404
read transfer      401    401    401    404    404    404    200    200    200    200    404    404    404    404
end transfer       401    401    401    403    403    403    204    204    204    204    403    403    403    404
accept             401    401    401    403    403    403    204    403    403    403    403    403    403    404
search             401    401    401    200    200    200    200    200    200    200    200    200    200    200
record             401    401    401    403    403    200    200    200    200    200    403    403    403    404
replay             401    401    401    403    200    200    200    200    200    200    403    403    403    404
can record         401    401    401    200    200    200    200    200    200    200    200    200    200    200
is recorded        401    401    401    200    200    200    200    200    200    200    200    200    200    200
sessions           401    401    401    200    200    200    200    200    200    200    200    200    200    200
session            401    401    401    404    404    404    404    200    200    200    404    404    404    404
session line       401    401    401    404    404    404    404    200    200    200    404    404    404    404
new session        401    401    401    403    403    403    403    403    200    200    403    403    403    200
go back            401    401    401    403    403    403    403    403    200    200    403    403    403    404
drop session       401    401    401    404    404    404    404    204    204    204    404    404    404    404
stop               401    401    401    403    403    200    200    200    200    200    403    403    403    404
unindexed          401    401    401    403    403    403    403    403    403    403    200    403    200    200
index              401    401    401    403    403    403    403    403    403    403    200    403    200    404
any                401    401    401    403    403    403    403    403    403    403    403    200    200    200
any one            401    401    401    403    403    403    403    403    403    403    403    200    200    404
any deleted        401    401    401    403    403    403    403    403    403    403    403    200    200    404
any entries        401    401    401    403    403    403    403    403    403    403    403    200    200    404
any members        401    401    401    403    403    403    403    403    403    403    403    200    200    404
any forks          401    401    401    403    403    403    403    403    403    403    403    200    200    404
any search         401    401    401    403    403    403    403    403    403    403    403    200    200    200
any delete         401    401    401    403    403    403    403    403    403    403    403    403    204    404
any restore        401    401    401    403    403    403    403    403    403    403    403    403    200    404
restore live       401    401    401    403    403    403    403    403    403    403    403    403    409    404
erase              401    401    401    403    403    403    403    403    403    403    403    403    200    200
evict              401    401    401    403    403    403    403    403    403    403    403    403    204    204
"""
"""In the order of CALLERS, over REST; over gRPC it is the same, in its own words."""


RPC_STATUSES: Final = {
    200: "OK",
    201: "OK",
    204: "OK",
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
}
"""What the statuses of the table are called over gRPC."""


@pytest.fixture(scope="module")
def identities() -> Identities:
    return Identities(CALLERS.values())


@pytest.fixture(scope="module")
def service(identities: Identities, model_folder: Path) -> Iterator[RunningService]:
    with fresh_folder() as folder:
        config = write_config(folder, cache_dir=f'"{model_folder}"')
        config.write_text(without_auth(config.read_text()) + identities.config(folder), encoding="utf-8")
        with RunningService(config) as service:
            yield service
        assert service.complaints() == []


@pytest.fixture(scope="module")
def channel(service: RunningService) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(service.grpc_address) as channel:
        yield channel


@pytest.mark.parametrize("name", CALLS)
def test_each_caller_is_answered_as_the_table_says(
    service: RunningService, identities: Identities, name: str
) -> None:
    """Each on a conversation of its own, so that none meets what another has done to it."""
    told = {}
    for caller in CALLERS:
        house = House(service.client, identities, tenant=f"tenant {uuid4()}")
        told[caller] = house.ask(caller, CALLS[name]).status_code
    assert told == statuses_of(name)


@pytest.mark.parametrize("name", RPCS)
def test_each_caller_is_answered_over_grpc_as_the_table_says(
    service: RunningService, channel: grpc.Channel, identities: Identities, name: str
) -> None:
    told = {}
    for caller in CALLERS:
        house = House(service.client, identities, tenant=f"tenant {uuid4()}")
        told[caller] = status_of(channel, house, caller, RPCS[name])
    assert told == {caller: RPC_STATUSES[status] for caller, status in statuses_of(name).items()}


def statuses_of(name: str) -> dict[str, int]:
    """The row of the table of this name, by caller."""
    (row,) = [line for line in TABLE.splitlines() if line[:NAME].strip() == name]
    return dict(zip(CALLERS, map(int, row[NAME:].split()), strict=True))


def test_every_method_over_grpc_stands_in_the_table() -> None:
    offered = {
        f"{service.name}/{method.name}"
        for service in pb.DESCRIPTOR.services_by_name.values()
        for method in service.methods
    }
    assert offered == {call.method for call in RPCS.values()}


@pytest.mark.parametrize("operation", CONVERSATIONS.operations, ids=lambda operation: operation.name)
def test_every_call_of_the_wire_stands_in_the_table(operation: Operation) -> None:
    pattern = re.compile(re.sub(r"\{\w+\}", "[^/]+", operation.path))
    paths = [call.path.partition("?")[0] for call in CALLS.values() if call.method == operation.method]
    assert any(pattern.fullmatch(path) for path in paths)
