"""PUF410: agents that are declared to be alike, and are not.

    rewards     what an agent is paid depends on its row
    views       what an element of the observation holds depends on the row
    prizes      the loser pays at some endings, and at others, that are won alike, does not
    ties        where two see the same and act alike, the same one gains
    same_view   two agents are shown one and the same view
"""
