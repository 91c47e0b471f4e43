"""PUF411: a head that changes nothing."""
from ....core.vocabulary import Facts, Findings, detector
from .action_ignored import finding, tried


@detector("PUF411", "head")
def head(facts: Facts) -> Findings:
    """Whatever is chosen for a head changes nothing."""
    for one in tried(facts):
        if not one.moved and not one.moved_late:
            yield finding(facts, f"{one.name} changes nothing",
                          element=one.fact.head,
                          expected="another observation, reward or terminal",
                          actual=f"none, at {one.tested} moments",
                          hint="does c_step read it? at the right index?")
