"""A receipt as a record."""

from zoneinfo import ZoneInfo

import msgspec


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """One payment that was made. A text is empty where there is nothing to tell, or nobody may see it."""

    service_name: str
    base_url: str
    payee: str
    payee_account: str = ""
    payer_name: str = ""
    payer_account: str = ""
    amount_minor: int
    currency: str
    note: str = ""
    reference: str = ""
    payment_id: str
    paid_at: int  # Milliseconds since 1970.
    time_zone: ZoneInfo
    refunded_minor: int = 0
    share_url: str = ""
    is_test: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.refunded_minor <= self.amount_minor or self.amount_minor == 0:
            raise ValueError("more went back than was paid")
