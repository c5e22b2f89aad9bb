import json
import sys

import numpy as np

from kernaut import __version__
from kernaut.runs.environment import environment_versions


def test_versions_are_json_in_stable_order() -> None:
    found = environment_versions()
    assert json.loads(json.dumps(found)) == found == environment_versions()
    assert found["packages"]["numpy"] == np.__version__
    assert found["kernaut"] == __version__
    assert found["python"] == ".".join(map(str, sys.version_info[:3]))
    names = [name.lower() for name in found["packages"]]
    assert names == sorted(names)
