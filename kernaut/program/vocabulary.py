"""Names that a kernel program may use; everything that is not here is refused.

One set serves every attribute, whatever stands before the dot, since a parsed source does not tell what that is.  No entry may be a module other than those of
``SUBMODULES``, an in-place or ``out`` operation, a source of randomness or of uninitialized memory, a hook, or a way to files, processes or interpreter state.
"""

from __future__ import annotations

MODULES = ("math", "numpy", "torch")
SUBMODULES = frozenset({"linalg", "special", "fft", "nn", "functional", "polynomial"})

BUILTINS = frozenset(
    [
        "abs",
        "all",
        "any",
        "bool",
        "dict",
        "divmod",
        "enumerate",
        "filter",
        "float",
        "frozenset",
        "int",
        "len",
        "list",
        "map",
        "max",
        "min",
        "pow",
        "range",
        "reversed",
        "round",
        "set",
        "sorted",
        "str",
        "sum",
        "tuple",
        "zip",
        "isinstance",
        "True",
        "False",
        "None",
        "ValueError",
        "TypeError",
        "ArithmeticError",
        "ZeroDivisionError",
        "OverflowError",
        "IndexError",
        "KeyError",
        "AssertionError",
        "RuntimeError",
    ]
)

_MATH = """
    acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees dist e erf erfc exp exp2 expm1 fabs factorial floor
    fmod fsum gamma gcd hypot inf isclose isfinite isinf isnan isqrt lcm ldexp lgamma log log10 log1p log2 modf perm pi pow prod
    radians remainder sin sinh sqrt tan tanh tau trunc
"""
_CREATE = """
    arange array asarray as_tensor tensor eye full full_like identity linspace logspace geomspace meshgrid ones ones_like zeros
    zeros_like new_full new_ones new_tensor new_zeros diag diagflat diag_embed tril triu tril_indices triu_indices vander tri
    from_numpy indices cartesian_prod combinations block_diag complex polar
"""
_SHAPE = """
    T mT H mH shape ndim dim size numel dtype device astype to double float long int bool reshape view ravel flatten unflatten squeeze
    unsqueeze expand expand_as expand_dims broadcast_to broadcast_tensors broadcast_shapes permute transpose swapaxes swapdims moveaxis
    movedim cat concat concatenate stack vstack hstack dstack column_stack split chunk tensor_split array_split unbind tile repeat
    repeat_interleave roll flip fliplr flipud rot90 take take_along_dim take_along_axis gather index_select select narrow scatter
    scatter_add index_add where nonzero clone copy contiguous pad unfold atleast_1d atleast_2d append extend newaxis real imag
    view_as_real view_as_complex item tolist squeeze_ndim searchsorted bucketize diagonal
"""
_ARITHMETIC = """
    add subtract sub multiply mul divide div true_divide floor_divide power float_power negative neg positive absolute abs sign square
    rsqrt reciprocal remainder mod fmod clip clamp clamp_min clamp_max maximum minimum fmax fmin max min amax amin aminmax sum nansum prod
    nanprod mean nanmean median std var cumsum cumprod cummax cummin logcumsumexp diff trapezoid trapz ptp all any argmax argmin argsort
    sort topk unique count_nonzero dot vdot inner outer matmul mm mv bmm addmm tensordot einsum kron cross cdist norm trace
    lerp addcmul addcdiv nan_to_num isclose allclose equal eq ne lt le gt ge less less_equal greater greater_equal not_equal logical_and
    logical_or logical_not logical_xor signbit heaviside rint round ceil floor trunc fix frac histc interp convolve correlate polyval
    average quantile percentile corrcoef cov
"""
_FUNCTIONS = """
    arccos arccosh arcsin arcsinh arctan arctan2 arctanh deg2rad rad2deg sinc exp log expm1 log1p logaddexp logaddexp2 logsumexp logit
    sigmoid expit softmax log_softmax softplus softsign relu relu6 elu gelu silu selu celu leaky_relu hardtanh hardsigmoid hardswish mish
    logsigmoid tanhshrink softshrink hardshrink threshold normalize cosine_similarity pairwise_distance one_hot
    erfinv erfcx ndtr ndtri log_ndtr digamma polygamma gammaln multigammaln gammainc gammaincc i0 i0e i1 i1e bessel_j0 bessel_j1 bessel_y0
    bessel_y1 modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 modified_bessel_k1 scaled_modified_bessel_k0
    scaled_modified_bessel_k1 spherical_bessel_j0 entr xlogy xlog1py zeta airy_ai
    chebyshev_polynomial_t chebyshev_polynomial_u hermite_polynomial_h hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p
    chebyshev legendre hermite hermite_e laguerre chebval legval hermval hermeval lagval chebvander legvander hermvander hermevander lagvander
    polyvander
    cholesky solve solve_triangular inv pinv det slogdet eigh eigvalsh svd svdvals qr lstsq matrix_exp matrix_power matrix_rank vector_norm
    matrix_norm multi_dot householder_product
    fft ifft rfft irfft fft2 ifft2 fftn ifftn dct fftfreq rfftfreq fftshift ifftshift
"""
_TYPES = """
    float64 float32 int64 int32 int8 uint8 bool_ complex128 complex64 pi e inf Tensor
"""
_CONTAINERS = """
    get items keys values index count
"""

ATTRIBUTES = SUBMODULES | frozenset(
    " ".join((_MATH, _CREATE, _SHAPE, _ARITHMETIC, _FUNCTIONS, _TYPES, _CONTAINERS)).split()
)
ANNOTATION_ATTRIBUTES = frozenset({"Tensor", "ndarray", "float64", "int64"})

KEYWORDS_REFUSED = {
    "out": "assign the result to a name instead",
    "generator": "programs are deterministic",
    "file": "programs write no files",
    "requires_grad": "gradients are the interpreter's business",
}

HINTS = {
    "empty": "write zeros_like(x) and fill it by expressions",
    "empty_like": "write zeros_like(x)",
    "new_empty": "write x.new_zeros(...)",
    "ndarray": "write zeros(...)",
    "rand": "programs are deterministic: write constants, or a formula such as a lattice",
    "randn": "programs are deterministic: write constants, or a formula such as a lattice",
    "random": "programs are deterministic: write constants, or a formula such as a lattice",
    "manual_seed": "programs are deterministic and draw nothing",
    "seed": "programs are deterministic and draw nothing",
    "format": "write an f-string",
    "detach": "leave it out: the parameters are tuned by gradient",
    "data": "use the tensor itself",
    "numpy": "stay in torch throughout",
    "vmap": "write for one point; the interpreter vectorizes",
    "set_default_dtype": "everything is float64 already",
    "set_num_threads": "leave it out",
    "print": "leave it out",
    "open": "programs read and write no files",
    "eval": "write the expression itself",
    "exec": "write the statements themselves",
    "getattr": "write the attribute itself",
    "type": "compare shapes instead",
    "no_grad": "leave it out: the parameters are tuned by gradient",
}
