"""PUF413: bytes of one agent's mask that tell when another of its actions acts."""
from ....core.vocabulary import Facts, Findings, detector
from .mask_mismatch import of_agents
from .misplaced import misplaced_of


@detector("PUF413", "of-another-action", unless=("misplaced", "one-legal", "upside-down"))
def of_another_action(facts: Facts) -> Findings:
    """A byte of one agent's mask says when another action of that agent acts, such as where its
    actions are mirrored and its mask is not."""
    for agent, found in of_agents(facts).items():
        actions = {one.action: one for mine in found for one in mine}
        told = [one for mine in found for one in misplaced_of(facts, mine, actions, agent)]
        if told:
            yield from told
            return
