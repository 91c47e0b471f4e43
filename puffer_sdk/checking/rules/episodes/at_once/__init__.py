"""PUF408: episodes that are over after one step.

    one_step        all of them, where it is not certain that the author means it
    lost_openings   those of some openings, whatever is done
"""
