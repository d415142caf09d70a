"""Where a training stands, by what it prints: our scripts' lines, and the common bars.

``line.parse`` reads one line, ``state.TrainingProgress`` keeps what is newest of a whole job and
how much time is left. Each form stands in the module that reads it. Nothing is imported here: a
job's lines are looked at by ``hint`` first.
"""
