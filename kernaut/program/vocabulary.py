"""The names a kernel program may use: attributes whatever their base, builtins, modules; and what to write instead of others.

A name is listed because it computes from its arguments alone: no files, no randomness, no uninitialized memory, no settings, no way to
modules, code or frames.  What is not listed is refused.  The submodules stand in :data:`MODULES`.
"""

from __future__ import annotations

_BUILTINS = """
abs all any bool complex dict divmod enumerate filter float frozenset int isinstance iter len list map max min next pow range repr
reversed round set slice sorted str sum tuple zip
ArithmeticError AssertionError Exception IndexError KeyError NotImplementedError OverflowError RuntimeError TypeError ValueError
ZeroDivisionError
"""
BUILTINS = frozenset(_BUILTINS.split())
"""Builtin names a program may load; the sandbox's child offers the same."""

_MODULES = """
math numpy numpy.linalg numpy.fft numpy.polynomial numpy.polynomial.polynomial numpy.polynomial.chebyshev
numpy.polynomial.legendre numpy.polynomial.hermite numpy.polynomial.hermite_e numpy.polynomial.laguerre
torch torch.linalg torch.special torch.fft torch.nn torch.nn.functional
"""
MODULES = frozenset(_MODULES.split())
"""Modules a program may import."""

_SUBMODULES = "linalg special fft polynomial chebyshev legendre hermite hermite_e laguerre nn functional"

_NUMBERS = """
pi e tau inf nan euler_gamma newaxis finfo iinfo eps tiny smallest_normal dtype device
float64 float32 double float int64 int32 long int bool bool_ float_ floating integer number complex128 complex64 uint8 int8
"""

_PYTHON = """
append extend insert pop remove index count sort reverse copy items keys values get setdefault update add discard union intersection
difference join split strip lower upper startswith endswith replace is_integer real imag conjugate bit_length
"""

_MATH = """
acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees dist erf erfc exp exp2 expm1 fabs factorial floor fmod
frexp fsum gamma gcd hypot isclose isfinite isinf isnan isqrt lcm ldexp lgamma log log10 log1p log2 modf nextafter perm pow prod
radians remainder sin sinh sqrt tan tanh trunc ulp
"""

_ELEMENTWISE = """
abs absolute arccos arccosh arcsin arcsinh arctan arctan2 arctanh add subtract sub multiply mul divide div true_divide floor_divide
power float_power square rsqrt reciprocal negative neg positive sign signbit sgn sinc deg2rad rad2deg around round rint fix frac mod
logaddexp logaddexp2 logit sigmoid log_sigmoid logsigmoid softplus softmax log_softmax softmin softsign relu relu6 elu celu selu
gelu silu mish hardtanh hardsigmoid hardswish leaky_relu tanhshrink softshrink hardshrink threshold clip clamp clamp_min clamp_max
maximum minimum fmax fmin max min heaviside where lerp erfinv erfcx ndtr ndtri log_ndtr digamma polygamma psi gammaln
gammainc gammaincc multigammaln mvlgamma i0 i0e i1 i1e bessel_j0 bessel_j1 bessel_y0 bessel_y1 modified_bessel_i0 modified_bessel_i1
modified_bessel_k0 modified_bessel_k1 scaled_modified_bessel_k0 scaled_modified_bessel_k1 spherical_bessel_j0 zeta xlogy xlog1py entr
airy_ai chebyshev_polynomial_t chebyshev_polynomial_u hermite_polynomial_h hermite_polynomial_he laguerre_polynomial_l
legendre_polynomial_p expit addcmul addcdiv nan_to_num interp
equal not_equal greater greater_equal less less_equal eq ne gt ge lt le logical_and logical_or logical_not logical_xor isposinf isneginf
isreal allclose array_equal bitwise_and bitwise_or bitwise_xor bitwise_not left_shift right_shift masked_fill
add_ sub_ mul_ div_ neg_ exp_ log_ sqrt_ sin_ cos_ abs_ clamp_ clamp_min_ clamp_max_ pow_ square_ reciprocal_ tanh_ sigmoid_ relu_ fill_
zero_ floor_ round_ masked_fill_ copy_
"""

_REDUCTIONS = """
sum mean average median std var amax amin aminmax argmax argmin argsort msort topk kthvalue all any cumsum cumprod cummax
cummin logcumsumexp logsumexp nansum nanmean nanmax nanmin nanprod nanmedian ptp percentile quantile norm vector_norm matrix_norm
count_nonzero diff gradient trapezoid trapz cov corrcoef cross dot vdot inner outer matmul mm mv bmm addmm addmv einsum tensordot kron
cdist pdist pairwise_distance cosine_similarity std_mean var_mean mse_loss normalize linear reduce accumulate ediff1d histc
"""

_SHAPES = """
shape ndim size dim numel T mT H mH reshape view view_as view_as_real view_as_complex reshape_as ravel flatten unflatten transpose
permute swapaxes swapdims moveaxis movedim squeeze unsqueeze expand expand_as broadcast_to broadcast_arrays broadcast_tensors
expand_dims atleast_1d atleast_2d atleast_3d concatenate concat cat stack hstack vstack dstack column_stack row_stack
array_split hsplit vsplit tensor_split chunk unbind tile repeat repeat_interleave roll rot90 flip fliplr flipud pad unfold narrow
select take take_along_axis take_along_dim gather index_select masked_select scatter scatter_add index_add index_fill diag diagonal
diag_embed diagflat tri tril triu tril_indices triu_indices tril_indices_from triu_indices_from block_diag meshgrid cartesian_prod
combinations ix_ indices ravel_multi_index nonzero flatnonzero argwhere searchsorted bucketize digitize unique histogram
bincount isin contiguous
"""

_CREATION = """
array asarray asanyarray ascontiguousarray tensor as_tensor from_numpy zeros zeros_like ones ones_like full full_like eye identity arange
linspace logspace geomspace vander fromfunction new_zeros new_ones new_full new_tensor clone detach item tolist to type_as astype
is_tensor is_floating_point is_complex polar one_hot hann_window hamming_window hanning hamming blackman bartlett kaiser errstate
apply_along_axis piecewise
"""

_LINEAR_ALGEBRA = """
cholesky cholesky_solve cholesky_inverse solve solve_triangular inv inverse pinv lstsq det slogdet logdet eig eigh eigvals eigvalsh svd
svdvals qr trace matrix_power matrix_exp matrix_rank multi_dot vecdot householder_product lu lu_factor cond LinAlgError
ifft rfft irfft fft2 ifft2 fftn ifftn fftfreq rfftfreq fftshift ifftshift
"""

_POLYNOMIALS = """
polyval polyval2d polyfit polyadd polysub polymul polyder polyint polyroots roots poly polyvander polyfromroots
chebval chebvander chebgauss chebpts1 chebpts2 chebder chebint legval legvander leggauss legder legint hermval hermvander hermgauss
hermeval hermevander hermegauss lagval lagvander laggauss convolve correlate conv1d
"""

_ATTRIBUTES = (
    _SUBMODULES,
    _NUMBERS,
    _PYTHON,
    _MATH,
    _ELEMENTWISE,
    _REDUCTIONS,
    _SHAPES,
    _CREATION,
    _LINEAR_ALGEBRA,
    _POLYNOMIALS,
)
ATTRIBUTES = frozenset(" ".join(_ATTRIBUTES).split())
"""Attribute names a program may load, whatever their base."""

TYPES = frozenset({"Tensor", "ndarray"})
"""Types for type hints and ``isinstance``; called, they would give uninitialized memory."""

MUTATORS = frozenset(
    ["append", "extend", "insert", "pop", "remove", "sort", "reverse", "update", "setdefault", "add", "discard"]
)
"""Methods that change a list, a dictionary or a set in place."""

_RANDOM = """
rand randn randint random normal uniform default_rng bernoulli multinomial poisson randperm rand_like randn_like randint_like
standard_normal choice shuffle permutation dropout normal_ uniform_ seed manual_seed Generator RandomState quasirandom SobolEngine
"""
_EMPTY = "empty empty_like new_empty empty_strided empty_permuted new resize resize_ set_ as_strided Tensor ndarray FloatTensor DoubleTensor"
_SETTINGS = """
set_default_dtype set_default_device set_default_tensor_type set_num_threads set_num_interop_threads seterr seterrcall no_grad
enable_grad set_grad_enabled inference_mode use_deterministic_algorithms set_printoptions set_flush_denormal
"""
_GRADIENTS = (
    "grad autograd backward requires_grad requires_grad_ retain_grad register_hook data func vmap jacrev jacfwd"
)
_CONVERSIONS = "numpy cpu cuda type"
_TEXT = "format format_map encode decode translate maketrans"
_FILES = "save load savez savetxt loadtxt fromfile tofile memmap genfromtxt dump dumps fromstring frombuffer tobytes open hub"
_CODE = "jit compile ops library _C apply_ map_ frompyfunc vectorize os sys lib ctypeslib core testing f2py"
_REFLECTION = """
getattr setattr delattr hasattr vars dir globals locals type object super id hash callable eval exec input breakpoint memoryview
bytearray bytes classmethod staticmethod property help exit quit __import__ __builtins__
"""

_RANDOM_HINT = "Randomness is refused: write numbers as a formula or a literal list, or take them from parameters."
HINTS: dict[str, str] = {
    **dict.fromkeys(_REFLECTION.split(), "Reflection is refused: name the attribute, or keep values in a dictionary."),
    **dict.fromkeys(_CODE.split(), "Modules and code are out of reach: call numpy, torch or math functions directly."),
    **dict.fromkeys(_RANDOM.split(), _RANDOM_HINT),
    **dict.fromkeys(_EMPTY.split(), "Uninitialized memory is refused: use zeros, x.new_zeros or zeros_like."),
    **dict.fromkeys(
        _SETTINGS.split(), "Settings are fixed (float64, one thread, gradients by the sandbox): leave it out."
    ),
    **dict.fromkeys(
        _GRADIENTS.split(), "The sandbox takes gradients and vectorizes over points: write plain torch operations."
    ),
    **dict.fromkeys(
        _CONVERSIONS.split(), "Values stay in torch (or in numpy) on the processor: leave the conversion out."
    ),
    **dict.fromkeys(_TEXT.split(), 'Write text as an f-string, f"{value}".'),
    **dict.fromkeys(_FILES.split(), "Programs read and write nothing: take numbers from parameters or a literal list."),
    "print": "Programs print nothing: leave it out.",
}
"""What to write instead, by refused name."""

RESERVED = frozenset(
    ["eval", "exec", "compile", "open", "getattr", "setattr", "delattr", "globals", "locals", "vars", "breakpoint"]
)
"""Builtins whose names a program may not give to its own values."""

FORBIDDEN_KEYWORDS = {
    "out": "Assign the result instead.",
    "generator": _RANDOM_HINT,
    "where": "numpy leaves the other elements uninitialized: use np.where(condition, a, b).",
    "requires_grad": "The sandbox takes gradients: leave it out.",
}
"""Arguments no call may name."""
