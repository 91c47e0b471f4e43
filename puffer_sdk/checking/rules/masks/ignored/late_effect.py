"""PUF411: a head whose effect comes later than training looks ahead."""
from ....core.vocabulary import Facts, Findings, detector, present
from .action_ignored import AHEAD, finding, tried


@detector("PUF411", "late")
def late(facts: Facts) -> Findings:
    """What a head changes comes later than a segment of the trainer reaches."""
    horizon = present(facts.config).train.horizon
    for one in tried(facts):
        if not one.moved and one.moved_late and horizon <= AHEAD:
            yield finding(facts, f"what {one.name} changes shows only after more than {AHEAD} "
                                 "steps", element=one.fact.head,
                          expected="an effect within [train] horizon, or a longer horizon",
                          actual=f"a horizon of {horizon}",
                          hint=f"train with a horizon of at least {2 * AHEAD}: what comes later "
                               "than the horizon is learned slowly")
