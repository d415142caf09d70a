"""The words of the house: problems, states, definitions, containers. Imports nothing of ours."""
