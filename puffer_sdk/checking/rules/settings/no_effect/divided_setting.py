"""PUF113: settings that an integer division loses."""
from ....collect.c.source import fractions
from ....core.vocabulary import Facts, Finding, Findings, detector


@detector("PUF113", "divided-setting")
def divided_setting(facts: Facts) -> Findings:
    """The value in the ini is divided as an integer, and becomes 0."""
    values = facts.config.env if facts.config else {}
    for key, divisor, file, line, text in fractions.divided(facts.source):
        value = float(values.get(key, 0))
        if 0 < value < divisor:
            yield Finding("PUF113", f"[env] {key} = {value:g} counts as 0: it is divided as an "
                                    "integer", file=file, line=line,
                          expected=f"{value / divisor:g}", actual=f"{text}, which is 0",
                          hint=f"divide floats: (float)env->{key} / {divisor}")
