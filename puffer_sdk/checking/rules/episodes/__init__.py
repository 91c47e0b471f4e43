"""How one episode ends and the next begins.

    episodes    PUF401-404, 406: endings and resets (audit.c), what an old env keeps (fresh.c)
    at_once     PUF408: episodes of one step (openings: play/forks.c)
    agents      PUF407: as many agents as rows
    finals      PUF323: the observation of a truncated episode (final_observations.c)
"""
