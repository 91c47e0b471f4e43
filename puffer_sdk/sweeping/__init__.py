"""Sweeps: settings that reach the score for the least compute.

space       names, distributions and bounds -> points of a unit cube, and back
gaussian    points and values -> a Gaussian process: mean and deviation anywhere
sampler     finished and running trials -> the next settings to try, and why
"""
