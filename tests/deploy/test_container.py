"""The Containerfile as it stands: what can be said of it without building it."""

import fnmatch
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from qirsh.cli.main import qirsh
from tests.deploy.containerfile import CONTAINERFILE, REPOSITORY, TOOLS, read_stages, read_start

ENTRYPOINT = REPOSITORY / "deploy" / "container" / "entrypoint.sh"
PATH = "/usr/bin:/bin"


def test_hadolint_has_nothing_to_say() -> None:
    told = subprocess.run([TOOLS / "hadolint", CONTAINERFILE], capture_output=True, text=True, check=False)
    assert (told.returncode, told.stdout) == (0, "")


def test_every_stage_is_of_a_base_that_is_named_by_its_digest() -> None:
    bases = {stage.base for stage in read_stages()}
    assert len(bases) == 1
    assert re.fullmatch(r"docker\.io/library/python:3\.1[1-4][\w.-]+@sha256:[0-9a-f]{64}", bases.pop())


def test_everything_is_installed_by_its_hash_and_nothing_is_built_but_our_own_wheel() -> None:
    lines = [line for step in read_stages()[0].steps for line in step.text.split("&&") if " install " in line]
    ours = [line for line in lines if "pip" in line]
    assert len(ours) == 3
    for line in ours:
        assert "--require-hashes --only-binary=:all: -r requirements" in line or "--no-deps --no-index dist/" in line


def test_the_image_serves_by_itself_as_a_user_without_a_name_and_asks_for_its_own_health() -> None:
    start = read_start(read_stages()[-1], PATH)
    assert (start.entrypoint, start.command) == (["entrypoint"], ["serve"])
    assert start.user == "10001:10001"  # A number: Kubernetes cannot tell whether a name is root.
    assert start.volumes == ["/data"]
    assert {start.environment[name] for name in ("HOME", "TMPDIR", "QIRSH_DATA_DIR")} == {start.folder} == {"/data"}
    program, command = start.healthcheck
    assert program == "qirsh"
    assert command in qirsh.list_commands(click.Context(qirsh))


def test_all_that_is_copied_reaches_the_build_and_nothing_of_a_checkout_does_otherwise() -> None:
    rules = [line for line in (REPOSITORY / ".dockerignore").read_text().splitlines() if not line.startswith("#")]
    assert rules[0] == "*"
    let_in = [rule.removeprefix("!") for rule in rules if rule.startswith("!")]
    copied = {
        name
        for stage in read_stages()
        for word, text in stage.steps
        if word == "COPY" and "--from=" not in text
        for name in text.split()[:-1]
    }
    for name in copied:
        assert (REPOSITORY / name).exists(), name
        assert any(fnmatch.fnmatch(name, rule) for rule in let_in), name
    for rule in let_in:
        assert any(fnmatch.fnmatch(name, rule) for name in copied), rule


@pytest.mark.parametrize(
    ("words", "variables", "run"),
    [
        (["serve"], {}, "serve; base "),
        (["demo"], {}, "demo --force; base http://localhost:8420"),
        (["demo", "--port", "9000"], {"QIRSH_PORT": "1"}, "demo --force --port 9000; base http://localhost:1"),
        (["demo"], {"QIRSH_BASE_URL": "https://demo.example"}, "demo --force; base https://demo.example"),
        (["demo"], {"QIRSH_BASE_URL_FILE": "/run/x"}, "demo --force; base "),
        (["backup", "a b"], {}, "backup a b; base "),
    ],
)
def test_the_entrypoint_lets_the_demo_be_published_and_changes_nothing_else(
    tmp_path: Path, words: list[str], variables: dict[str, str], run: str
) -> None:
    program = tmp_path / "qirsh"
    program.write_text('#!/bin/sh\necho "$*; base ${QIRSH_BASE_URL-}"\n')
    program.chmod(0o755)
    told = subprocess.run(
        [ENTRYPOINT, *words],
        env={"PATH": f"{tmp_path}:{PATH}"} | variables,
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.strip() == run.strip()


@pytest.mark.slow
@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_lock_has_a_wheel_of_everything_for_both_machines(tmp_path: Path, machine: str) -> None:
    found = re.search(r"python:3\.(\d+)", read_stages()[0].base)
    assert found
    # Debian 12 has glibc 2.36, and takes what was built for any before it.
    platforms = [f"manylinux_2_{minor}_{machine}" for minor in range(17, 37)] + [f"manylinux2014_{machine}"]
    told = subprocess.run(
        [
            *(sys.executable, "-m", "pip", "download", "-qq", "--require-hashes", "--only-binary=:all:"),
            *(word for platform in platforms for word in ("--platform", platform)),
            *(word for abi in (f"cp3{found[1]}", "abi3", "none") for word in ("--abi", abi)),
            *("--python-version", f"3.{found[1]}", "--implementation", "cp", "-d", str(tmp_path)),
            *("-r", str(REPOSITORY / "requirements.txt")),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    built = [file.name for file in tmp_path.iterdir() if not file.name.endswith("-any.whl")]
    assert built
    assert all(f"_{machine}.whl" in name for name in built)
