"""PUF409: one agent's data in another agent's row.

    actions     an agent's choice shows in another agent's row, and not in its own
    rewards     it is another agent that is paid for a choice
    views       an agent is shown what another one does
    terminals   an agent's terminal stands where another agent's episode goes on
    nobody      a choice is paid to a row without an agent
"""
