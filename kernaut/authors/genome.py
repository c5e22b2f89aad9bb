"""A grammar program's structure, its source text, and the way back from the text.

A genome is a contract, an ordered set of blocks and the trusted bases.  The source names each block as a function of its own, so
that the genome of a parent is read from its source alone, and a program edited by hand remains a parent.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from kernaut.authors.blocks import Block
from kernaut.authors.vocabulary import CONSTANTS, HELPERS, KNOWN_BLOCKS
from kernaut.digest import freeze
from kernaut.program.contracts import CONTRACTS
from kernaut.program.parameters import MAX_TUNABLE, ParameterSpec
from kernaut.program.program import KernelProgram

TRANSFORM_BASES: tuple[Mapping[str, Any], ...] = freeze(
    (
        {"kind": "matern32", "lengthscale": 1.0},
        {"kind": "matern52", "lengthscale": 1.0},
        {"kind": "rq", "alpha": 1.0, "lengthscale": 1.0},
        {"kind": "rbf", "lengthscale": 1.0},
    )
)
"""Bases of a transform: block weights act as inverse lengthscales, so the lengthscale is 1."""

RESIDUAL_BASES: tuple[Mapping[str, Any], ...] = tuple(
    freeze({"kind": kind, "lengthscale": lengthscale})
    for kind in ("matern32", "matern52")
    for lengthscale in (0.35, 0.5, 0.8)
)
"""Bases that a residual is added to: they see the inputs themselves."""

COMPOSED = ("input_transform", "residual_input_transform", "feature_map", "residual_feature_map")
GRAMMAR_CONTRACTS = (*COMPOSED, "additive_feature_map", "spectral", "closure")

_POINT = '''
def {entry}(x, parameters):
    """{formula}."""
    return torch.cat(
        (
{calls}
        )
    )
'''

_COORDINATE = '''
def coordinate_feature(value, parameters):
    """{formula}, for one coordinate."""
    x = torch.reshape(value, (1,))
    return torch.cat(
        (
            torch.ones_like(x) * parameters["constant"],
{calls}
        )
    )
'''

_SPECTRAL = '''
def spectral_components(input_dimension, parameters):
    """A bank of oblique waves (heavy-tailed lattice) beside axis-aligned harmonics of one fundamental."""
    steps = torch.arange(1, 65, dtype=torch.float64)
    primes = torch.tensor([2.0, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0, 19.0, 23.0, 29.0, 31.0, 37.0], dtype=torch.float64)
    roots = torch.sqrt(primes[torch.arange(0, input_dimension) % 12]) + torch.arange(0, input_dimension) // 12
    lattice = torch.remainder(steps[:, None] * roots[None, :], 1.0) * 0.998 + 0.001
    tail = torch.rsqrt(torch.remainder(steps * 0.6180339887498949, 1.0) * 0.9 + 0.1)
    oblique = torch.special.ndtri(lattice) * tail[:, None] / (parameters["lengthscale"] * math.sqrt(input_dimension))
    orders = torch.arange(1, 5, dtype=torch.float64)
    axes = torch.eye(input_dimension, dtype=torch.float64)
    harmonics = 2.0 * math.pi * parameters["fundamental"] * orders[:, None, None] * axes[None, :, :]
    heights = parameters["axis_weight"] * torch.exp(-parameters["axis_decay"] * (orders - 1.0))
    frequencies = torch.cat((oblique, torch.reshape(harmonics, (-1, input_dimension))))
    axis_raw = heights[:, None] * torch.ones((1, input_dimension), dtype=torch.float64) * math.sqrt(16.0 / input_dimension)
    raw = torch.cat((parameters["oblique_weight"] * torch.ones_like(steps), torch.reshape(axis_raw, (-1,))))
    return frequencies, raw
'''

_SPECTRAL_SPACE = (
    (ParameterSpec("lengthscale", "float", "log", 0.1, 4.0), 0.5),
    (ParameterSpec("fundamental", "float", "log", 0.25, 4.0), 0.5),
    (ParameterSpec("axis_weight", "float", "log", 0.01, 10.0), 0.7),
    (ParameterSpec("axis_decay", "float", "log", 0.05, 3.0), 0.5),
    (ParameterSpec("oblique_weight", "float", "log", 0.05, 5.0), 1.0),
)
_RESIDUAL_WEIGHT = ParameterSpec("residual_weight", "float", "log", 0.05, 5.0)
_CONSTANT = ParameterSpec("constant", "float", "log", 0.05, 5.0)


@dataclass(frozen=True)
class Genome:
    """Structure of a grammar program.

    Args:
        contract: one of :data:`GRAMMAR_CONTRACTS`.
        blocks: names of blocks in calling order; empty for ``spectral``.
        base: the trusted base node of transforms and residuals, or None.
        inner: ``residual_base_kernel`` of a residual transform, or None.
    """

    contract: str
    blocks: tuple[str, ...]
    base: Mapping[str, Any] | None = None
    inner: Mapping[str, Any] | None = None

    @property
    def parts(self) -> tuple[Block, ...]:
        """The blocks' records."""
        return tuple(KNOWN_BLOCKS[name] for name in self.blocks)

    @property
    def residual(self) -> bool:
        """Whether the component is added to a base."""
        return CONTRACTS[self.contract].residual

    @property
    def growth(self) -> str:
        """Declared feature growth: that of the fastest growing block."""
        if self.contract == "spectral":
            return "linear"
        order = ("constant", "linear", "quadratic")
        return max((block.growth for block in self.parts), key=order.index)

    def space(self) -> tuple[tuple[ParameterSpec, float], ...]:
        """Declared ranges with initial values."""
        if self.contract == "spectral":
            return _SPECTRAL_SPACE
        declared = [(slot.spec(block.short), slot.initial) for block in self.parts for slot in block.slots]
        if self.residual:
            declared.append((_RESIDUAL_WEIGHT, 1.0))
        if self.contract == "additive_feature_map":
            declared.append((_CONSTANT, 1.0))
        return tuple(declared)

    def fits(self) -> bool:
        """Whether it has at least one block, none twice, and no more parameters than can be tuned."""
        if self.contract == "spectral":
            return not self.blocks
        if self.contract == "additive_feature_map" and not all(block.per_coordinate for block in self.parts):
            return False
        if self.contract != "closure" and any(block.leaf for block in self.parts):
            return False
        return 0 < len(self.blocks) == len(set(self.blocks)) and len(self.space()) <= MAX_TUNABLE

    def source(self) -> str:
        """The program's text: imports, one function a block, and the entry point."""
        if self.contract == "spectral":
            return "import math\n\nimport torch\n\n" + _SPECTRAL
        if self.contract == "closure":
            return _closure_source(self)
        pieces = ["import math\n\nimport torch\n"]
        pieces.extend("\n" + block.source for block in self.parts)
        calls = "\n".join(f"            {_call(block)}," for block in self.parts)
        template = _COORDINATE if self.contract == "additive_feature_map" else _POINT
        entry = CONTRACTS[self.contract].entry_point
        pieces.append("\n" + template.format(entry=entry, calls=calls, formula=self.formula()))
        return "".join(pieces)

    def formula(self) -> str:
        """The component's features in words and symbols."""
        return "; ".join(block.formula for block in self.parts)

    def parameters(self, known: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Initial parameter values; those a parent has tuned are inherited where they are within the range."""
        values: dict[str, Any] = {}
        for spec, initial in self.space():
            value = (known or {}).get(spec.name, initial)
            assert spec.lower is not None and spec.upper is not None
            usable = isinstance(value, (int, float)) and spec.lower <= value <= spec.upper
            values[spec.name] = value if usable else initial
        if self.base is not None:
            values["base_kernel"] = dict(self.base)
        if self.inner is not None:
            values["residual_base_kernel"] = dict(self.inner)
        return values

    def with_contract(self, contract: str, base: Mapping[str, Any] | None, inner: Mapping[str, Any] | None) -> Genome:
        """The same blocks under another contract; blocks that the contract cannot hold are dropped."""
        kept = tuple(block.name for block in self.parts if contract != "additive_feature_map" or block.per_coordinate)
        return replace(self, contract=contract, blocks=kept, base=base, inner=inner)


def genome_of(program: KernelProgram) -> Genome | None:
    """Read the genome of a program from its source; None when it is not written in the grammar."""
    if program.contract not in GRAMMAR_CONTRACTS:
        return None
    try:
        names = [node.name for node in ast.parse(program.source).body if isinstance(node, ast.FunctionDef)]
    except SyntaxError:
        return None
    blocks = tuple(name for name in names if name in KNOWN_BLOCKS)
    if program.contract == "closure":
        blocks = tuple(name for name, block in KNOWN_BLOCKS.items() if _declared(block, program))
    genome = Genome(
        program.contract,
        blocks,
        base=_node(program.parameters.get("base_kernel")),
        inner=_node(program.parameters.get("residual_base_kernel")),
    )
    return genome if genome.fits() else None


def _node(value: Any) -> Mapping[str, Any] | None:
    return freeze(value) if isinstance(value, Mapping) else None


def _declared(block: Block, program: KernelProgram) -> bool:
    """Whether a program declares every parameter of a block."""
    names = {spec.name for spec in program.space}
    return bool(block.slots) and all(f"{block.short}_{slot.name}" in names for slot in block.slots)


def _closure_source(genome: Genome) -> str:
    """A closure program: the feature blocks as one nested feature map, and a node for each leaf block.

    It imports torch so that its float parameters arrive as tensors, which gradients flow through.
    """
    features = [block for block in genome.parts if not block.leaf]
    leaves = [block for block in genome.parts if block.leaf]
    pieces, children = [], []
    if features:
        calls = "\n".join(f"            {_call(block)}," for block in features)
        wanted = {name for block in features for name in block.helpers}
        functions = [text for name, text in HELPERS.items() if name in wanted] + [block.source for block in features]
        formula = "; ".join(block.formula for block in features)
        body = "".join("\n" + text for text in functions)
        point = "\n" + _POINT.format(entry="feature_point", calls=calls, formula=formula)
        pieces.append(_constant("FEATURES", f"import math\n\nimport torch\n{body}{point}"))
        names = [f"{block.short}_{slot.name}" for block in features for slot in block.slots]
        given = ", ".join(f'"{name}": parameters["{name}"]' for name in names)
        children.append(
            '{"op": "program", "candidate": {"name": "features", "contract": "feature_map", "source": FEATURES, '
            f'"parameters": {{{given}}}}}}}'
        )
    nested = {block.short.upper(): block.source for block in leaves if block.source}
    nested |= {name: text for name, text in CONSTANTS.items() if any(name in block.leaf for block in leaves)}
    for name, text in nested.items():
        pieces.append(_constant(name, f"import math\n\nimport torch\n\n{text}"))
    for block in leaves:
        node = block.leaf
        for slot in block.slots:
            node = node.replace(f"{{{slot.name}}}", f'parameters["{block.short}_{slot.name}"]')
        children.append(node)
    listed = "".join(f"\n            {child}," for child in children)
    tree = (
        f'{{\n        "op": "sum",\n        "children": [{listed}\n        ],\n    }}'
        if len(children) > 1
        else children[0]
    )
    docstring = f'    """{genome.formula()}."""\n'
    return "import torch\n\n" + "\n".join(pieces) + f"\n\ndef closure_tree(parameters):\n{docstring}    return {tree}\n"


def _constant(name: str, text: str) -> str:
    return f"{name} = '''{text}'''\n"


def _call(block: Block) -> str:
    arguments = "".join(f', parameters["{block.short}_{slot.name}"]' for slot in block.slots)
    return f"{block.name}(x{arguments})"
