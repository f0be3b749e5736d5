"""Names of businesses: none looks like a badge of ours, and those that look alike are found."""

# Letters that only look alike are what this is about.
# ruff: noqa: RUF001

from hypothesis import given
from hypothesis import strategies as st

from qirsh.language.business_name import is_plain_name, look_alike, resembles_service, skeleton
from tests.each import each


@each(
    "name",
    [
        *("Souq Al-Nour", "سوق النور", "Yılmaz Kitabevi", "<Bakery> & Söhne", "Café №1 (Damascus)", "A+B GmbH®"),
        *("L’Olivier", "می\u200cخواهم", "Hôtel d'Alep, S.A.R.L.", "日本堂"),
    ],
)
def test_usual_names_are_plain(name: str) -> None:
    assert is_plain_name(name)


@each(
    "name",
    [
        *("✓ Verified business", "Shop ✔", "☑ Shop", "✅Shop", "Shop √", "⭐ Shop", "Shop 🔒", "Sh\u200dop"),
        *("S\u200bhop", "Shop\u2060", "Sh\ufeffop", "Shop\u202e", "سوق\u200d", "\u200dسوق", "a\u20dd", "Shop\x00"),
    ],
)
def test_badges_and_hidden_letters_are_not(name: str) -> None:
    assert not is_plain_name(name)


@each(
    ("one", "other"),
    [
        ("Olive Corner", "OLIVE CORNER"),
        ("Olive Corner", "Оlіvе Соrnеr"),  # Five of them Cyrillic.
        ("Olive Corner", "Οlive Cοrner"),  # Two of them Greek.
        ("Olive Corner", "0live-C0rner."),
        ("Olive Corner", "OIive Corner"),
        ("Olive Corner", "Olive\u200b Corner"),
        ("Olive Corner", "Ôlivé Cörner"),
        ("Olive Corner", "Ｏｌｉｖｅ Ｃｏｒｎｅｒ"),
        ("Souq 15", "Souq ١٥"),
        ("زاوية الزيتون", "زاويه الزيتـون"),
        ("أسواق", "اسواق"),
        ("Yılmaz", "Yilmaz"),
    ],
)
def test_names_that_look_alike_are_found(one: str, other: str) -> None:
    assert look_alike(one, other)


@each(("one", "other"), [("Olive Corner", "Olive Garden"), ("سوق النور", "سوق النهر"), ("+", "-")])
def test_others_are_not(one: str, other: str) -> None:
    assert not look_alike(one, other)


@each("name", ["Qirsh", "QIRSH Support", "Qіrѕh", "q-i-r-s-h", "Qirsh Verified", "خدمة قرش"])
def test_names_of_the_service_are_found(name: str) -> None:
    assert resembles_service(name)


def test_other_names_do_not_resemble_the_service() -> None:
    assert not resembles_service("Olive Corner")


@given(st.text(max_size=50))
def test_any_text_has_a_skeleton_that_stays(name: str) -> None:
    assert skeleton(skeleton(name)) == skeleton(name)
    is_plain_name(name)
