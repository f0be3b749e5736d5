"""Calls of API keys, as a process tells of them."""

from qirsh.domain.request_log import LoggedRequest


def logged(request_id: str, **changes: object) -> LoggedRequest:
    """One that went well, but for what is said otherwise."""
    fields: dict[str, object] = {
        "id": request_id,
        "at": 1_800_000_000_000,
        "key": "key_1",
        "account": 1,
        "method": "GET",
        "path": "/api/v1/me",
        "status": 200,
        "code": "",
        "payment": None,
        "took_ms": 1,
        "address": "192.0.2.1",
        "skipped": 0,
    }
    return LoggedRequest(**{**fields, **changes})  # type: ignore[arg-type]  # As the test says.
