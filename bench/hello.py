"""The yardstick: an ASGI application that does nothing, on uvicorn with the options of `qirsh.service.serve`."""

import sys
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

import uvicorn
import uvloop
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

Message = MutableMapping[str, Any]

_BODY: Final = b'{"hello":"world"}'
_START: Final = {
    "type": "http.response.start",
    "status": 200,
    "headers": [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(_BODY))],
}
_END: Final = {"type": "http.response.body", "body": _BODY}


async def hello(_scope: Message, _receive: object, send: Callable[[Message], Awaitable[None]]) -> None:
    """The least an answer can be."""
    await send(_START)
    await send(_END)


def main(port: int) -> None:
    """Answer until a signal says stop."""
    config = uvicorn.Config(
        hello,
        host="127.0.0.1",
        port=port,
        http=HttpToolsProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=2048,
        timeout_keep_alive=75,
    )
    uvloop.run(uvicorn.Server(config).serve())


if __name__ == "__main__":
    main(int(sys.argv[1]))
