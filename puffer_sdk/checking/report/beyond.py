"""What an environment does beyond its game, in words.  parts of a check's document -> sentences"""
from collections.abc import Iterable, Mapping, Sequence

from ...base import ui

CODE = "PUF115"             # acts-outside
MOST = 3                    # of what it asked the machine for


def count(*found: Iterable[Mapping[str, object]] | None, more: Mapping[str, int] | None) -> int:
    """Places of PUF115. found: findings, and those that the author allows; more: {code: how many
    others there were}."""
    return sum(one["code"] == CODE for some in found for one in some or ()) + int(
        (more or {}).get(CODE, 0))


def answer(asked: Mapping[str, object]) -> str:
    """'connect 10.0.0.1:80: Network is unreachable'"""
    return f"{asked['call']} {asked['what']}: {asked['denied'] or 'done'}"


def says(places: int, asked: Sequence[str]) -> str:
    """'acts outside its game (PUF115, 2 places) and asked for ...'. asked: answers"""
    code = f"{CODE}, {ui.plural(places, 'place')}" if places else CODE
    return f"acts outside its game ({code})" + (
        f" and asked for {', '.join(ui.first(asked, MOST))}" if asked else "")
