"""What counts as a credential in an identifier: what cannot be meant as one, and nothing that merely looks random."""

from __future__ import annotations

import hashlib
import string
from random import Random
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.core.secrets import find_credential
from tests.unit.data.planted_secrets import ALNUM, PROVIDERS, run

BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
BASE32 = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
URL_SAFE = string.ascii_letters + string.digits + "-_"


def words(alphabet: str, length: int) -> st.SearchStrategy[str]:
    return st.text(alphabet, min_size=length, max_size=length)


@given(
    st.one_of(
        st.uuids().map(str),
        st.uuids().map(lambda one: f"urn:uuid:{one}".upper()),
        st.binary().map(lambda data: hashlib.md5(data).hexdigest()),
        st.binary().map(lambda data: hashlib.sha1(data).hexdigest().upper()),
        st.binary().map(lambda data: hashlib.sha256(data).hexdigest()),
        st.binary().map(lambda data: hashlib.sha512(data).hexdigest()),
        st.text(string.hexdigits.lower(), min_size=1, max_size=128),
        st.integers(0, 10**40).map(str),
        st.integers(0, 10**10).map("user:{}".format),
        st.integers(0, 10**21).map("google-oauth2|{}".format),
        words(string.hexdigits[:16], 24).map("auth0|{}".format),
        words(string.ascii_letters + string.digits, 27),
        words(BASE32, 26),
        words(URL_SAFE, 21),
        words(URL_SAFE, 43),
        words(BASE58, 44).map("did:key:z6Mk{}".format),
        words(string.hexdigits[:16], 40).map("did:ethr:0x{}".format),
    )
)
def test_what_identifiers_are_made_of_is_no_credential(identifier: str) -> None:
    assert find_credential(identifier) is None


@pytest.mark.parametrize(
    "identifier",
    [
        "acme", "helper", "4111111111111111", "5117042701491632", "ana@example.com", "+14155552671", "078-05-1120",
        "DE89370400440532013000", "user:12345", "team/42/project/7", "did:web:example.com:user:alice",
        "org_9f8a7b6c5d4e", "cus_Nffrf0gPWcHE9k", "arn:aws:iam::123456789012:user/bob", "password-manager",
        "secret-santa-2024", "token-service", "api-key-rotation-job", "key:customer-42", "12 Main Street",
        "agent smith", "caf\u00e9", "tests/system/test_secrets.py::test_a_password_is_refused",
        "S-1-5-21-141374240-29588661-23483782-58921540",
        "https://example.com/users/1", "A" * 128,
    ],
)  # fmt: skip
def test_names_pass(identifier: str) -> None:
    assert find_credential(identifier) is None


@pytest.mark.parametrize("place", range(len(PROVIDERS)))
def test_the_keys_and_tokens_of_providers_are_credentials(place: int) -> None:
    prefix, alphabet, length = PROVIDERS[place]
    token = "".join(prefix) + run(Random(place), alphabet, length)
    assert find_credential(token) is not None
    assert find_credential(f"tenant {token}") is not None


@pytest.mark.parametrize(
    ("identifier", "kind"),
    [
        ("postgresql://ana:Sup3rS3cret@db.example.com/elf", "connection_string"),
        ("password=Sup3rS3cret", "password"),
        ("password: Sup3rS3cret", "password"),
        ("api_key=q8Zk2LmX0vTn4RbYc7Wd", "credential"),
        ("api_key=FokKPh8Smnxscy9RaeR_dxTvnaa3Ej_N98fj11pYPls", "credential"),
        ("legal winner thank year wave sausage worth useful legal winner thank yellow", "seed_phrase"),
        ("-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEowIBAAKCAQEA7bq0m2nN\n", "private_key"),
        ("eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P", "jwt"),
    ],
)
def test_what_is_named_or_built_as_a_credential_is_one(identifier: str, kind: str) -> None:
    assert find_credential(identifier) == kind


def test_a_credential_between_invisible_characters_is_one() -> None:
    token = "gh" + "p_" + run(Random(1), ALNUM, 36)
    assert find_credential(token[:9] + "\u200b" + token[9:]) == "github_token"


def test_a_uuid_of_digits_is_a_uuid() -> None:
    assert find_credential(str(UUID(int=0x41111111111111114111111111111111))) is None
