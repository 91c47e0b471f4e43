"""Shared by all packages: errors, printing, paths, random numbers, files, the Spec.

    errors      every error a user can meet, with its exit status
    ui          the only printer
    paths       where things are: package data, caches, environments, runs
    files       files that are written whole or not at all
    spec        what is known of an environment from reading its source
    philox      random numbers by counter
"""
