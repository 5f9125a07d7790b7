"""What the keys and tokens of the providers look like.

A rule is data: the kind, the letters that every such token holds, what stands behind them and, when they are not the
first of it, what stands before. Lengths are lower bounds a little below the published ones, because providers lengthen
their tokens over time. What is looked for behind the fixed letters either cannot fail after a long run, or its runs
cannot overlap, so that a search is linear in the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class TokenRule:
    """A token's shape: one of `marks`, `behind` it, and `before` it (None: the mark is where the token starts)."""

    kind: str
    marks: tuple[str, ...]
    behind: re.Pattern[str]
    before: re.Pattern[str] | None


def _rule(kind: str, marks: str, behind: str, *, before: str | None = None) -> TokenRule:
    front = None if before is None else re.compile(rf"(?<![A-Za-z0-9])(?:{before})$")
    return TokenRule(kind, tuple(marks.split()), re.compile(behind), front)


RULES: Final = (
    _rule("anthropic_key", "sk-ant-", r"[\w-]{16,}"),
    _rule("openrouter_key", "sk-or-", r"[\w-]{20,}"),
    _rule("openai_key", "sk-proj- sk-svcacct- sk-admin- sk-None-", r"[\w-]{16,}"),
    _rule("openai_key", "sk-", r"[A-Za-z0-9]{18,}|(?=[\w-]{0,60}\d)[a-z]{2,10}-[\w-]{20,}"),
    _rule("openai_key", "sess-", r"[A-Za-z0-9]{36,}"),
    _rule("aws_access_key_id", "AKIA ASIA ABIA ACCA AROA AIDA AGPA", r"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _rule("aws_access_key_id", "A3T", r"[A-Z0-9]{17}(?![A-Za-z0-9])"),
    _rule("aws_bedrock_key", "ABSKQ", r"[A-Za-z0-9+/]{80,}={0,2}"),
    _rule("github_token", "ghp_ gho_ ghu_ ghs_ ghr_", r"[A-Za-z0-9]{20,}"),
    _rule("github_token", "github_pat_", r"\w{30,}"),
    _rule(
        "gitlab_token",
        "glpat- glptt- glcbt- gldt- glrt- glrtr- gloas- glsoat- glft- glimt- glagent- glffct- glwt- GR1348941",
        r"[\w.-]{16,}",
    ),
    _rule("slack_token", "xox", r"[abceoprs](?:\.xox[a-z])?-[\w-]{10,}"),
    _rule("slack_token", "xapp-", r"\d-[\w-]{16,}"),
    _rule("slack_webhook", "hooks.slack.com/", r"(?:services|workflows|triggers)/[\w/+]{20,}"),
    _rule("stripe_key", "sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_ pk_prod_", r"[A-Za-z0-9]{10,}"),
    _rule("stripe_key", "pk_live_ pk_test_", r"[A-Za-z0-9]{10,}"),
    _rule("stripe_key", "whsec_", r"[\w+/=]{20,}"),
    _rule("google_key", "AIza", r"[\w-]{30,}"),
    _rule("google_key", "GOCSPX-", r"[\w-]{20,}"),
    _rule("google_key", "ya29.", r"[\w.-]{20,}"),
    _rule("google_key", "1//0", r"[\w-]{30,}"),
    _rule("firebase_key", ":APA91b", r"[\w-]{60,}", before=r"AAAA[\w-]{7}"),
    _rule("azure_key", "Q~", r"[\w~.-]{28,}", before=r"[\w~.-]{3}\d"),
    _rule("azure_key", "JQQJ9 ACDb AzSe +ASt AIoT", r"[A-Za-z0-9+/=]{4,}", before=r"[A-Za-z0-9+/]{32,76}"),
    _rule("twilio_key", "SK AC", r"[0-9a-f]{32}(?![A-Za-z0-9])"),
    _rule("sendgrid_key", "SG.", r"[\w-]{16,64}\.[\w-]{16,}"),
    _rule("npm_token", "npm_", r"[A-Za-z0-9]{20,}"),
    _rule("pypi_token", "pypi-", r"AgE[\w-]{16,}|[\w-]{60,}"),
    _rule("hugging_face_token", "hf_ api_org_", r"[A-Za-z0-9]{20,}"),
    _rule("telegram_token", ":AA", r"[\w-]{30,}", before=r"\d{8,10}"),
    _rule("telegram_token", ":", r"[\w-]{35}(?![\w-])", before=r"\d{8,10}"),
    _rule("discord_token", ".", r"[\w-]{6}\.[\w-]{25,40}(?![\w-])", before=r"[MNO][\w-]{22,27}"),
    _rule("discord_token", "mfa.", r"[\w-]{60,}"),
    _rule("discord_webhook", "discord.com/api/webhooks/ discordapp.com/api/webhooks/", r"\d{10,}/[\w-]{30,}"),
    _rule("shopify_token", "shpat_ shpca_ shppa_ shpss_ shpua_ shptka_", r"[0-9a-fA-F]{24,}"),
    _rule("digitalocean_token", "doo_v1_ dop_v1_ dor_v1_", r"[0-9a-f]{40,}"),
    _rule("vault_token", "hvs. hvb. hvr.", r"[\w-]{20,}"),
    _rule("terraform_token", ".atlasv1.", r"[\w-]{30,}", before=r"[A-Za-z0-9]{10,64}"),
    _rule("databricks_token", "dapi", r"[0-9a-f]{30,}(?:-\d)?"),
    _rule("mailgun_key", "key-", r"[0-9a-f]{32}(?![A-Za-z0-9])"),
    _rule("mailchimp_key", "-us", r"\d{1,2}(?![A-Za-z0-9])", before=r"[0-9a-f]{32}"),
    _rule("brevo_key", "xkeysib- xsmtpsib-", r"[0-9a-f]{40,}[\w-]*"),
    _rule("square_token", "sq0atp- sq0csp- sq0idp-", r"[\w-]{20,}"),
    _rule("square_token", "EAAA", r"[\w-]{50,}"),
    _rule("facebook_token", "EAA", r"[A-Za-z0-9]{40,}"),
    _rule("paypal_token", "access_token$", r"(?:production|sandbox)\$[a-z0-9]{13,}\$[0-9a-f]{32}"),
    _rule("atlassian_token", "ATATT3 ATCTT3", r"[\w=-]{40,}"),
    _rule("atlassian_token", "ATBB", r"[A-Za-z0-9]{24,}"),
    _rule("linear_key", "lin_api_ lin_oauth_", r"[A-Za-z0-9]{24,}"),
    _rule("notion_key", "ntn_", r"[A-Za-z0-9]{30,}"),
    _rule("notion_key", "secret_", r"[A-Za-z0-9]{36,}"),
    _rule("airtable_token", "pat", r"[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    _rule("hubspot_token", "pat-na pat-eu", r"\d-[0-9a-f-]{30,}"),
    _rule("postman_key", "PMAK-", r"[0-9a-f]{20,}-[0-9a-f]{30,}"),
    _rule("new_relic_key", "NRAK- NRII- NRJS-", r"[\w-]{18,}"),
    _rule("grafana_token", "glc_", r"[A-Za-z0-9+/=]{32,}"),
    _rule("grafana_token", "glsa_", r"\w{36,}"),
    _rule("doppler_token", "dp.pt. dp.st. dp.sa. dp.ct. dp.scim. dp.audit.", r"[\w.-]{32,}"),
    _rule("pulumi_token", "pul-", r"[0-9a-f]{36,}"),
    _rule("supabase_key", "sbp_", r"[0-9a-f]{36,}"),
    _rule("supabase_key", "sb_secret_", r"[\w-]{20,}"),
    _rule("planetscale_token", "pscale_tkn_ pscale_pw_ pscale_oauth_", r"[\w.=-]{28,}"),
    _rule("groq_key", "gsk_", r"[A-Za-z0-9]{40,}"),
    _rule("replicate_token", "r8_", r"[A-Za-z0-9]{30,}"),
    _rule("xai_key", "xai-", r"[A-Za-z0-9]{40,}"),
    _rule("perplexity_key", "pplx-", r"[A-Za-z0-9]{36,}"),
    _rule("pinecone_key", "pcsk_", r"\w{40,}"),
    _rule("langsmith_key", "lsv2_pt_ lsv2_sk_", r"[0-9a-f]{24,}_[0-9a-f]{8,}"),
    _rule("nvidia_key", "nvapi-", r"[\w-]{40,}"),
    _rule("tavily_key", "tvly-", r"(?:dev-|prod-)?[A-Za-z0-9]{20,}"),
    _rule("figma_token", "figd_ figo_", r"[\w-]{32,}"),
    _rule("docker_token", "dckr_pat_ dckr_oat_", r"[\w-]{20,}"),
    _rule("sentry_token", "sntrys_ sntryu_", r"[\w+/=]{40,}"),
    _rule("rubygems_token", "rubygems_", r"[0-9a-f]{40,}"),
    _rule("netlify_token", "nfp_", r"[A-Za-z0-9]{32,}"),
    _rule("heroku_key", "HRKU-", r"[\w-]{30,}"),
    _rule("dynatrace_token", "dt0", r"[a-z]\d\d\.[A-Z0-9]{20,}\.[A-Z0-9]{40,}"),
    _rule("easypost_key", "EZAK EZTK", r"[A-Za-z0-9]{50,}"),
    _rule("circleci_token", "CCIPAT_", r"\w{30,}"),
    _rule("cargo_token", "cio", r"[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    _rule("onepassword_token", "ops_eyJ", r"[\w+/=-]{60,}"),
    _rule("alibaba_key", "LTAI", r"[A-Za-z0-9]{16,20}(?![A-Za-z0-9])"),
    _rule("resend_key", "re_", r"(?=\w{0,40}\d)[A-Za-z0-9]{6,10}_[A-Za-z0-9]{20,}"),
    _rule("fly_token", "fo1_", r"[\w-]{36,}"),
    _rule("fly_token", "fm1_ fm2_ fm3_", r"[\w+/=,]{60,}"),
    _rule("neon_key", "napi_", r"[a-z0-9]{40,}"),
    _rule("neon_key", "npg_", r"[A-Za-z0-9]{10,}"),
    _rule("dropbox_token", "sl.", r"(?:u\.)?[\w-]{60,}"),
    _rule("jwt", "eyJ", r"(?<![\w-]eyJ)[\w-]{8,}(?:\.[\w-]{8,}){1,4}"),
    _rule("private_key", "AGE-SECRET-KEY-1", r"[A-Z0-9]{40,}"),
    _rule("private_key", "xprv yprv zprv tprv uprv vprv", r"[1-9A-HJ-NP-Za-km-z]{90,}"),
    _rule(
        "private_key", "5 K L", r"(?=\w{0,51}\d)(?=\w{0,51}[a-z])[1-9A-HJ-NP-Za-km-z]{50,51}(?![A-Za-z0-9])"
    ),
    _rule("private_key", "b3BlbnNzaC1rZXktdjE", r"[A-Za-z0-9+/=\s]{20,}"),
)  # fmt: skip
