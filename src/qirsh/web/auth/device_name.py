"""Which browser on which device a session is of, in the few words by which its owner tells it from others."""

from typing import Final

# The first that is found: most browsers also say that they are some of the others.
_BROWSERS: Final = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
_SYSTEMS: Final = (
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Windows", "Windows"),
    ("Macintosh", "Mac"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
)


def browser_and_system(agent: str) -> tuple[str, str]:
    """Their names; empty where the browser does not say, or is none."""
    return _named(agent, _BROWSERS), _named(agent, _SYSTEMS)


def _named(agent: str, names: tuple[tuple[str, str], ...]) -> str:
    return next((name for mark, name in names if mark in agent), "")
