"""The Compose files and what lies beside them."""

import re
import subprocess
from pathlib import Path
from typing import Final

import pytest

from qirsh.settings import BadSetting, Settings, read_settings
from tests.deploy.compose_steps import FOLDER, OWN, composed, environment_of, make_database, make_secrets
from tests.deploy.containerfile import TOOLS
from tests.postgres import server

FILES: Final = ("sqlite.yaml", "postgres.yaml")


def examples() -> dict[str, str]:
    """What .env.example sets."""
    lines = (FOLDER / ".env.example").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def settings_of(name: str, dotenv: dict[str, str], secrets: Path) -> Settings:
    """What the service reads in its container."""
    return read_settings(environment_of(name, "qirsh", dotenv, secrets))


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    return make_secrets(tmp_path, "smtp+starttls://qirsh:long@mail.shop.sy:587")


def test_the_files_keep_to_the_schema_of_compose_and_to_yamllint() -> None:
    for words in (
        [str(TOOLS / "check-jsonschema"), "--builtin-schema", "vendor.compose-spec", *FILES],
        [
            str(TOOLS / "yamllint"),
            "--strict",
            "-d",
            "{extends: default, rules: {line-length: {max: 120}, document-start: disable}}",
            *FILES,
        ],
    ):
        told = subprocess.run(words, cwd=FOLDER, capture_output=True, text=True, check=False)
        assert told.returncode == 0, told.stdout + told.stderr


@pytest.mark.parametrize("name", FILES)
def test_with_values_of_ones_own_the_service_is_told_what_it_needs(name: str, secrets: Path) -> None:
    assert OWN.keys() == {key for key, value in examples().items() if value.startswith("<")}
    assert examples()["COMPOSE_FILE"] in FILES
    settings = settings_of(name, OWN, secrets)
    assert settings.base_url == "https://pay.shop.sy"
    assert settings.smtp is not None
    assert settings.secret_keys
    assert settings.metrics_token
    assert isinstance(settings.database, Path) == (name == "sqlite.yaml")


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("left", OWN)
def test_an_example_that_was_left_stops_the_start(name: str, left: str, secrets: Path) -> None:
    setting = {"DOMAIN": "QIRSH_BASE_URL"}.get(left, left)
    with pytest.raises(BadSetting, match=f"^{setting}: "):
        settings_of(name, OWN | {left: examples()[left]}, secrets)


def test_the_address_of_a_mail_server_that_was_left_stops_the_start(secrets: Path) -> None:
    (secrets / "smtp_url").unlink()
    told = subprocess.run([secrets.parent / "make-secrets.sh"], check=True, capture_output=True, text=True)
    assert "secrets/smtp_url" in told.stdout
    with pytest.raises(BadSetting, match=r"^QIRSH_SMTP_URL"):
        settings_of("sqlite.yaml", OWN, secrets)


def test_secrets_are_made_once_each_its_own_and_for_nobody_else_of_the_machine(secrets: Path) -> None:
    kept = {file.name: file.read_text() for file in secrets.iterdir()}
    subprocess.run([secrets.parent / "make-secrets.sh"], check=True, capture_output=True)
    assert kept == {file.name: file.read_text() for file in secrets.iterdir()}
    assert len(set(kept.values())) == len(kept)
    assert secrets.stat().st_mode & 0o777 == 0o700
    assert kept["database_password"].strip() in kept["database_url"]
    wanted = {name for file in FILES for name in composed(file)["secrets"]}
    assert wanted == kept.keys()
    ignored = (FOLDER / ".gitignore").read_text().split()
    assert {".env", "secrets/"} <= set(ignored)


@pytest.mark.parametrize("name", FILES)
def test_every_service_is_of_a_version_and_hardened_and_names_what_there_is(name: str) -> None:
    whole = composed(name)
    for service, told in whole["services"].items():
        assert re.search(r":\d+\.\d+[\w.-]*$|\{IMAGE:-", told["image"]), service
        assert "no-new-privileges:true" in told["security_opt"]
        assert set(told.get("secrets", [])) <= whole["secrets"].keys()
        assert {one.partition(":")[0] for one in told["volumes"] if one[0] != "."} <= whole["volumes"].keys()
        for mounted in (one.partition(":")[0] for one in told["volumes"] if one[0] == "."):
            assert (FOLDER / mounted).is_file()
        if service != "postgres":
            assert told["read_only"] is True
            assert told["cap_drop"] == ["ALL"]


def test_caddy_is_the_proxy_that_the_service_trusts_and_the_only_door() -> None:
    services = composed("postgres.yaml")["services"]
    proxy = services["caddy"]["networks"]["front"]["ipv4_address"]
    assert services["qirsh"]["environment"]["QIRSH_TRUSTED_PROXIES"] == proxy
    assert [name for name, told in services.items() if "ports" in told] == ["caddy"]
    assert "443:443/udp" in services["caddy"]["ports"]
    gateway = composed("sqlite.yaml")["networks"]["front"]["ipam"]["config"][0]["gateway"]
    alone = composed("sqlite.yaml")["services"]["qirsh"]
    assert alone["environment"]["QIRSH_TRUSTED_PROXIES"] == gateway
    assert all(port.startswith("127.0.0.1:") for port in alone["ports"])


@pytest.mark.slow
def test_postgresql_is_made_with_a_role_that_is_no_superuser(secrets: Path) -> None:
    asked = [
        "SELECT rolsuper, rolcreatedb, rolcreaterole FROM pg_roles WHERE rolname = current_user",
        "SELECT pg_get_userbyid(datdba), pg_encoding_to_char(encoding) FROM pg_database WHERE datname = 'qirsh'",
    ]
    with server() as postgres:  # Of its own: a role is there for every database.
        url = make_database(postgres, secrets)
        psql = [str(postgres.binaries / "psql"), "-X", "-qAt", url]
        words = [word for sql in asked for word in ("-c", sql)]
        told = subprocess.run([*psql, *words], capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["f|f|f", "qirsh|UTF8"]


def test_a_backup_that_failed_is_tried_again_soon_and_the_next_one_a_day_later(tmp_path: Path) -> None:
    service = composed("postgres.yaml")["services"]["backup"]
    [loop] = service["command"]
    done = tmp_path / "done"
    # The first backup fails. In its third pause the container is stopped.
    programs = {
        "qirsh": f'echo "$*" >> {done}; [ "$(grep -c backup {done})" != 1 ]',
        "sleep": f'echo "$1" >> {done}; [ "$(wc -l < {done})" -lt 6 ] || kill -TERM "$PPID"',
    }
    for name, script in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    told = subprocess.run(
        [*service["entrypoint"], loop.replace("$$", "$")],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        check=False,
        timeout=60,
    )
    assert told.returncode == 0
    act = "backup /data/backups --keep 14"
    assert done.read_text().splitlines() == [act, "600", act, "86400", act, "86400"]
