"""What the ranks saw of their training, joined: did they train together?

Every process of a rank makes one *record* of what it trained and what it exchanged
(``rank/exchange``); ``records`` documents and reads it, ``lines`` carries it where no agent does,
``judge`` and ``weights`` say what the records of all ranks mean. Agents use them in the replica,
the launcher loads these same files for jobs whose lines reach it one by one: one judge on both
sides. All of it is pure, and imports nothing but the standard library.
"""
