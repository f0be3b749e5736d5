"""A Containerfile as its stages and steps, and what the image says of how it is run."""

import json
import re
import string
import sys
from pathlib import Path
from typing import Final, NamedTuple

REPOSITORY: Final = Path(__file__).parents[2]
TOOLS: Final = Path(sys.executable).parent  # Where PyPI's programs are.
CONTAINERFILE: Final = REPOSITORY / "deploy" / "Containerfile"


class Step(NamedTuple):
    """One instruction."""

    word: str
    text: str


class Stage(NamedTuple):
    """What one FROM begins."""

    name: str
    base: str
    steps: list[Step]


class Start(NamedTuple):
    """How an engine starts the image."""

    environment: dict[str, str]
    user: str
    folder: str
    volumes: list[str]
    entrypoint: list[str]
    command: list[str]
    healthcheck: list[str]


def read_stages(file: Path = CONTAINERFILE) -> list[Stage]:
    """With the base that the file itself names."""
    arguments: dict[str, str] = {}
    stages: list[Stage] = []
    for step in _steps(file.read_text()):
        if step.word == "ARG" and not stages:
            name, _, value = step.text.partition("=")
            arguments[name] = value
        elif step.word == "FROM":
            base, _, name = step.text.partition(" AS ")
            stages.append(Stage(name, string.Template(base).substitute(arguments), []))
        else:
            stages[-1].steps.append(step)
    return stages


def read_start(stage: Stage, path: str) -> Start:
    """Of the last stage, over a base with this PATH."""
    told = dict(stage.steps)
    checked = re.fullmatch(r"(?:--\S+ )*CMD (.*)", told["HEALTHCHECK"])
    assert checked, told["HEALTHCHECK"]
    return Start(
        environment=read_environment(told["ENV"], {"PATH": path}),
        user=told["USER"],
        folder=told["WORKDIR"],
        volumes=[step.text for step in stage.steps if step.word == "VOLUME"],
        entrypoint=json.loads(told["ENTRYPOINT"]),
        command=json.loads(told["CMD"]),
        healthcheck=json.loads(checked[1]),
    )


def read_environment(text: str, before: dict[str, str]) -> dict[str, str]:
    """What is set after an ENV."""
    pairs = (pair.partition("=") for pair in text.split())
    return before | {name: string.Template(value).substitute(before) for name, _, value in pairs}


def _steps(text: str) -> list[Step]:
    lines = "\n".join(line for line in text.splitlines() if line and not line.startswith("#"))
    found = (line.partition(" ") for line in lines.replace("\\\n", "").splitlines())
    return [Step(word, " ".join(rest.split())) for word, _, rest in found]
