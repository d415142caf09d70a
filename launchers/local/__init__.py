"""This machine as a provider: ranks as processes, through the agent and guard of the clouds."""
