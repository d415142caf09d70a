"""Which Keras a script needs and gets: read from its source, decided once for plan and rank.

The guard uses these modules in the rank, the launcher loads the same files for the plan.
"""
