"""What the keys and tokens of the providers look like.

A rule is data: the kind, what must stand in the text for the rule to be worth a search, and the pattern. Lengths are
lower bounds a little below the published ones, because providers lengthen their tokens over time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class TokenRule:
    """A token's shape. Each match holds one of `hints`, which is cheaper to look for."""

    kind: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]


def _rule(kind: str, hints: str, pattern: str) -> TokenRule:
    return TokenRule(kind, tuple(hints.split()), re.compile(rf"(?<![A-Za-z0-9])(?:{pattern})"))


RULES: Final = (
    _rule("anthropic_key", "sk-ant-", r"sk-ant-[\w-]{16,}"),
    _rule("openrouter_key", "sk-or-", r"sk-or-[\w-]{20,}"),
    _rule(
        "openai_key",
        "sk- sess-",
        r"sk-(?:proj|svcacct|admin|None)-[\w-]{16,}|sk-[A-Za-z0-9]{18,}|sk-(?=[\w-]{0,60}\d)[a-z]{2,10}-[\w-]{20,}"
        r"|sess-[A-Za-z0-9]{36,}",
    ),
    _rule("aws_access_key_id", "AKIA ASIA ABIA ACCA", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _rule("aws_access_key_id", "A3T AROA AIDA AGPA", r"(?:A3T[A-Z0-9]|AROA|AIDA|AGPA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _rule("aws_bedrock_key", "ABSKQ", r"ABSKQ[A-Za-z0-9+/]{80,}={0,2}"),
    _rule("github_token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{20,}"),
    _rule("github_token", "github_pat_", r"github_pat_\w{30,}"),
    _rule("gitlab_token", "gl", r"gl(?:pat|ptt|cbt|dt|rt|rtr|oas|soat|ft|imt|agent|ffct|wt)-[\w.-]{16,}"),
    _rule("gitlab_token", "GR1348941", r"GR1348941[\w-]{16,}"),
    _rule("slack_token", "xox xapp-", r"xox[abceoprs](?:\.xox[a-z])?-[\w-]{10,}|xapp-\d-[\w-]{16,}"),
    _rule("slack_webhook", "hooks.slack.com", r"hooks\.slack\.com/(?:services|workflows|triggers)/[\w/+]{20,}"),
    _rule("stripe_key", "_live_ _test_ _prod_", r"[srp]k_(?:live|test|prod)_[A-Za-z0-9]{10,}"),
    _rule("stripe_key", "whsec_", r"whsec_[\w+/=]{20,}"),
    _rule("google_key", "AIza GOCSPX-", r"AIza[\w-]{30,}|GOCSPX-[\w-]{20,}"),
    _rule("google_key", "ya29. 1//0", r"ya29\.[\w.-]{20,}|1//0[\w-]{30,}"),
    _rule("firebase_key", "APA91b", r"AAAA[\w-]{7}:APA91b[\w-]{60,}"),
    _rule("azure_key", "Q~", r"[\w~.-]{3}\dQ~[\w~.-]{28,}"),
    _rule("azure_key", "JQQJ9 ACDb", r"[A-Za-z0-9+/]{32,76}(?:JQQJ9|ACDb)[A-Za-z0-9+/=]{4,}"),
    _rule("azure_key", "AzSe +ASt AIoT", r"[A-Za-z0-9+/]{32,76}(?:AzSe|\+ASt|AIoT)[A-Za-z0-9+/=]{4,}"),
    _rule("twilio_key", "SK AC", r"(?:SK|AC)[0-9a-f]{32}(?![A-Za-z0-9])"),
    _rule("sendgrid_key", "SG.", r"SG\.[\w-]{16,64}\.[\w-]{16,}"),
    _rule("npm_token", "npm_", r"npm_[A-Za-z0-9]{20,}"),
    _rule("pypi_token", "pypi-", r"pypi-AgE[\w-]{16,}|pypi-[\w-]{60,}"),
    _rule("hugging_face_token", "hf_ api_org_", r"(?:hf|api_org)_[A-Za-z0-9]{20,}"),
    _rule("telegram_token", ":", r"\d{8,10}:AA[\w-]{30,}|\d{8,10}:[\w-]{35}(?![\w-])"),
    _rule("discord_token", ". mfa.", r"[MNO][\w-]{22,27}\.[\w-]{6}\.[\w-]{25,40}(?![\w-])|mfa\.[\w-]{60,}"),
    _rule("discord_webhook", "/webhooks/", r"discord(?:app)?\.com/api/webhooks/\d{10,}/[\w-]{30,}"),
    _rule("shopify_token", "shp", r"shp(?:at|ca|pa|ss|ua|tka)_[0-9a-fA-F]{24,}"),
    _rule("digitalocean_token", "_v1_", r"do[opr]_v1_[0-9a-f]{40,}"),
    _rule("vault_token", "hvs. hvb. hvr.", r"hv[sbr]\.[\w-]{20,}"),
    _rule("terraform_token", ".atlasv1.", r"[A-Za-z0-9]{10,}\.atlasv1\.[\w-]{30,}"),
    _rule("databricks_token", "dapi", r"dapi[0-9a-f]{30,}(?:-\d)?"),
    _rule("mailgun_key", "key-", r"key-[0-9a-f]{32}(?![A-Za-z0-9])"),
    _rule("mailchimp_key", "-us", r"[0-9a-f]{32}-us\d{1,2}(?![A-Za-z0-9])"),
    _rule("brevo_key", "xkeysib- xsmtpsib-", r"x(?:key|smtp)sib-[0-9a-f]{40,}[\w-]*"),
    _rule("square_token", "sq0 EAAA", r"sq0(?:atp|csp|idp)-[\w-]{20,}|EAAA[\w-]{50,}"),
    _rule("facebook_token", "EAA", r"EAA[A-Za-z0-9]{40,}"),
    _rule("paypal_token", "access_token$", r"access_token\$(?:production|sandbox)\$[a-z0-9]{13,}\$[0-9a-f]{32}"),
    _rule("atlassian_token", "ATATT3 ATCTT3 ATBB", r"AT[AC]TT3[\w=-]{40,}|ATBB[A-Za-z0-9]{24,}"),
    _rule("linear_key", "lin_", r"lin_(?:api|oauth)_[A-Za-z0-9]{24,}"),
    _rule("notion_key", "ntn_ secret_", r"ntn_[A-Za-z0-9]{30,}|secret_[A-Za-z0-9]{36,}"),
    _rule("airtable_token", "pat", r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    _rule("hubspot_token", "pat-", r"pat-(?:na|eu)\d-[0-9a-f-]{30,}"),
    _rule("postman_key", "PMAK-", r"PMAK-[0-9a-f]{20,}-[0-9a-f]{30,}"),
    _rule("new_relic_key", "NRAK- NRII- NRJS-", r"NR(?:AK|II|JS)-[\w-]{18,}"),
    _rule("grafana_token", "glc_ glsa_", r"glc_[A-Za-z0-9+/=]{32,}|glsa_\w{36,}"),
    _rule("doppler_token", "dp.", r"dp\.(?:pt|st|sa|ct|scim|audit)\.[\w.-]{32,}"),
    _rule("pulumi_token", "pul-", r"pul-[0-9a-f]{36,}"),
    _rule("supabase_key", "sbp_ sb_secret_", r"sbp_[0-9a-f]{36,}|sb_secret_[\w-]{20,}"),
    _rule("planetscale_token", "pscale_", r"pscale_(?:tkn|pw|oauth)_[\w.=-]{28,}"),
    _rule("groq_key", "gsk_", r"gsk_[A-Za-z0-9]{40,}"),
    _rule("replicate_token", "r8_", r"r8_[A-Za-z0-9]{30,}"),
    _rule("xai_key", "xai-", r"xai-[A-Za-z0-9]{40,}"),
    _rule("perplexity_key", "pplx-", r"pplx-[A-Za-z0-9]{36,}"),
    _rule("pinecone_key", "pcsk_", r"pcsk_\w{40,}"),
    _rule("langsmith_key", "lsv2_", r"lsv2_(?:pt|sk)_[0-9a-f]{24,}_[0-9a-f]{8,}"),
    _rule("nvidia_key", "nvapi-", r"nvapi-[\w-]{40,}"),
    _rule("tavily_key", "tvly-", r"tvly-(?:dev-|prod-)?[A-Za-z0-9]{20,}"),
    _rule("figma_token", "figd_ figo_", r"fig[do]_[\w-]{32,}"),
    _rule("docker_token", "dckr_", r"dckr_(?:pat|oat)_[\w-]{20,}"),
    _rule("sentry_token", "sntrys_ sntryu_", r"sntry[su]_[\w+/=]{40,}"),
    _rule("rubygems_token", "rubygems_", r"rubygems_[0-9a-f]{40,}"),
    _rule("netlify_token", "nfp_", r"nfp_[A-Za-z0-9]{32,}"),
    _rule("heroku_key", "HRKU-", r"HRKU-[\w-]{30,}"),
    _rule("dynatrace_token", "dt0", r"dt0[a-z]\d\d\.[A-Z0-9]{20,}\.[A-Z0-9]{40,}"),
    _rule("easypost_key", "EZ", r"EZ[AT]K[A-Za-z0-9]{50,}"),
    _rule("circleci_token", "CCIPAT_", r"CCIPAT_\w{30,}"),
    _rule("cargo_token", "cio", r"cio[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    _rule("onepassword_token", "ops_eyJ", r"ops_eyJ[\w+/=-]{60,}"),
    _rule("alibaba_key", "LTAI", r"LTAI[A-Za-z0-9]{16,20}(?![A-Za-z0-9])"),
    _rule("resend_key", "re_", r"re_(?=\w{0,40}\d)[A-Za-z0-9]{6,10}_[A-Za-z0-9]{20,}"),
    _rule("fly_token", "fo1_ FlyV1", r"fo1_[\w-]{36,}|FlyV1 fm\d_[\w+/=,]{60,}"),
    _rule("neon_key", "napi_ npg_", r"napi_[a-z0-9]{40,}|npg_[A-Za-z0-9]{10,}"),
    _rule("dropbox_token", "sl.", r"sl\.(?:u\.)?[\w-]{60,}"),
    _rule("jwt", "eyJ", r"(?<![\w-])eyJ[\w-]{8,}(?:\.[\w-]{8,}){1,4}"),
    _rule("private_key", "AGE-SECRET-KEY-", r"AGE-SECRET-KEY-1[A-Z0-9]{40,}"),
    _rule("private_key", "prv", r"[xyztuv]prv[1-9A-HJ-NP-Za-km-z]{90,}"),
    _rule("private_key", "5 K L", r"(?=\w{0,51}\d)(?=\w{0,51}[a-z])[5KL][1-9A-HJ-NP-Za-km-z]{50,51}(?![A-Za-z0-9])"),
    _rule("private_key", "b3BlbnNzaC1rZXktdjE", r"b3BlbnNzaC1rZXktdjE[A-Za-z0-9+/=\s]{20,}"),
    _rule("private_key", "PuTTY-User-Key-File", r"PuTTY-User-Key-File-\d:[\s\S]{0,8192}?Private-Lines:[\s\S]{0,8192}"),
)  # fmt: skip
