"""`python -m tests.description FILE` writes the API's description to a file, for linting."""

import sys
from pathlib import Path

import msgspec

from qirsh.web.openapi.document import document
from qirsh.web.routes import ROUTES

# A name of our own: linters warn of example.com and localhost.
BASE_URL = "https://pay.qirsh.example"

if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(msgspec.json.format(msgspec.json.encode(document(ROUTES, BASE_URL))))
