"""Texts for developers to copy: how a receiver verifies webhooks (Standard Webhooks 1.0), and a webhook as curl."""

import shlex
from typing import Final

import msgspec


class Snippet(msgspec.Struct, frozen=True):
    """In one language, with nothing but what that brings along."""

    id: str
    name: str
    code: str


_PYTHON: Final = """\
# POST {url}
import base64, hmac, os, time

SECRET = base64.b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))

def is_genuine(headers, body):
    # headers: names in small letters; body: the raw bytes, before any JSON parser.
    sent_at = headers.get("webhook-timestamp", "")
    if not sent_at.isdecimal() or abs(time.time() - int(sent_at)) > 300:
        return False
    signed = f"{{headers.get('webhook-id', '')}}.{{sent_at}}.".encode() + body
    mac = base64.b64encode(hmac.digest(SECRET, signed, "sha256"))
    given = headers.get("webhook-signature", "").encode().split(b" ")
    return any(hmac.compare_digest(one, b"v1," + mac) for one in given)"""

_PHP: Final = """\
<?php // POST {url}
$secret = base64_decode(substr(getenv('WEBHOOK_SECRET'), strlen('whsec_')));
$body = file_get_contents('php://input');
$id = $_SERVER['HTTP_WEBHOOK_ID'] ?? '';
$sentAt = $_SERVER['HTTP_WEBHOOK_TIMESTAMP'] ?? '';
$mac = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$sentAt.$body", $secret, true));
$isGenuine = false;
foreach (explode(' ', $_SERVER['HTTP_WEBHOOK_SIGNATURE'] ?? '') as $given) {{
    $isGenuine = $isGenuine || hash_equals($mac, $given);
}}
if (!$isGenuine || !ctype_digit($sentAt) || abs(time() - (int) $sentAt) > 300) {{
    http_response_code(400);
    exit;
}}
$event = json_decode($body, true)['data'];
http_response_code(204);"""

_NODE: Final = """\
// POST {url}
import {{ createHmac, timingSafeEqual }} from "node:crypto";

const secret = Buffer.from(process.env.WEBHOOK_SECRET.slice("whsec_".length), "base64");

// headers: names in small letters; body: the raw bytes, before any JSON parser.
export function isGenuine(headers, body) {{
  const id = headers["webhook-id"], sentAt = headers["webhook-timestamp"];
  if (!(Math.abs(Date.now() / 1000 - Number(sentAt)) <= 300)) return false;
  const mac = createHmac("sha256", secret).update(`${{id}}.${{sentAt}}.`).update(body).digest("base64");
  const expected = Buffer.from(`v1,${{mac}}`);
  return (headers["webhook-signature"] ?? "").split(" ").map((one) => Buffer.from(one))
    .some((given) => given.length === expected.length && timingSafeEqual(given, expected));
}}"""

_RUBY: Final = """\
# POST {url}
require "openssl"

SECRET = ENV.fetch("WEBHOOK_SECRET").delete_prefix("whsec_").unpack1("m0")

# headers: names in small letters; body: the raw bytes, before any JSON parser.
def genuine?(headers, body)
  id, sent_at = headers["webhook-id"], headers["webhook-timestamp"]
  return false if (Time.now.to_i - sent_at.to_i).abs > 300
  mac = [OpenSSL::HMAC.digest("SHA256", SECRET, "#{{id}}.#{{sent_at}}.#{{body}}")].pack("m0")
  headers["webhook-signature"].to_s.split(" ").any? {{ |given| OpenSSL.secure_compare(given, "v1,#{{mac}}") }}
end"""

# Not a receiver: a signed request to try one with.
_CURL: Final = """\
ID=test_$(date +%s) SENT_AT=$(date +%s)
BODY='{{"data":{{"id":"'$ID'","type":"test"}}}}'
KEY=$(printf %s "${{WEBHOOK_SECRET#whsec_}}" | base64 -d | od -An -v -tx1 | tr -d ' \\n')
MAC=$(printf %s "$ID.$SENT_AT.$BODY" | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$KEY" -binary | base64)
curl -i -g {url} \\
  -H 'content-type: application/json' \\
  -H "webhook-id: $ID" \\
  -H "webhook-timestamp: $SENT_AT" \\
  -H "webhook-signature: v1,$MAC" \\
  --data-binary "$BODY\""""


def snippets(url: str) -> list[Snippet]:
    """For the receiver at this address, which has no blank, line break or angle bracket in it."""
    return [
        Snippet("python", "Python", _PYTHON.format(url=url)),
        Snippet("php", "PHP", _PHP.format(url=url)),
        Snippet("node", "Node", _NODE.format(url=url)),
        Snippet("ruby", "Ruby", _RUBY.format(url=url)),
        Snippet("curl", "curl", _CURL.format(url=shlex.quote(url))),
    ]


def as_curl(url: str, headers: dict[str, str], body: bytes) -> str:
    """The request as a command of any sh. What curl would read as a pattern (`-g`) or a file (`raw`) stays as it is."""
    fields = "".join(f"  -H {shlex.quote(f'{name}: {value}')} \\\n" for name, value in headers.items())
    return f"curl -i -g {shlex.quote(url)} \\\n{fields}  --data-raw {shlex.quote(body.decode())}"
