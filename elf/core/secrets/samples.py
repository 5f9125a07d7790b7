"""What stands for a secret without being one: placeholders, the words of samples, names of resources, ciphertexts."""

from __future__ import annotations

import re
from typing import Final

_JUDGED: Final = 128  # so many characters of a value tell what it is

_PLACEHOLDER: Final = re.compile(
    r"""
    [<\[({].* | \$\{?\w.* | \$\(.* | %\(?\w+[%)].* | ([x*.\-_?\#\u2022])\1+ | x{3,}.* | \*+.* | [@:]\w+ | \#\{.*
    | (?:my|the|some)[_-].* | your[_-]?\w.*
    | (?:change|replace|fill|set|insert)[_-]?(?:me|this|in)? | to-?do | tbd | n/?a
    | none | null | nil | undefined | true | false | yes | no | str(?:ing)? | int | bytes | any
    | optional.* | redacted.* | example.* | placeholder.*
    | (?:env|process\.env|os|sys|config|settings|secrets|self|this|vars?|args|request|req|user|form|data|params?
        |inputs?|github)[.\[(].*
    | [\w.$]+(?:\(|\[['"\w]).* | (?:vault|op|arn|https?|file|ref|env|ssm|aws-sm|gcp-sm|s3|doc|see)[:/].*
    | :[A-Za-z]\w*\(.* | [\w./-]+@sha\d+:[0-9a-f]+
    | (?:required|nullable|sometimes|present|confirmed|string|min|max)(?::[\w,]+)?(?:\|[\w:,.-]+)+
    | (?:projects|organizations|folders|subscriptions|secrets?)/[\w./:@-]+ | microsoft\.[\w./@-]+  # of a cloud
    | /[\w./-]* | \.{0,2}/.* | ~/.* | [\w-]+\.(?:pem|key|pub|ppk|crt|cer|json|ya?ml|txt|env|conf|ini|py|js|ts|md)
    | [a-z_]+(?::[\w,./]+)?(?:\|[a-z_]+(?::[\w,./]+)?)+  # rules for a form: required|min:8
    | pass(?:word|wd|code|phrase)? | secret | token | key | api[_-]?key | [A-Z]+(?:_[A-Z]+)+
    | (?:passwort|kennwort|contrase[n\xf1]a|clave|senha|wachtwoord|l[o\xf6]senord|adgangskode|passord|salasana|parola
        |heslo|has[l\u0142]o|jelsz[o\xf3]|[s\u015f]ifre)  # the word itself, in a file of translations
    | \d{4}-\d\d-\d\d.* | \d{1,2}[:/]\d\d.*
    """,
    re.IGNORECASE | re.VERBOSE,
)
# Words that stand in for a secret in samples: testpassword, my-secret-token. Each is taken whole, the longest first,
# so that nothing is tried twice.
_STAND_IN_WORDS: Final = """
    authentication authorization placeholder credentials credential passphrase production postgresql encryption
    username userpass password passcode database encrypted plaintext something generated temporary whatever
    testing examples example changeme replace correct invalid private default postgres repeated current confirm
    account someone service signing session website openai stripe github google insert secret sample passwd string
    sender client server public tester access change verify slack admin token mysql login value dummy guest hello
    world valid wrong plain local redis super strong email field input hashed enter short first other agent
    test fake mock demo your user pass here text hash data name form this that with goes real temp root type some
    repo code again test auth jwt aws bot api key app pwd foo bar baz qux old new the our put set raw db id pw my me
    in is it an a
    """
_STAND_IN: Final = re.compile(
    r"[\W_]*(?:(?>" + "|".join(sorted(set(_STAND_IN_WORDS.split()), key=len, reverse=True)) + r")s?[\W_]*)++",
    re.IGNORECASE,
)
_LONGEST_STAND_IN: Final = 64
_SAMPLE_NUMBER: Final = re.compile(r"[\W_]*\d{0,4}[\W_]*")
# What only its key makes a secret of: sealed secrets of Kubernetes, AWS KMS, Fernet.
_CIPHERTEXT: Final = re.compile(r"Ag[AB][A-Za-z0-9+/]{48}|AQ[EI]CAH[A-Za-z0-9+/]{40}|gAAAAA[\w-]{60}")


def is_placeholder(value: str) -> bool:
    """Tell whether a value only stands for a secret: `<password>`, `${TOKEN}`, `****`, `os.environ[...]`, a path."""
    return _PLACEHOLDER.fullmatch(value[:_JUDGED]) is not None or is_stand_in(value) or is_ciphertext(value)


def is_ciphertext(value: str) -> bool:
    """Tell whether a value is encrypted, by the mark of a well-known format."""
    return _CIPHERTEXT.match(value) is not None


def is_stand_in(value: str, *, numbered: bool = False) -> bool:
    """Tell whether a value is made of words that samples are made of: testpassword; `numbered` also secret123."""
    words = _STAND_IN.match(value) if len(value) <= _LONGEST_STAND_IN else None
    if words is None:
        return False
    rest = value[words.end() :]
    return rest == "" or (numbered and _SAMPLE_NUMBER.fullmatch(rest) is not None)
