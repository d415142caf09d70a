"""What agent.py and guard.py are made of: standard library alone, Python 3.8 and later.

``host`` is the agent's side, one process a host; ``rank`` is the guard's, one a rank; the modules
here are what both speak. Everything is imported before the user's script runs, and taken out of
``sys.modules`` then, so that no module of the user's is hidden by one of these.
"""
