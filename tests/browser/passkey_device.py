"""A device with passkeys, which Chromium plays."""

from typing import Any, Final

from playwright.sync_api import Page

_DEVICE: Final = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


def give_device(page: Page, **changed: Any) -> None:  # noqa: ANN401 - what a device can and cannot
    """One that knows its owner and need not be asked, unless told otherwise."""
    line = page.context.new_cdp_session(page)
    line.send("WebAuthn.enable")
    line.send("WebAuthn.addVirtualAuthenticator", {"options": {**_DEVICE, **changed}})
