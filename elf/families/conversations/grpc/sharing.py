"""Memberships and ownership transfers over gRPC."""

from __future__ import annotations

from typing import Any

from elf.api.rpc import Fields, Rpc, Servicer
from elf.families.conversations.api import answers as a
from elf.families.conversations.api import conversations as c
from elf.families.conversations.grpc import memory_service_pb2 as pb
from elf.families.conversations.grpc import written
from elf.families.conversations.grpc.conversations import empty
from elf.families.conversations.grpc.fields import (
    LEVELS,
    PARTS,
    conversation_of,
    id_of,
    page_of,
    sparse,
    word_of,
)
from elf.families.conversations.grpc.whole_lists import PageOfOnes, page_of_all, size_of


def _memberships(asked: pb.ListMembershipsRequest) -> Fields:
    return conversation_of(asked) | size_of(asked)


def _all_memberships(
    answer: a.MembershipsAnswer, asked: pb.ListMembershipsRequest
) -> pb.ListMembershipsResponse:
    page, info = page_of_all(asked, answer.data, lambda one: one.userId)
    return pb.ListMembershipsResponse(memberships=map(written.membership, page), page_info=info)


def _share(asked: pb.ShareConversationRequest) -> Fields:
    return _given(asked, asked.user_id)


def _change(asked: pb.UpdateMembershipRequest) -> Fields:
    return _given(asked, asked.member_user_id)


def _given(asked: pb.ShareConversationRequest | pb.UpdateMembershipRequest, user: str) -> Fields:
    level = word_of("access_level", asked.access_level, LEVELS)
    return conversation_of(asked) | sparse(userId=user or None, accessLevel=level)


def _removal(asked: pb.DeleteMembershipRequest) -> Fields:
    return conversation_of(asked) | sparse(userId=asked.member_user_id or None)


def _membership(answer: a.MembershipAnswer, _: Any) -> pb.ConversationMembership:
    return written.membership(answer)


def _transfers(asked: pb.ListOwnershipTransfersRequest) -> Fields:
    return sparse(role=word_of("role", asked.role, PARTS)) | page_of(asked.page)


def _transfer_page(answer: a.TransfersAnswer, _: Any) -> pb.ListOwnershipTransfersResponse:
    return pb.ListOwnershipTransfersResponse(
        transfers=map(written.transfer, answer.data), page_info=written.page_info(answer.nextCursor)
    )


def _wish(asked: pb.CreateOwnershipTransferRequest) -> Fields:
    return conversation_of(asked) | sparse(newOwnerUserId=asked.new_owner_user_id or None)


def _one(asked: Any) -> Fields:
    return sparse(transferId=id_of("transfer_id", asked.transfer_id))


def _transfer(answer: a.TransferAnswer, _: Any) -> pb.OwnershipTransfer:
    return written.transfer(answer)


MEMBERSHIPS = Servicer(
    service=pb.DESCRIPTOR.services_by_name["ConversationMembershipsService"],
    rpcs={
        "ListMemberships": Rpc(
            operation=c.MEMBERSHIPS, request=PageOfOnes, read=_memberships, write=_all_memberships
        ),
        "ShareConversation": Rpc(operation=c.SHARE, read=_share, write=_membership),
        "UpdateMembership": Rpc(operation=c.CHANGE_MEMBERSHIP, read=_change, write=_membership),
        "DeleteMembership": Rpc(operation=c.REMOVE_MEMBERSHIP, read=_removal, write=empty),
    },
)
TRANSFERS = Servicer(
    service=pb.DESCRIPTOR.services_by_name["OwnershipTransfersService"],
    rpcs={
        "ListOwnershipTransfers": Rpc(operation=c.TRANSFERS, read=_transfers, write=_transfer_page),
        "GetOwnershipTransfer": Rpc(operation=c.GET_TRANSFER, read=_one, write=_transfer),
        "CreateOwnershipTransfer": Rpc(operation=c.TRANSFER, read=_wish, write=_transfer),
        "AcceptOwnershipTransfer": Rpc(operation=c.ACCEPT_TRANSFER, read=_one, write=empty),
        "DeleteOwnershipTransfer": Rpc(operation=c.END_TRANSFER, read=_one, write=empty),
    },
)
