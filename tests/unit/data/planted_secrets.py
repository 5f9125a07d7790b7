"""Sentences with planted secrets, made from a fixed seed. No secret here is or ever was real.

Prefixes are put together from parts, so that scanners of source code do not take this file for a leak.
"""

from __future__ import annotations

import base64
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Final

from mnemonic import Mnemonic
from stdnum import luhn
from stdnum.iso7064 import mod_97_10

from .told_secrets import told_secrets

ALNUM: Final = string.ascii_letters + string.digits
HEX: Final = string.digits + "abcdef"
UPPER: Final = string.ascii_uppercase + string.digits
URL_SAFE: Final = ALNUM + "-_"


@dataclass(frozen=True)
class Planted:
    """A sentence and the family of the secret in it."""

    family: str
    text: str


def run(rng: Random, alphabet: str, length: int) -> str:
    return "".join(rng.choices(alphabet, k=length))


# Parts of the prefix, alphabet, length.
PROVIDERS: Final[tuple[tuple[tuple[str, ...], str, int], ...]] = (
    (("sk", "-"), ALNUM, 48),
    (("sk", "-proj-"), URL_SAFE, 64),
    (("sk", "-svcacct-"), URL_SAFE, 58),
    (("sk", "-ant-", "api03-"), URL_SAFE, 93),
    (("sk", "-or-v1-"), HEX, 64),
    (("AK", "IA"), UPPER, 16),
    (("AS", "IA"), UPPER, 16),
    (("gh", "p_"), ALNUM, 36),
    (("gh", "o_"), ALNUM, 36),
    (("gh", "s_"), ALNUM, 36),
    (("github", "_pat_"), ALNUM + "_", 82),
    (("gl", "pat-"), URL_SAFE, 20),
    (("xo", "xb-"), string.digits + "-" + ALNUM, 50),
    (("xo", "xp-"), ALNUM, 60),
    (("sk", "_live_"), ALNUM, 24),
    (("rk", "_live_"), ALNUM, 24),
    (("sk", "_test_"), ALNUM, 24),
    (("wh", "sec_"), ALNUM, 32),
    (("AI", "za"), URL_SAFE, 35),
    (("GOC", "SPX-"), URL_SAFE, 28),
    (("ya", "29."), URL_SAFE, 60),
    (("SK",), HEX, 32),
    (("np", "m_"), ALNUM, 36),
    (("pypi", "-AgEIcHlwaS5vcmc"), URL_SAFE, 100),
    (("h", "f_"), ALNUM, 34),
    (("shp", "at_"), HEX, 32),
    (("shp", "ss_"), HEX, 32),
    (("do", "p_v1_"), HEX, 64),
    (("hv", "s."), URL_SAFE, 90),
    (("da", "pi"), HEX, 32),
    (("key", "-"), HEX, 32),
    (("sq0", "atp-"), URL_SAFE, 22),
    (("EA", "A"), ALNUM, 120),
    (("ATATT", "3"), URL_SAFE, 180),
    (("lin", "_api_"), ALNUM, 40),
    (("nt", "n_"), ALNUM, 46),
    (("NR", "AK-"), UPPER, 27),
    (("gl", "sa_"), ALNUM, 41),
    (("dp.", "pt."), ALNUM, 43),
    (("sb", "p_"), HEX, 40),
    (("gs", "k_"), ALNUM, 52),
    (("r8", "_"), ALNUM, 37),
    (("xa", "i-"), ALNUM, 80),
    (("pplx", "-"), ALNUM, 48),
    (("dckr", "_pat_"), URL_SAFE, 27),
    (("fi", "gd_"), URL_SAFE, 40),
    (("tv", "ly-"), ALNUM, 32),
    (("nv", "api-"), URL_SAFE, 64),
    (("xkey", "sib-"), HEX, 64),
    (("ATB", "B"), ALNUM, 32),
    (("ABS", "KQ"), ALNUM, 100),
    (("LT", "AI"), ALNUM, 20),
    (("ci", "o"), ALNUM, 32),
    (("CCI", "PAT_"), ALNUM + "_", 40),
    (("EZ", "TK"), ALNUM, 54),
    (("HR", "KU-"), URL_SAFE, 36),
    (("ops", "_eyJ"), URL_SAFE, 80),
    (("pc", "sk_"), ALNUM + "_", 60),
    (("pu", "l-"), HEX, 40),
    (("pscale", "_tkn_"), ALNUM, 43),
    (("ruby", "gems_"), HEX, 48),
    (("sntr", "ys_"), ALNUM, 64),
    (("nap", "i_"), string.digits + string.ascii_lowercase, 64),
    (("nf", "p_"), ALNUM, 36),
    (("s", "l."), URL_SAFE, 100),
    (("fo", "1_"), URL_SAFE, 43),
)

CARRIERS: Final = (
    "The key is {}.",
    "use {} for the staging account",
    "Fact: the deploy script reads {} from the environment.",
    'export SERVICE_KEY="{}"',
    "He pasted {} into the chat, please rotate it.",
    "{}",
    "curl -H 'Authorization: Bearer {}' https://api.example.com/v1",
)


def provider_tokens(rng: Random) -> Iterator[str]:
    for parts, alphabet, length in PROVIDERS:
        token = (
            "".join(parts)
            + run(rng, ALNUM if alphabet == URL_SAFE else alphabet, 1)
            + run(rng, alphabet, length - 1)
        )
        yield rng.choice(CARRIERS).format(token)
        yield rng.choice(CARRIERS).format(token)


def composed_tokens(rng: Random) -> Iterator[str]:
    makers: tuple[Callable[[], str], ...] = (
        lambda: "SG" + "." + run(rng, ALNUM, 22) + "." + run(rng, ALNUM, 43),
        lambda: run(rng, string.digits, 10) + ":AA" + run(rng, ALNUM, 33),
        lambda: "M" + run(rng, ALNUM, 23) + "." + run(rng, ALNUM, 6) + "." + run(rng, ALNUM, 27),
        lambda: "https://hooks.slack" + ".com/services/T0" + run(rng, UPPER, 7) + "/B0" + run(rng, ALNUM, 24),
        lambda: run(rng, HEX, 32) + "-us" + str(rng.randint(1, 21)),
        lambda: run(rng, ALNUM, 3) + "8Q~" + run(rng, ALNUM, 34),
        lambda: "DefaultEndpointsProtocol=https;AccountName=acme;Account" + "Key=" + run(rng, ALNUM + "+/", 86) + "==",
        lambda: "aws_secret_access" + "_key = " + run(rng, ALNUM + "/+", 40),
        lambda: "the AWS secret is " + run(rng, ALNUM, 40),
        lambda: "twilio auth token: " + run(rng, HEX, 32),
        lambda: "heroku api key is " + "-".join(run(rng, HEX, size) for size in (8, 4, 4, 4, 12)),
        lambda: "datadog_api_key=" + run(rng, HEX, 32),
        lambda: "https://discord" + ".com/api/webhooks/" + run(rng, string.digits, 18) + "/" + run(rng, ALNUM, 68),
        lambda: "PMAK" + "-" + run(rng, HEX, 24) + "-" + run(rng, HEX, 34),
        lambda: run(rng, ALNUM, 14) + ".atlas" + "v1." + run(rng, URL_SAFE, 60),
        lambda: "access_token" + "$production$" + run(rng, string.ascii_lowercase, 16) + "$" + run(rng, HEX, 32),
        lambda: "pa" + "t" + run(rng, ALNUM, 14) + "." + run(rng, HEX, 64),
        lambda: "pat" + "-na1-" + "-".join(run(rng, HEX, size) for size in (8, 4, 4, 4, 12)),
        lambda: "lsv2" + "_pt_" + run(rng, HEX, 32) + "_" + run(rng, HEX, 10),
        lambda: "dt0c01" + "." + run(rng, UPPER, 24) + "." + run(rng, UPPER, 64),
        lambda: "AAAA" + run(rng, ALNUM, 7) + ":APA" + "91b" + run(rng, URL_SAFE, 80),
        lambda: "re" + "_" + run(rng, ALNUM, 7) + "7_" + run(rng, ALNUM, 24),
    )  # fmt: skip
    for maker in makers:
        for _ in range(3):
            yield rng.choice(("{}", "Note: {}", "we use {} in production")).format(maker())


def jwts(rng: Random) -> Iterator[str]:
    def part(content: str) -> str:
        return base64.urlsafe_b64encode(content.encode()).decode().rstrip("=")

    for number in range(12):
        head = part('{"alg":"HS256","typ":"JWT"}')
        body = part(f'{{"sub":"{run(rng, string.digits, 8)}","name":"user {number}"}}')
        yield rng.choice(CARRIERS).format(f"{head}.{body}.{run(rng, URL_SAFE, 43)}")


def private_keys(rng: Random) -> Iterator[str]:
    for name in ("RSA ", "EC ", "OPENSSH ", "DSA ", "ENCRYPTED ", "", "PGP "):
        block = " BLOCK" if name == "PGP " else ""
        label = name + "PRIVATE" + " KEY" + block
        lines = "\n".join(run(rng, ALNUM + "+/", 64) for _ in range(3))
        yield f"-----BEGIN {label}-----\n{lines}\n-----END {label}-----"
        yield f"my key: -----BEGIN {label}----- {run(rng, ALNUM, 40)}"
        yield f"\u2013\u2013\u2013\u2013\u2013BEGIN {label}\u2013\u2013\u2013\u2013\u2013\\n{run(rng, ALNUM, 64)}\\n"


def connection_strings(rng: Random) -> Iterator[str]:
    for scheme in (
        "postgres",
        "postgresql",
        "mysql",
        "mongodb+srv",
        "redis",
        "amqp",
        "mssql",
        "https",
        "ftp",
        "smtp",
    ):
        for secret in (run(rng, ALNUM, 12), "p%40ss-" + run(rng, string.ascii_lowercase, 5), "hunter"):
            user = "" if scheme == "redis" else "app"
            yield f"The database is at {scheme}://{user}:{secret}@db.example.com:5432/main."


def passwords(rng: Random) -> Iterator[str]:
    strong = [
        "hunter2",
        "Tr0ub4dor&3",
        "P@ssw0rd!",
        "Summer2024",
        "xK9#mQ2$vL",
        "correct-horse-battery-staple",
        "123456",
    ]
    strong += [run(rng, ALNUM, 10) + "7a" for _ in range(3)]
    for form in (
        "password: {}",
        "Password = {}",
        "my password is {}",
        "The wifi password is {}.",
        "the admin password is {} and the user is root",
        "DB_PASSWORD={}",
        'password="{}"',
        "pwd: {}",
        "passwd={}",
        "The passphrase is '{}'",
        "passcode: {}",
        '{{"user": "bob", "password": "{}"}}',
        "Server=db;Database=main;User Id=sa;Password={};",
        "my password for the bank is {}",
        "she changed her password to {}",
        "login: bob / password: {}",
        "Fact: Bob's Netflix password is now {}",
    ):
        for secret in rng.sample(strong, 4):
            if "changed" in form and secret.startswith("correct"):
                secret = strong[0]
            yield form.format(secret)
    for secret in ("swordfish", "letmein", "monkey", "dragonfly"):
        yield f"password: {secret}"
        yield f"pass: {secret}"
        yield f"db.password={secret}"
    yield "my password is swordfish"
    yield "password: correct horse battery staple"


def seed_phrases(rng: Random) -> Iterator[str]:
    maker = Mnemonic("english")
    for strength in (128, 160, 192, 224, 256):
        words = maker.to_mnemonic(rng.randbytes(strength // 8)).split()
        yield " ".join(words)
        yield "My seed phrase is " + " ".join(words) + "."
        yield "recovery: " + ", ".join(words)
        yield " ".join(word.upper() if place % 3 == 0 else word.title() for place, word in enumerate(words))
        yield "\n".join(f"{place}. {word}" for place, word in enumerate(words, start=1))
        yield "wallet words: " + " ".join(rng.sample(maker.wordlist, len(words)))
        yield "seed: " + " ".join(word[:2] + "\u200b" + word[2:] for word in words)


def ibans(rng: Random) -> Iterator[str]:
    bodies: dict[str, int | tuple[int, int]] = {
        "DE": 18,
        "GB": (4, 14),
        "FR": 23,
        "ES": 20,
        "NL": (4, 10),
        "CH": 17,
        "AT": 16,
        "BE": 12,
        "PL": 24,
        "NO": 11,
    }
    for country, shape in bodies.items():
        if isinstance(shape, tuple):
            body = run(rng, string.ascii_uppercase, shape[0]) + run(rng, string.digits, shape[1])
        else:
            body = run(rng, string.digits, shape)
        iban = country + mod_97_10.calc_check_digits(body + country) + body
        spaced = " ".join(iban[place : place + 4] for place in range(0, len(iban), 4))
        yield f"Pay to {iban} please."
        yield f"My IBAN is {spaced}, thanks"
        yield f"iban: {spaced.lower()}"
        yield "account " + spaced.replace(" ", "\u2011")
        yield "transfer to " + spaced.replace(" ", "\u00a0") + " today"


def cards(rng: Random) -> Iterator[str]:
    for prefix, length in (
        ("4", 16),
        ("51", 16),
        ("2221", 16),
        ("37", 15),
        ("6011", 16),
        ("3056", 14),
        ("3530", 16),
        ("62", 16),
    ):
        body = prefix + run(rng, string.digits, length - len(prefix) - 1)
        card = body + luhn.calc_check_digit(body)
        groups = (
            (card[:4], card[4:10], card[10:])
            if length < 16
            else tuple(card[place : place + 4] for place in range(0, 16, 4))
        )
        yield f"My card is {card}."
        yield "card " + " ".join(groups) + " exp 12/27"
        yield "paid with " + "-".join(groups)
        yield "number: " + "\u2013".join(groups)
        yield "it is " + "\u200b".join(groups) + " on file"
        yield "visa " + " ".join(card)


def ssns(rng: Random) -> Iterator[str]:
    for form in (
        "My SSN is {}-{}-{}.",
        "social security number: {} {} {}",
        "SSN {}{}{}",
        "the applicant, {}-{}-{}, was approved",
        "ssn={}.{}.{}",
        "SSN: {}\u2011{}\u2011{}",
        "his social security number is {}{}{}",
        "{}\u200b-{}-\u200b{}",
    ):
        for _ in range(3):
            yield form.format(rng.randint(100, 665), f"{rng.randint(1, 99):02}", f"{rng.randint(1, 9999):04}")


def short_numbers(rng: Random) -> Iterator[str]:
    for form, length in (
        ("my ATM PIN is {}", 4),
        ("pin: {}", 6),
        ("The PIN for the safe is {}.", 5),
        ("CVV: {}", 3),
        ("the card security code is {}", 4),
        ("cvc2 = {}", 3),
        ("routing number 0{}", 8),
        ("My bank account number is {}.", 11),
        ("checking account: {}", 12),
        ("the sort code is {}", 6),
    ):
        for _ in range(3):
            yield form.format("1" + run(rng, string.digits, length - 1))


def addresses(_rng: Random) -> Iterator[str]:
    yield from (
        "I live at 742 Evergreen Terrace, Springfield, OR 97477.",
        "My address is 1600 Pennsylvania Avenue NW, Washington, DC 20500",
        "Ship it to 221B Baker Street, London NW1 6XE",
        "She moved to 350 Fifth Avenue, New York, NY 10118.",
        "home: 12 Oak Drive, Apt 4B, Portland, OR",
        "Send the parcel to 4 Privet Drive, Little Whinging",
        "Bob lives at 99 W 3rd St.",
        "the house at 1234 N Main St, Suite 500, Austin TX 78701",
        "His home is 56 Rosewood Lane.",
        "the apartment is 10 Downing Street",
        "address: 123 main street, springfield",
        "i live at 88 maple ave",
        "deliver to 77 massachusetts avenue, cambridge, ma 02139",
        "PO Box 1234, Boulder, CO 80302",
        "Write to P.O. Box 77.",
        "Meine Adresse ist Hauptstra\xdfe 12, 10115 Berlin",
        "He lives at Musterstr. 5, 80331 M\xfcnchen",
        "12 rue de Rivoli, 75001 Paris",
        "We stayed at 1 Infinite Loop, Cupertino, CA 95014",
        "Fact: Alice lives at 4059 Mt Lee Drive, Hollywood, CA 90068",
        "the studio is at 1515 Broadway, New York",
        "Her parents' house is 31 Spooner Street, Quahog",
        "The office is at 500 Howard Street, San Francisco",
        "pick me up at 18 Elm Court",
        "He rents 5 Hawthorne Way, Leeds LS1 4AP",
        "mailing address: 2200 Pacific Coast Highway, Unit 7, Malibu, CA 90265",
        "I moved to 47 Riverside Blvd #1203",
        "Calle Mayor 25, 28013 Madrid is her flat",
        "My new place is 1428 Elm St.",
        "Profile: lives at 890 Fifth Avenue, Manhattan",
        "visit us at 15 Park Square",
        "17 Cherry Tree Lane, London",
        "Dr. Ilse Vandermoor's home address is Lindenstraat 47, 3511 KX Utrecht, send the flowers there.",
        "My new address from June: Birkenweg 9, 79104 Freiburg",
        "J'habite au 23 rue des Tanneurs, 67000 Strasbourg, sonnez deux fois.",
        "Invoice to my private address please: Oakhurst Cottage, 6 Mill Lane, Wexbridge BA11 7TT",
        "Bitte an Unter den Linden 77, 10117 Berlin liefern",
        "Hun bor p\xe5 Kirkegata 14, 0153 Oslo",
        "Drottninggatan 5, 111 51 Stockholm",
    )


STRONG: Final = (
    "hunter2",
    "Tr0ub4dor&3",
    "s3cr3t-abc",
    "P@ssw0rd!",
    "Summer2024",
    "xK9#mQ2$vL",
    "hunter2!x",
    "blue42horse",
)


def logins(rng: Random) -> Iterator[str]:
    for form in (
        "log in as root with {}",
        "You can log in to the server as root with {}.",
        "sign in as admin using {}",
        "Sign in as admin with the password {}",
        "ssh as deploy with {}",
        "ssh to web-1 as deploy using {}",
        "we connect as app_user via {}",
        "logged in as bob with '{}'",
        "login as root, password {}",
        "the credentials are root / {}",
        "Credentials: admin:{}",
        "creds are admin and {}",
        "login is root:{}",
        "mysql -u root -p'{}' shop",
        "sshpass -p {} ssh deploy@web-1",
        "docker login -u bob -p {} registry.example.com",
        "curl -u 'admin:{}' https://api.example.com/v1/users",
    ):
        for secret in rng.sample([one for one in STRONG if "/" not in one], 3):
            yield form.format(secret)
    yield "mysql -uroot -phunter2 shop < dump.sql"
    yield "redis-cli -h cache-1 -a s3cr3t-abc ping"


def names_of_passwords(rng: Random) -> Iterator[str]:
    for form in (
        "psw={}",
        "psw: {}",
        "pwd_={}",
        "pwd_prod={}",
        "passwd_prod: {}",
        "passwd_prod={}",
        "db_passwd2={}",
        "db_password_staging = {}",
        "rootpw: {}",
        "ftppass={}",
        "dbPass: {}",
        "passwordProd={}",
        "password2: {}",
        "the passwd prod: {}",
        "pass_word={}",
        "pass-phrase: {}",
        "CREATE USER app IDENTIFIED BY '{}';",
    ):
        for secret in rng.sample(STRONG, 3):
            yield form.format(secret)


def in_programs(rng: Random) -> Iterator[str]:
    for form in (
        'password="{}"',
        'conn = connect(host="db", user="app", password="{}")',
        "conn = connect(host='db', user='app', password='{}')",
        'const password = "{}";',
        'let dbPassword = "{}";',
        'self.password = "{}"',
        'String password = "{}";',
        "$password = '{}';",
        "'password' => '{}',",
        "password: '{}',",
        '  "password": "{}",',
        '{{"login": {{"user": "bob", "password": "{}"}}}}',
        'config["password"] = "{}"',
        "config['db']['password'] = '{}'",
        'if password == "{}":',
        'cfg.Set("db.password", 1); // password: {}',
        "DB_PASSWORD={}",
        "export DB_PASSWORD='{}'",
        "DB_HOST=db\nDB_PASSWORD={}\nDB_USER=app",
        "POSTGRES_PASSWORD: {}",
        "db:\n  user: app\n  password: {}\n  port: 5432",
        "environment:\n  - MYSQL_ROOT_PASSWORD={}",
        "spring.datasource.password={}",
        "[client]\nuser = root\npassword = {}\nhost = db",
        "tool --user bob --password {} --verbose",
        "tool --password={} run",
        "PGPASSWORD={} psql -h db app",
        "INFO login ok user=bob password={} ip=10.0.0.1",
        "2026-02-03 10:00:00 DEBUG auth: trying password={}",
        "https://example.com/login?user=bob&password={}",
        "Password: {}",
        "Password:\n{}",
        "Password:\r\n{}\r\nUser: bob",
        'password:\n  "{}"',
        "**Password:** {}",
        "- password: `{}`",
        "Server=db;User Id=sa;Password={};Encrypt=true",
        "host=db user=app password={} dbname=main",
    ):
        for secret in rng.sample(STRONG, 2):
            if "&" in secret and "?" in form:
                secret = STRONG[0]
            yield form.format(secret)
    for secret in ("swordfish", "letmein", "dragonfly"):
        yield f"DB_PASSWORD={secret}"
        yield f'password="{secret}"'
        yield f"password: {secret}"
        yield f"Password:\n{secret}\n"
    key = run(rng, ALNUM, 30) + "7x4"
    yield f'api_key = "{key}"'
    yield f'"apiKey": "{key}",'
    yield f"headers = {{'Authorization': 'Bearer {key}'}}"
    yield f"client_secret: {key}"
    yield f"app.secret_key = '{key}'"


def hex_keys(rng: Random) -> Iterator[str]:
    for form in (
        "{}",
        "0x{}",
        "Fact: {}",
        "value: {}",
        '"{}"',
        "the wallet is {}",
        "my wallet key is {}",
        "hex key {}",
        "private: {}",
        "the signing secret {}",
        "encrypt with {}",
        "seed {}",
        "use {} for signing",
        "use {} for the staging account",
        "he leaked {} yesterday",
        "AES key: {}",
        "ENCRYPTION_KEY={}",
    ):
        yield form.format(run(rng, HEX, 64))
        yield form.format(run(rng, HEX, 64).upper())
    yield run(rng, HEX, 128)


def told(_rng: Random) -> Iterator[str]:
    yield from (one.text for one in told_secrets())


def declarations(rng: Random) -> Iterator[str]:
    for form in (
        'variable "db_password" {{\n  type    = string\n  default = "{}"\n}}',
        "- name: DB_PASSWORD\n  value: {}",
        '{{"name": "DB_PASSWORD", "value": "{}"}}',
        '<add key="SmtpPassword" value="{}"/>',
        '<property name="javax.persistence.jdbc.password" value="{}"/>',
        '- name: SESSION_SECRET\n  value: "{}"',
    ):
        yield form.format(run(rng, ALNUM, 18) + "4k")


def documents(_rng: Random) -> Iterator[str]:
    yield from (
        "My passport number is R63967178, needed for the visa form.",
        "passport no. 849004833 (US), expires 2031-05",
        "Reisepass: CMJNP7LMV, g\xfcltig bis 2030",
        "passeport n\xb0 14AV52617",
        '{"traveller": "M. Okonjo", "passport": "LV5045623", "meal": "veg"}',
        "driver's license Q8068884, California, for the rental car",
        "UK driving licence number: HARGR706164J99CX",
        "F\xfchrerschein-Nr. B072FML585F, Klasse B",
        "my NHS number is 724 839 5374, the clinic asked for it",
        "NHS no: 7248395374",
    )


INVISIBLE: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b\u180e\u180f\u200b\u200d\u202e\u2060\u2065\u206f\u3164\ufe0f\ufeff"
    "\uffa0\ufff0\ufff8\U0001bca0\U0001d173\U000e0001\U000e0041\U000e0100\U000e01ef\U000e0fff"
)
ZEROS_OF_SCRIPTS: Final = (
    "\u0660\u06f0\u07c0\u0966\u09e6\u0ae6\u0be6\u0e50\u0ed0\u0f20\u1040\u17e0\u1810\ua620\uaa50\uff10"
    "\U000104a0\U0001d7ce\U0001e950"
)


def disguised(rng: Random) -> Iterator[str]:
    def spread(text: str, char: str) -> str:
        place = rng.randint(1, len(text) - 1)
        return text[:place] + char + text[place:]

    for char in INVISIBLE:
        yield f"my {spread('password', char)} is {spread('hunter2', char)}"
        yield "card " + spread("4111 1111 1111 1111", char)
    for zero in ZEROS_OF_SCRIPTS:
        digits = str.maketrans("0123456789", "".join(chr(ord(zero) + digit) for digit in range(10)))
        yield "card " + "4111 1111 1111 1111".translate(digits)
        yield "SSN " + "123-45-6789".translate(digits)
        yield "my ATM PIN is " + "4821".translate(digits)


def around_placeholders(rng: Random) -> Iterator[str]:
    token = "gh" + "p_" + run(rng, ALNUM, 36)
    for secret in STRONG:
        yield f"password: [REDACTED:x] {secret}"
        yield f"password: [REDACTED:password] {secret}"
        yield f"password=[REDACTED:password]{secret}"
        yield f"my password is [REDACTED:password] {secret}"
        yield f"password: [REDACTED:{secret}]"
        yield f"password: [redacted:{secret}]"
    yield f"[REDACTED:{token}]"
    yield f"[REDACTED:password] {token} [REDACTED:password]"
    yield token[:20] + "[REDACTED:pin]" + token[20:]
    yield "4111 1111 [REDACTED:pin] 1111 1111"
    yield "[REDACTED:4111 1111 1111 1111]"


FAMILIES: Final[tuple[Callable[[Random], Iterator[str]], ...]] = (
    provider_tokens,
    composed_tokens,
    jwts,
    private_keys,
    connection_strings,
    passwords,
    seed_phrases,
    ibans,
    cards,
    ssns,
    addresses,
    short_numbers,
    logins,
    names_of_passwords,
    in_programs,
    hex_keys,
    told,
    declarations,
    documents,
    disguised,
    around_placeholders,
)


def planted_secrets(seed: int) -> list[Planted]:
    """Return sentences that each hold one secret, the same for the same seed."""
    return [Planted(family.__name__, text) for family in FAMILIES for text in family(Random(seed))]
