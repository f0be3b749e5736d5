"""A next version of this program, as the rules for migrations allow it: the same source, and one migration more."""

from pathlib import Path
from typing import Final

import qirsh
from qirsh.store.migrate import Migration, migrations

_NUMBER: Final = 9999
_SQL: Final = """
-- A made-up feature: payments with remarks, and guards of them.
CREATE TABLE remark (
    payment BIGINT PRIMARY KEY REFERENCES payment,
    text TEXT NOT NULL CHECK (text <> '')
);
CREATE TRIGGER remark_stays BEFORE UPDATE OR DELETE OR TRUNCATE ON remark
    FOR EACH STATEMENT EXECUTE FUNCTION refused('remarks stay');
ALTER TABLE payment ADD COLUMN remark_kind TEXT,
    ADD CONSTRAINT payment_remark_kind CHECK (remark_kind <> '') NOT VALID;
ALTER TABLE account ADD COLUMN remark_level BIGINT NOT NULL DEFAULT 0;
CREATE INDEX IF NOT EXISTS payment_remark ON payment (remark_kind, number) WHERE remark_kind IS NOT NULL;
CREATE FUNCTION remark_is_of_large_sums() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM added a WHERE a.remark_kind IS NOT NULL AND a.amount < 100
        OR EXISTS (SELECT 1 FROM remark r WHERE r.payment = a.number))
    THEN
        RAISE check_violation USING MESSAGE = 'payment: too small to be remarked, or remarked before it was there';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER payment_remark_is_of_large_sums AFTER INSERT ON payment REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION remark_is_of_large_sums();
"""

NEXT: Final = Migration(_NUMBER, "remarks", _SQL)


def known_next() -> list[Migration]:
    """What the next version knows."""
    return [*migrations("postgres"), NEXT]


def next_version(folder: Path) -> Path:
    """Where its source lies, for PYTHONPATH: links to ours, but for the folder with one file more."""
    ours = Path(qirsh.__file__).parent
    here = ours
    for name in ("store", "migrations", ""):
        made = folder / "qirsh" / here.relative_to(ours)
        made.mkdir()
        for file in here.iterdir():
            if file.name not in {name, "__pycache__"}:
                (made / file.name).symlink_to(file)
        here /= name
    (made / f"{_NUMBER}_{NEXT.name}.postgres.sql").write_text(NEXT.sql)
    return folder
