"""PyTorch as a contender of benchpeers: answers one JSON line for each JSON line, requests on
descriptor 3, replies on descriptor 4 (internal/benchpeers/protocol.go). Its outputs are checked
against float64 before it is timed; inputs have the distributions of goharness/op.

usage: torch_peer.py [zen] CPU,CPU,...   (zen: the operations of AMD's plug-in zentorch alone)
"""
import json, math, os, statistics, sys, time

CPUS = [int(c) for c in sys.argv[-1].split(",")]
ZEN = "zen" in sys.argv
os.sched_setaffinity(0, CPUS)
import torch
import torch.nn.functional as F

if ZEN:
    import zentorch
torch.set_num_threads(len(CPUS))
torch.set_grad_enabled(False)
DTYPES = {"fp64": torch.float64, "fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16,
          "int8": torch.int8, "u8s8": torch.int8}
UNIT = {torch.float64: 2**-53, torch.float32: 2**-24, torch.bfloat16: 2**-8, torch.float16: 2**-11}
C = 8  # as the C peers: scripts/peers.d/peer.h


VERSION = f"PyTorch {torch.__version__}, " + ", ".join(
    l.strip("- ") for l in torch.__config__.show().splitlines()
    if "Math Kernel Library" in l or "MKL-DNN v" in l or "CPU capability" in l)
if ZEN:
    VERSION = f"zentorch {zentorch.__version__} on PyTorch {torch.__version__}, " + ", ".join(
        l.strip("- ") for l in zentorch.__config__.splitlines() if "ZENDNN" in l)


class Unsupported(Exception):
    pass


def uniform(shape, dtype, wide=1.0, low=None):
    if dtype == torch.int8:
        return torch.randint(-128, 128, shape, dtype=torch.int8)
    x = torch.rand(shape, dtype=torch.float32)
    return (x + 0.5 if low else (x * 2 - 1) * wide).to(dtype)


def compare(got, want, magnitude, acc, what):
    """|got - want| <= C u(acc) magnitude + u(out) |want|; returns the text for the record."""
    got = got.double()
    bound = C * UNIT[acc] * magnitude + UNIT.get(got_dtype[0], 0) * want.abs() + 1e-38
    if not torch.isfinite(got).all():
        raise ValueError(f"wrong output: {what} has a value that is not finite")
    worst = ((got - want).abs() / bound).max().item()
    if not worst <= 1:
        raise ValueError(f"wrong output: {what} is off by {worst:.3g} times the bound")
    return f"{want.numel()} outputs against float64, worst error {worst:.2g} of the bound"


got_dtype = [torch.float32]


class Case:
    """run() computes once; check() compares the outputs of a run."""


def bmm(p, d, variant):
    if variant or ZEN or d == "int8":
        raise Unsupported("batches by torch.bmm alone")
    z, m, n, k = (int(p[x]) for x in ("batch", "m", "n", "k"))
    c, t = Case(), DTYPES[d]
    a, b, out = uniform((z, m, k), t), uniform((z, k, n), t), torch.zeros((z, m, n), dtype=t)
    c.run = lambda: torch.bmm(a, b, out=out)

    def check():
        some = torch.randint(0, z, (min(z, 4),))
        x, y = a[some].double(), b[some].double()
        got_dtype[0] = t
        return compare(out[some], x @ y, x.abs() @ y.abs(), t if t == torch.float64 else torch.float32, "the products")

    c.check = check
    return c


def linear(p, d, variant):
    if p.get("bias") != "0":
        raise Unsupported("linear layers without a bias alone")
    return gemm(p, d, variant, weights=True)


def gemm(p, d, variant, weights=False):
    """weights: B is stored [N,K]."""
    m, n, k = int(p["m"]), int(p["n"]), int(p["k"])
    c = Case()
    if d == "u8s8":
        raise Unsupported("no product of unsigned and signed bytes")
    if int(p.get("batch", 1)) > 1:
        return bmm(p, d, variant)
    t = DTYPES[d]
    a = uniform((m, k), t)
    b = uniform((n, k), t).t() if weights else uniform((k, n), t)
    out = torch.zeros((m, n), dtype=torch.int32 if d == "int8" else t)
    if ZEN:
        if d not in ("fp32", "bf16"):
            raise Unsupported("fp32 and bf16 alone")
        w = b.t().contiguous()  # as a linear layer keeps its weights

        def run():
            c.out = torch.ops.zentorch.zentorch_linear_unary(a, w)

        c.run = run
    elif d == "int8":
        if variant or m < 17 or n % 8 or k % 8:
            raise Unsupported("torch._int_mm alone, for m > 16")
        c.run = lambda: torch._int_mm(a, b, out=out)
    elif variant == "packed":
        if t not in (torch.float32, torch.bfloat16, torch.float16):
            raise Unsupported("packed weights are for fp32, bf16 and fp16")
        w = b.t().contiguous()
        if t == torch.float32:
            packed = torch.ops.mkl._mkl_reorder_linear_weight(w, m)
            call = lambda: torch.ops.mkl._mkl_linear(a, packed, w, None, m)
        else:
            packed = torch.ops.mkldnn._reorder_linear_weight(w, m)
            call = lambda: torch.ops.mkldnn._linear_pointwise(a, packed, None, "none", [], "")

        def run():
            c.out = call()

        c.run = run
    else:
        c.run = lambda: torch.mm(a, b, out=out)

    def check():
        got = c.out if variant == "packed" or ZEN else out
        rows = torch.randint(0, m, (min(m, 8),))
        cols = torch.randint(0, n, (min(n, 8),))
        got_dtype[0] = got.dtype
        text = []
        for g, x, y in ((got[rows], a[rows], b), (got[:, cols], a, b[:, cols])):
            want = x.double() @ y.double()
            if d == "int8":
                if not torch.equal(g.double(), want):
                    raise ValueError("wrong output: integers differ")
                text.append(f"{want.numel()} integers exactly")
            else:
                acc = t if t == torch.float64 else torch.float32
                text.append(compare(g, want, x.double().abs() @ y.double().abs(), acc, "the product"))
        return "; ".join(text)

    c.check = check
    return c


def conv2d(p, d, variant):
    g = lambda name, default=None: int(p.get(name, default))
    t = DTYPES[d]
    if d == "int8":
        raise Unsupported("no convolution of signed bytes")
    n, ch, h, w, k, r = g("n"), g("c"), g("h"), g("w"), g("k"), g("r", 3)
    s = g("s", 0) or r
    stride, pad, dil, groups = g("stride", 1), g("pad", 0), g("dilation", 1), g("groups", 1)
    fmt = torch.channels_last if p.get("layout") == "nhwc" else torch.contiguous_format
    x = uniform((n, ch, h, w), t).contiguous(memory_format=fmt)
    wt = uniform((k, ch // groups, r, s), t).contiguous(memory_format=fmt)
    c = Case()
    if variant == "packed":
        packed = torch._C._nn.mkldnn_reorder_conv2d_weight(wt.to_mkldnn(), [pad, pad], [stride, stride], [dil, dil], groups, list(x.shape))
        call = lambda: torch.ops.mkldnn._convolution_pointwise(x, packed, None, [pad, pad], [stride, stride], [dil, dil], groups, "none", [], "")
    else:
        call = lambda: F.conv2d(x, wt, None, stride, pad, dil, groups)

    def run():
        c.out = call()

    def check():
        i = int(torch.randint(0, n, ()))
        ks = torch.arange(k) if k * h * w * ch * r * s // groups < 1 << 27 or groups > 1 else torch.randint(0, k, (8,))
        a = (x[i:i + 1].double(), wt[ks].double())
        got_dtype[0] = c.out.dtype
        want = F.conv2d(*a, None, stride, pad, dil, groups)
        mag = F.conv2d(a[0].abs(), a[1].abs(), None, stride, pad, dil, groups)
        return compare(c.out[i:i + 1][:, ks], want, mag, torch.float32, "the convolution")

    c.run, c.check = run, check
    return c


def attention(p, d, variant):
    t = DTYPES[d]
    b, h, sq, dim = int(p["b"]), int(p["heads"]), int(p["sq"]), int(p["d"])
    hkv, skv, causal = int(p.get("kv_heads", 0)) or h, int(p.get("skv", 0)) or sq, p.get("causal", "0") == "1"
    q = uniform((b, h, sq, dim), t, wide=8)
    k, v = uniform((b, hkv, skv, dim), t), uniform((b, hkv, skv, dim), t)
    c = Case()

    def run():
        if ZEN:
            c.out = torch.ops.zentorch.zentorch_sdpa(q, k, v, 0.0, causal)[0]
        else:
            c.out = F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=hkv != h)

    def check():
        i, j = int(torch.randint(0, b, ())), int(torch.randint(0, h, ()))
        x, y, z = q[i, j].double(), k[i, j * hkv // h].double(), v[i, j * hkv // h].double()
        score = x @ y.t() / math.sqrt(dim)
        if causal:
            score += torch.full_like(score, -math.inf).triu(1)
        w = score.softmax(-1)
        # Scores are rounded in the accumulator and weights to the stored format.
        size = (x.abs() @ y.abs().t()).amax(-1, keepdim=True) / math.sqrt(dim)
        got_dtype[0] = c.out.dtype
        mag = (w @ z.abs()) * (size + UNIT[t] / UNIT[torch.float32] * (t != torch.float32) + 8)
        return compare(c.out[i, j], w @ z, mag, torch.float32, "the attention")

    c.run, c.check = run, check
    return c


# name: (function of out and inputs, function in float64, inputs, their width)
UNARY = {
    "relu": (lambda o, a: torch.clamp_min(a, 0, out=o), lambda a: a.clamp_min(0), 1),
    "gelu": (lambda o, a: torch._C._nn.gelu(a, out=o), lambda a: F.gelu(a), 8),
    "gelu_tanh": (lambda o, a: torch._C._nn.gelu(a, approximate="tanh", out=o), lambda a: F.gelu(a, approximate="tanh"), 8),
    "exp": (lambda o, a: torch.exp(a, out=o), torch.exp, 8),
    "sigmoid": (lambda o, a: torch.sigmoid(a, out=o), torch.sigmoid, 8),
    "tanh": (lambda o, a: torch.tanh(a, out=o), torch.tanh, 8),
    "sin": (lambda o, a: torch.sin(a, out=o), torch.sin, 8),
    "cos": (lambda o, a: torch.cos(a, out=o), torch.cos, 8),
    "stream_copy": (lambda o, a: o.copy_(a), lambda a: a, 1),
    "stream_scale": (lambda o, a: torch.mul(a, 3, out=o), lambda a: a * 3, 1),
}
BINARY = {
    "add": (lambda o, a, b: torch.add(a, b, out=o), lambda a, b: a + b),
    "stream_add": (lambda o, a, b: torch.add(a, b, out=o), lambda a, b: a + b),
    "stream_triad": (lambda o, a, b: torch.add(a, b, alpha=3, out=o), lambda a, b: a + 3 * b),
}
SAMPLE = 1 << 20  # elements of an elementwise output that are compared


def elementwise(name, p, d):
    t = DTYPES[d]
    shape = (int(p["n"]),) if "n" in p else (int(p["rows"]), int(p["cols"]))
    c = Case()
    wide = UNARY[name][2] if name in UNARY else 1
    ins = [uniform(shape, t, wide=wide) for _ in range(1 if name in UNARY else 2)]
    out = torch.zeros(shape, dtype=t)
    f, f64 = (UNARY.get(name) or BINARY[name])[:2]
    c.run = lambda: f(out, *ins)

    def check():
        idx = torch.randint(0, out.numel(), (min(out.numel(), SAMPLE),))
        idx[0], idx[-1] = 0, out.numel() - 1
        x = [i.view(-1)[idx].double().requires_grad_() for i in ins]
        with torch.enable_grad():
            want = f64(*x)
            slopes = torch.autograd.grad(want.sum(), x)
        # erf and tanh cancel in GELU's negative tail: there the libraries are right to the input's scale only.
        slack = x[0].detach().abs() if name.startswith("gelu") else 0
        mag = slack + want.detach().abs() + sum((a.detach() * s).abs() for a, s in zip(x, slopes))
        got_dtype[0] = t
        return compare(out.view(-1)[idx], want.detach(), mag, torch.float64 if t == torch.float64 else torch.float32, name)

    c.check = check
    return c


def reduction(name, p, d):
    t = DTYPES[d]
    rows, cols = int(p["rows"]), int(p["cols"])
    x = uniform((rows, cols), t, wide=8 if name == "softmax" else 1, low=name == "layer_norm")
    c = Case()
    gamma, beta = uniform((cols,), t, low=True), uniform((cols,), t)
    flat = x.view(-1)
    if name in ("sum", "mean", "max", "argmax"):
        if p.get("dim", "all") != "all":
            raise Unsupported("only over all elements")
        call = {"sum": lambda: torch.sum(flat), "mean": lambda: torch.mean(flat), "max": lambda: torch.amax(flat),
                "argmax": lambda: torch.argmax(flat)}[name]
    elif name == "softmax":
        out = torch.zeros_like(x)
        call = lambda: torch.softmax(x, int(p.get("dim", 1)), out=out)
    elif name == "layer_norm":
        call = lambda: F.layer_norm(x, (cols,), gamma, beta, 1e-5)
    else:
        call = lambda: torch.ops.zentorch.zentorch_rms_norm(x, gamma, 1e-5) if ZEN else F.rms_norm(x, (cols,), gamma, 1e-5)

    def run():
        c.out = call()

    def check():
        got_dtype[0] = t
        if name == "argmax":  # of equal elements any may be named
            return compare(flat[c.out].double().view(1), flat.double().max().view(1), flat.double().abs().max().view(1), torch.float32, name)
        if name in ("sum", "mean", "max"):
            y = flat.double()
            n = flat.numel() if name == "mean" else 1
            want = y.max() if name == "max" else y.sum() / n
            # Torch sums in cascades of fp32: more than one chain's constant is not needed.
            return compare(c.out.view(1), want.view(1), (y.abs().sum() / n).view(1), torch.float32, name)
        pick = torch.randint(0, rows, (min(rows, 256),))
        y = x[pick].double()
        if name == "softmax":
            if int(p.get("dim", 1)) != 1:
                raise Unsupported("only along rows")
            want = y.softmax(1)
            top = y.amax(1, keepdim=True)
            mag = want * (2 + (top - y) + (want * (top - y)).sum(1, keepdim=True))
        elif name == "layer_norm":
            want = F.layer_norm(y, (cols,), gamma.double(), beta.double(), 1e-5)
            f = gamma.double().abs() / (y.var(1, correction=0, keepdim=True) + 1e-5).sqrt()
            mag = f * (y.abs().mean(1, keepdim=True) + 2 * (y - y.mean(1, keepdim=True)).abs()) + beta.double().abs()
        else:
            want = F.rms_norm(y, (cols,), gamma.double(), 1e-5)
            mag = 2 * want.abs()
        return compare(c.out[pick], want, mag, torch.float32, name)

    c.run, c.check = run, check
    return c


def build(q):
    name, p, d, variant = q["op"], q.get("params") or {}, q["dtype"], q.get("variant", "")
    if d not in DTYPES:
        raise Unsupported(f"no precision {d}")
    if ZEN and name not in ("gemm", "linear", "attention", "rms_norm"):
        raise Unsupported("as torch")
    if name in ("gemm", "linear", "conv2d", "attention"):
        return {"gemm": gemm, "linear": linear, "conv2d": conv2d, "attention": attention}[name](p, d, variant)
    if variant:
        raise Unsupported("no variants")
    if name in UNARY or name in BINARY:
        return elementwise(name, p, d)
    if name in ("sum", "mean", "max", "argmax", "softmax", "layer_norm", "rms_norm"):
        return reduction(name, p, d)
    raise Unsupported(f"no op {name}")


def batch(case, launches):
    run = case.run
    start = time.perf_counter_ns()
    for _ in range(launches):
        run()
    return (time.perf_counter_ns() - start) / launches


def tasks():
    """What the scheduler says of each thread: nanoseconds run and ready to run."""
    out = {}
    for t in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{t}/schedstat") as f:
                out[t] = [int(x) for x in f.read().split()[:2]]
        except (OSError, ValueError):
            pass
    return out


def waited(before, after):
    """How long the threads that worked waited for a CPU (waited in contend.go)."""
    d = [(r - before.get(t, [0, 0])[0], w - before.get(t, [0, 0])[1]) for t, (r, w) in after.items()]
    longest = max(r for r, _ in d)
    return sum(w for r, w in d if r > longest / 5)


def answer(q, state):
    verb = q["verb"]
    if verb == "hello":
        return {"version": VERSION}
    if verb == "release":
        state.clear()
        return {}
    if verb == "prepare":
        state.clear()
        case = build(q)
        first = batch(case, 1)
        if first > q.get("limit_ns", 5e9):
            raise Unsupported(f"{first / 1e9:.2g} s for its first launch, the limit here is {q['limit_ns'] / 1e9:.2g} s: not a contender")
        checked = case.check()
        launches = 1
        while True:
            ns = batch(case, launches)
            if ns > 5e9:
                raise Unsupported(f"{ns / 1e9:.1f} s for one launch: not a contender")
            if ns * launches > 1e6:
                break
            launches *= 2
        state["case"] = case
        return {"version": VERSION, "kernel": "", "checked": checked, "launch_ns": ns}
    if verb == "measure":
        case, launches = state["case"], q["launches"]
        before = tasks()
        if launches > 1:
            batch(case, launches)  # untimed, as ridge's own loop
        ns = [batch(case, launches) for _ in range(q["samples"])]
        return {"ns": ns, "waited_ns": waited(before, tasks())}
    raise ValueError(f"unknown verb {verb}")


def main():
    state = {}
    with os.fdopen(3) as requests, os.fdopen(4, "w") as replies:
        for line in iter(requests.readline, ""):
            try:
                r = answer(json.loads(line), state)
            except Unsupported as e:
                r = {"error": str(e), "unsupported": True}
            except (RuntimeError, NotImplementedError, TypeError, AttributeError, ValueError) as e:
                r = {"error": f"{type(e).__name__}: {str(e).splitlines()[0][:160]}"}
            replies.write(json.dumps(r) + "\n")
            replies.flush()


main()
