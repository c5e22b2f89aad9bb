from __future__ import annotations

import subprocess
import sys

SAID = "import sys, kernaut.report.vega; print([name for name in ('lark', 'rfc3987_syntax') if name in sys.modules])"


def test_no_grammar_is_built_for_charts_and_none_is_kept_from_others() -> None:
    found = subprocess.run([sys.executable, "-c", SAID], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
