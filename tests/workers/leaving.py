"""The moment at which a process that was told to end begins to leave its roles, seen from outside."""

from pathlib import Path


def noting(folder: Path) -> str:
    """Code to run before the program: each process then leaves a file there once it serves nobody any more."""
    folder.mkdir()
    return f"""
import os
import pathlib
import qirsh.service

async def serve(server, *arguments, __serve=qirsh.service.StoppingServer.serve, **named):
    try:
        await __serve(server, *arguments, **named)
    finally:
        pathlib.Path({str(folder)!r}, str(os.getpid())).touch()

qirsh.service.StoppingServer.serve = serve
"""


def have_begun(folder: Path, processes: int = 1) -> bool:
    """So many of them."""
    return len(list(folder.iterdir())) == processes
