"""Sweeps: settings that reach the score for the least compute.

space         names, distributions and bounds -> points of a unit cube, and back
gaussian      points and values -> a Gaussian process: mean and deviation anywhere
warping       scores -> what the model sees of them, and back
candidates    a space -> points of its cube that are worth a look
front         costs and scores -> the staircase of the best, and what a trial would add
sampler       finished and running trials -> the next settings to try, and why
sections      [sweep] of inis, options -> what they say
sweep_plan    [sweep] of the inis and the command line -> what is searched, and how
compute       settings, steps -> modelled CPU seconds
storages      a journal, a database or a proxy, and what its errors mean
store         a storage -> trials that any worker can take
stopping      a curve so far, whole runs -> whether the trial is worth its end
trial         settings -> a run in a warm child: score and cost
calibration   an environment, a space -> the weights of that model
sweep_worker  a store -> trials taken, trained and told, one after another
joining       the same as a process, on any machine; serving offers a journal to others
verdict       best and default on unseen seeds -> a sentence
results       trials -> best.ini, the front, tables
page          sweep.html, and the map of several sweeps
board         the live table
sweep         all of it: what `puffer-sdk sweep` runs
"""
