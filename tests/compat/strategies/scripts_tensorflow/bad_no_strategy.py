"""TF_CONFIG is read for the number of workers, and no strategy made."""

import json
import os

import toy

workers = json.loads(os.environ["TF_CONFIG"])["cluster"]["worker"]
print(f"one of {len(workers)} workers")
toy.train(toy.model())
