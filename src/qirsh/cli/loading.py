"""Modules that take time to load, loaded when they are needed and not before."""

import gc
import importlib
import signal
from types import ModuleType


def loaded(name: str) -> ModuleType:
    """The module. Ctrl-C meanwhile ends the program in silence: nothing has begun that there were to tell of."""
    interrupt = signal.getsignal(signal.SIGINT)
    if interrupt is not signal.default_int_handler:  # Whoever ignores it, as of jobs in the background, has a reason.
        return _imported(name)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        return _imported(name)
    finally:
        signal.signal(signal.SIGINT, interrupt)


def _imported(name: str) -> ModuleType:
    """Modules stay: to look for garbage among them, now and later, takes a tenth of the time that they take."""
    gc.disable()
    try:
        return importlib.import_module(name)
    finally:
        gc.freeze()
        gc.enable()
