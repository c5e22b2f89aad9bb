"""What every executed notebook must be, and a small size of each."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat

from kernaut.plugins import bundled

SMOKE: dict[str, dict[str, Any]] = {
    "bbo_benchmark": {"episodes": 1, "bo_steps": 1},
    "collisions": {"calls": 3, "size": 8},
    "custom_benchmark": {"episodes": 1},
    "discover": {"runs": 1, "episodes": 1, "workers": 1, "seed": 3},
    "enzyme_benchmark": {"episodes": 1},
    "episode_fits": {"family": "levy", "kernels": ["rbf-lengthscale-0.5"]},
    "evaluator_evolution": {"runs": 1, "calls": 6},
    "glucose_benchmark": {"episodes": 1},
    "greenhouse_benchmark": {"episodes": 1},
    "inspect_archive": {},
    "kernel_playground": {"dimension": 1},
    "runs": {"last": 3},
    "sealed_tasks": {"tasks": 1, "seeds": 1, "policies": ["random", "cma_es", "ceiling"], "surrogates": ["rbf"], "workers": 1},
    "tour": {"runs": 1},
    "use_in_botorch": {"steps": 2, "initial": 5, "seed": 3},
}  # fmt: skip
"""Parameters that make each notebook small."""

NAMES = sorted(path.stem for path in bundled("notebooks").glob("*.ipynb"))
IMAGE = re.compile(r"<img\b[^>]*>")
WORDS = re.compile(r'\balt="[^"]{20,}"')
LIVE = "application/vnd.jupyter.widget-view+json"


def outputs_of(path: Path) -> list[Any]:
    """The outputs of all code cells, without errors, complaints and live widgets; every picture has its words."""
    cells = nbformat.read(path, as_version=4).cells
    outputs = [output for cell in cells if cell.cell_type == "code" for output in cell.outputs]
    assert [output for output in outputs if output.output_type == "error" or output.get("name") == "stderr"] == []
    for output in outputs:
        data = output.get("data", {})
        assert LIVE not in data
        if "image/png" in data:
            assert len(output.metadata.get("image/png", {}).get("alt", "")) >= 20, data.get("text/plain")
        for image in IMAGE.findall(data.get("text/html", "")):
            assert WORDS.search(image), image[:200]
    return outputs
