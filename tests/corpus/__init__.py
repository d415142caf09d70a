"""Documents that other tools or people made, each with the verdict that is true of it.

``GROUP/NAME.json`` or ``.yaml`` is a document, ``GROUP/verdicts.json`` says for each of the folder

* ``world_size``: what the service's own code starts, null where nothing can tell; a list where the
  file holds several jobs
* ``errors``, ``warnings``: the ids of the rules that it breaks, each once
* ``why``: one sentence; ``origin``: where this form of document comes from
* ``arguments``: what follows ``launch check FILE``, run in the document's folder (may be left out)
* ``because``: words that the reason for the world size has (may be left out)
"""
