"""PUF411: choices that change nothing.

    ignored_head    a whole head
    late_effect     a head whose effect comes later than training looks ahead
    ignored_values  values of a head that are one
    ignored_agents  a head of some agents
"""
