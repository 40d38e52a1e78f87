#!/usr/bin/env python3
"""Measures ridge's CUDA kernels and what PyTorch calls for the same work, in one interleaved run.

Peers: cuBLAS and cuBLASLt (matmul), cuDNN (conv2d), every backend of scaled_dot_product_attention, and copies, sums and
norms of the device. Each round times ridge's kernel and every peer, in turn and in changing order; a ratio is formed
within a round and is above 1 where ridge is faster. Both are timed by CUDA events round batches of at least 1 ms on random
data, short ones replayed as graphs on both sides; ridge's by its own worker, which verified the kernel first, a peer's here
after it was held against float64 or float32.
Needs Python 3.8 and, for the peers, torch.
"""
import argparse, fcntl, json, os, select, signal, statistics, subprocess, sys, time

GEMM, CONV, ATTENTION, MEMORY = "gemm", "conv", "attention", "memory"
BATCH_MS, BATCHES, ROUNDS = 1.0, 7, 5
SLOW = 2.0  # times the fastest peer's time, at which a peer is timed in one round alone
GRAPH_FROM = 20  # calls of a batch are replayed as a graph, as ridge's are
HOST_BOUND = 0.8  # of a peer's time, that the host takes to launch it: the figure is then the host's


def shapes(which):
    """The questions, the most telling first: (family, op, dtype, parameters)."""
    if which == "tiny":
        return [(GEMM, "gemm", "fp32", dict(m=16, n=16, k=16)), (GEMM, "gemm", "fp32", dict(m=16, n=16, k=16, tb=1)), (GEMM, "gemm", "int8", dict(m=32, n=16, k=16)),
                (CONV, "conv2d", "fp32", dict(n=1, c=4, h=6, w=6, k=4, r=3, pad=1)),
                (CONV, "conv2d", "bf16", dict(n=1, c=4, h=6, w=6, k=4, r=3, pad=1, layout="nhwc")),
                (ATTENTION, "attention", "bf16", dict(b=1, heads=2, kv_heads=1, sq=16, d=16, causal=1)),
                (MEMORY, "copy", "fp32", dict(rows=16, cols=64)), (MEMORY, "stream_triad", "fp32", dict(n=1024)),
                (MEMORY, "sum", "fp32", dict(rows=16, cols=64)), (MEMORY, "softmax", "fp32", dict(rows=16, cols=64)),
                (MEMORY, "layer_norm", "fp32", dict(rows=16, cols=64))]
    gemm = lambda d, m, n, k, **more: (GEMM, "gemm", d, dict(m=m, n=n, k=k, **more))
    # B stored [N,K], as layers keep their weights and as the libraries want bytes; [K,N] without tb.
    cube = lambda d, n, **more: gemm(d, n, n, n, **more)
    rows = lambda m, n, **more: gemm("bf16", m, n, n, **more)
    image = lambda c, h, k, r, stride=1, d="bf16", pad=None: (CONV, "conv2d", d, dict(n=32, c=c, h=h, w=h, k=k, r=r, stride=stride, pad=r // 2 if pad is None else pad, layout="nhwc"))
    heads = lambda d, s, causal, h=16, **more: (ATTENTION, "attention", "bf16", dict(b=1, heads=h, sq=s, d=d, causal=causal, **more))
    matrix = lambda op, d, n: (MEMORY, op, d, dict(rows=n, cols=n))
    triad = lambda n: (MEMORY, "stream_triad", "fp32", dict(n=n))
    nk = dict(tb=1)
    return [cube("bf16", 4096), heads(128, 8192, 0), image(64, 56, 64, 3), matrix("copy", "fp32", 16384), cube("fp8_e4m3", 8192, **nk), cube("int8", 4096, **nk), rows(16, 8192, **nk),
            cube("fp32", 4096, **nk), heads(64, 8192, 1), image(256, 14, 256, 3), matrix("sum", "fp32", 16384), triad(1 << 28), cube("bf16", 8192), cube("bf16", 4096, **nk),
            cube("tf32", 4096, **nk), rows(1, 8192, **nk), matrix("layer_norm", "bf16", 8192), heads(128, 8192, 1), image(512, 7, 512, 3), image(256, 56, 64, 1), cube("fp16", 4096),
            cube("fp64", 4096), cube("fp32", 4096), cube("tf32", 4096), rows(128, 8192, **nk), matrix("softmax", "bf16", 8192), heads(64, 8192, 0), image(1024, 14, 256, 1), image(64, 56, 64, 3, d="fp32"),
            heads(128, 8192, 1, h=32, kv_heads=8), heads(256, 8192, 0), rows(64, 8192, **nk), rows(16, 8192), rows(1, 8192), rows(128, 8192), image(128, 28, 128, 3), image(128, 56, 128, 3, 2),
            image(64, 56, 256, 1), image(512, 28, 128, 1), image(256, 14, 1024, 1), image(2048, 7, 512, 1), image(256, 56, 512, 1, 2), image(3, 224, 64, 7, 2),
            cube("bf16", 8192, **nk), cube("fp8_e4m3", 4096, **nk), cube("int8", 8192, **nk), cube("fp16", 8192, **nk), rows(16, 4096, **nk), rows(16, 16384, **nk), rows(1, 4096, **nk), rows(1, 16384, **nk),
            rows(64, 4096, **nk), rows(128, 4096, **nk), rows(128, 16384, **nk), rows(64, 8192), rows(16, 4096), rows(16, 16384), rows(64, 4096), rows(128, 4096), heads(256, 8192, 1), heads(128, 2048, 1),
            matrix("copy", "bf16", 16384), matrix("softmax", "fp32", 8192), matrix("layer_norm", "fp32", 8192), cube("fp32", 1024, **nk), cube("bf16", 1024), cube("bf16", 2048),
            cube("int8", 4096), cube("tf32", 8192, **nk), cube("fp8_e4m3", 4096), image(256, 14, 256, 3, d="int8")]


class Ended(BaseException):
    """The time is up, or the check was ended: no Exception, so that nothing that goes on after a library's errors takes it for one."""


class Worker:
    """ridge's measured side, asked as ridge itself asks it: JSON lines on descriptors 3 and 4."""

    def __init__(self, ridge):
        here, child_out = os.pipe()
        child_in, there = os.pipe()
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (child_in, child_out)]  # 3 and 4 are the child's

        def place():
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.process = subprocess.Popen([ridge, "worker"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, preexec_fn=place, pass_fds=(3, 4))
        for fd in (child_in, child_out, *high):
            os.close(fd)
        self.requests, self.replies, self.rest, self.dead = there, here, b"", False
        if self.ask("hello", 30)["hello"]["protocol"] != 2:
            raise RuntimeError("the worker speaks another protocol: take ridge and this script from one bundle")

    def ask(self, verb, seconds, **more):
        """The reply; an error of the case is a RuntimeError. dead: this worker can do nothing more."""
        self.dead = True
        reply = self.reply(verb, seconds, more)
        error = reply.get("err") or {}
        self.dead = error.get("kind") == "lost"
        if error:
            raise RuntimeError("%s: %s" % (verb, error["message"]))
        return reply

    def reply(self, verb, seconds, more):
        os.write(self.requests, json.dumps(dict(verb=verb, **more)).encode() + b"\n")
        end = time.monotonic() + seconds
        while b"\n" not in self.rest:
            if not select.select([self.replies], [], [], max(0, end - time.monotonic()))[0]:
                raise RuntimeError("%s: no answer within %d s" % (verb, seconds))
            got = os.read(self.replies, 1 << 20)
            if not got:
                raise RuntimeError("the worker died in %s, status %s" % (verb, self.process.wait()))
            self.rest += got
        line, self.rest = self.rest.split(b"\n", 1)
        return json.loads(line)

    def close(self):
        os.close(self.requests)
        os.close(self.replies)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()


def case_of(device, op, dtype, params):
    """The case, and the command that measures it alone."""
    text = ",".join("%s=%s" % kv for kv in params.items())
    program = dict(op=op, dtype=dtype, params={k: str(v) for k, v in params.items()})
    case = dict(id="%s/%s/%s/%s" % (device, op, dtype, text), device=device, program=program, threads=1, mode="hot", quick=True, warmup=2, trials=BATCHES)
    flags = " ".join("--param %s=%s" % kv for kv in params.items())
    return case, "ridge bench %s --device %s --precision %s %s" % (op, device, dtype, flags)


class Peers:
    """What torch calls for an op: name → function, their inputs on the device, and how far each is from the truth."""

    def __init__(self, torch, device):
        self.torch, self.device = torch, device.replace("cuda:", "cuda:")
        torch.manual_seed(42)
        self.types = {n: getattr(torch, t, None) for n, t in dict(fp64="float64", fp32="float32", fp16="float16", bf16="bfloat16", tf32="float32", int8="int8",
                                                                      fp8_e4m3="float8_e4m3fn").items()}

    def versions(self):
        t = self.torch
        return dict(torch=str(t.__version__), cuda=str(t.version.cuda), cudnn=str(t.backends.cudnn.version()), device=str(t.cuda.get_device_name(self.device)))

    def random(self, dtype, *dims):
        t = self.torch
        if dtype == "int8":
            return t.randint(-128, 128, dims, device=self.device, dtype=t.int8)
        x = t.rand(dims, device=self.device, dtype=t.float64 if dtype == "fp64" else t.float32) * 2 - 1
        return x.to(self.types[dtype])

    def off(self, got, want):
        """The largest difference over the largest value."""
        return float(((got.double() - want.double()).abs().max() / want.double().abs().max()).item())

    def make(self, family, op, dtype, p):
        """(name, call, error) of each peer; error is the distance from the truth, at most 0.02."""
        t = self.torch
        t.backends.cuda.matmul.allow_tf32 = t.backends.cudnn.allow_tf32 = dtype == "tf32"
        t.backends.cudnn.benchmark = True
        return getattr(self, family)(op, dtype, p)

    def gemm(self, op, dtype, p):
        t, m, n, k = self.torch, p["m"], p["n"], p["k"]
        bytes_of = dtype in ("int8", "fp8_e4m3")  # of which cuBLASLt takes B stored [N,K] alone
        a, transposed = self.random(dtype, m, k), bool(p.get("tb")) or bytes_of
        b = self.random(dtype, n, k).t() if transposed else self.random(dtype, k, n)
        other = "" if bool(p.get("tb")) == transposed else OTHER_LAYOUT
        rows, cols = slice(0, min(8, m)), slice(0, min(256, n))
        want = a[rows].double() @ b[:, cols].double()
        calls = []
        if dtype == "int8":
            if m > 16:
                calls.append(("torch._int_mm (cuBLASLt)" + other, lambda: t._int_mm(a, b)))
        elif dtype == "fp8_e4m3":
            one = t.ones((), device=self.device)
            calls.append(("torch._scaled_mm (cuBLASLt)" + other, lambda: t._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=t.bfloat16)))
        else:
            out = t.empty((m, n), device=self.device, dtype=self.types[dtype])
            for lib in ("cublas", "cublaslt"):
                def call(lib=lib):
                    t.backends.cuda.preferred_blas_library(lib)
                    return t.mm(a, b, out=out)
                calls.append(("torch.mm (%s)" % lib, call))
        return [(name, f, lambda f=f: self.off(f()[rows, cols], want)) for name, f in calls]

    def conv(self, op, dtype, p):
        t, r = self.torch, p.get("r", 3)
        x, w = self.random(dtype, p["n"], p["c"], p["h"], p["w"]), self.random(dtype, p["k"], p["c"], r, r)
        if p.get("layout") == "nhwc":
            x, w = x.to(memory_format=t.channels_last), w.to(memory_format=t.channels_last)
        if dtype == "int8":
            raise RuntimeError("torch has no convolution of int8 on a GPU")
        call = lambda x=x, w=w: t.nn.functional.conv2d(x, w, stride=p.get("stride", 1), padding=p.get("pad", 0))

        def error():
            got = call()[:1]
            with t.backends.cudnn.flags(enabled=False):  # no search for the fastest way to the truth
                return self.off(got, call(x[:1].double(), w.double()))
        return [("conv2d (cuDNN)", call, error)]

    def attention(self, op, dtype, p):
        from torch.nn.attention import SDPBackend, sdpa_kernel
        t, causal = self.torch, bool(p.get("causal"))
        all_heads, kv = p["heads"], p.get("kv_heads") or p["heads"]
        q, k, v = (self.random(dtype, p["b"], h, p["sq"], p["d"]) for h in (all_heads, kv, kv))
        few, grouped = slice(0, 1), {} if kv == all_heads else dict(enable_gqa=True)
        plain = lambda q, k, v, **more: t.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal, **more)

        def truth():
            with sdpa_kernel(SDPBackend.MATH):
                return plain(q[:, few].float(), k[:, few].float(), v[:, few].float())
        out = []
        for name in ("FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION"):
            backend = getattr(SDPBackend, name, None)
            if backend is None:
                continue

            def call(backend=backend):
                with sdpa_kernel(backend):
                    return plain(q, k, v, **grouped)
            out.append(("SDPA " + name.lower(), call, lambda call=call: self.off(call()[:, few], truth())))
        return out

    def memory(self, op, dtype, p):
        t = self.torch
        dims = (p["n"],) if "n" in p else (p["rows"], p["cols"])
        x = self.random(dtype, *dims)
        y = t.empty_like(x)
        f = t.nn.functional
        if op == "copy":
            return [("Tensor.copy_ (cudaMemcpy)", lambda: y.copy_(x), lambda: self.off(y.copy_(x), x))]
        if op == "stream_triad":
            b = self.random(dtype, *dims)
            call = lambda: t.add(x, b, alpha=3, out=y)
            return [("torch.add", call, lambda: self.off(call()[:4096], x[:4096].double() + 3 * b[:4096].double()))]
        if op == "sum":
            x.abs_()
            return [("torch.sum", lambda: x.sum(), lambda: self.off(x.sum(), x.sum(dtype=t.float64)))]
        if op == "softmax":
            return [("torch.softmax", lambda: f.softmax(x, dim=1), lambda: self.off(f.softmax(x, dim=1)[:4], f.softmax(x[:4].double(), dim=1)))]
        g, b = self.random(dtype, p["cols"]), self.random(dtype, p["cols"])
        call = lambda: f.layer_norm(x, (p["cols"],), g, b)
        return [("layer_norm", call, lambda: self.off(call()[:4], f.layer_norm(x[:4].double(), (p["cols"],), g.double(), b.double())))]

    def batch(self, go):
        """Events round what go launches; not waited for."""
        a, b = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        a.record()
        go()
        b.record()
        return a, b

    def loop(self, call, n):
        def go():
            for _ in range(n):
                call()
        return go

    def launcher(self, call, n):
        """A function that launches n calls, as a graph where they are short, and how it does."""
        t = self.torch
        if n < GRAPH_FROM:
            return self.loop(call, n), "one by one: %d long ones in a batch" % n
        try:
            graph, side = t.cuda.CUDAGraph(), t.cuda.Stream(self.device)
            side.wait_stream(t.cuda.current_stream(self.device))
            with t.cuda.stream(side):  # what is made at the first call on a stream is not for the graph
                self.loop(call, 3)()
            t.cuda.current_stream(self.device).wait_stream(side)
            with t.cuda.graph(graph, stream=side):
                self.loop(call, n)()
            graph.replay()
            t.cuda.synchronize()
            return graph.replay, "graph of %d" % n
        except Exception as e:  # not everything can be captured
            t.cuda.synchronize()
            return self.loop(call, n), "one by one: no graph: %s: %s" % (type(e).__name__, str(e).split("\n")[0][:200])

    def calibrate(self, call):
        """Calls that take BATCH_MS together."""
        n = 1
        while n < 1 << 12:
            a, b = self.batch(self.loop(call, n))
            b.synchronize()
            ms = a.elapsed_time(b)
            if ms >= BATCH_MS:
                break
            n = max(2 * n, min(8 * n, int(n * BATCH_MS / max(ms, 1e-3)) + 1))
        return n

    def time(self, go, n):
        """The median time of one of go's n calls in ns over BATCHES batches in a row, after an untimed one; and what the host took for a call
        of that one, whose queue was empty before it."""
        start = time.perf_counter()
        self.batch(go)
        host = 1e9 * (time.perf_counter() - start) / n
        got = [self.batch(go) for _ in range(BATCHES)]
        self.torch.cuda.synchronize()
        return statistics.median(1e6 * a.elapsed_time(b) / n for a, b in got), host


def measure(row, worker, peers, case, question, deadline, rounds):
    """One question: ridge's times and each peer's by round, and the ratios of the rounds, into row: what is there stays when a later step fails."""
    row["peers"], took = [], {}
    row["seconds"] = took  # of each step
    ours = None

    def step(name, began=[time.monotonic()]):
        now = time.monotonic()
        took[name], began[0] = round(took.get(name, 0) + now - began[0], 2), now
    try:
        prepared = worker.ask("prepare", 60, case=case)["prepared"]
        step("prepare")
        verified = worker.ask("verify", max(1, min(60, deadline - time.monotonic())), arm=0)["verified"]
        row.update(kernel=prepared["arms"][0]["kernels"], flops=prepared["flops"], bytes=prepared["bytes"], verified=verified["passed"],
                   worst_error_over_bound=verified["worst_error_over_bound"])
        if not verified["passed"]:
            raise RuntimeError("the output is wrong: %s" % verified.get("mismatch"))
        ours = row["ridge_ns"] = []
    except RuntimeError as e:
        row["ridge_unavailable"] = str(e)
    step("verify")
    ready = []
    try:
        made = peers.make(*question) if peers else []
    except Exception as e:  # whatever a library does, the other questions go on
        made, row["peers_unavailable"] = [], "%s: %s" % (type(e).__name__, str(e)[:300])
    for name, call, error in made:
        peer = dict(name=name, ns=[], host_ns=[])
        row["peers"].append(peer)
        try:
            peer["error"] = error()
            if not peer["error"] <= 0.02:
                raise RuntimeError("its result is off by %g of the largest value" % peer["error"])
            n = peers.calibrate(call)
            go, peer["launched"] = peers.launcher(call, n)
            ready.append((peer, go, n))
        except Exception as e:
            peer["unavailable"] = "%s: %s" % (type(e).__name__, str(e).split("\n")[0][:300])
    step("peers")
    for turn in range(rounds + 1):  # the first, in which clocks and caches settle, does not count
        if time.monotonic() > deadline:
            break
        arms = ([None] if ours is not None else []) + ready
        for arm in arms if turn % 2 == 0 else arms[::-1]:
            if arm is None:
                step("timing")
                got = worker.ask("measure", 60)["measured"]
                step("timing_ridge")
                row["driver"] = got["conditions"]["driver"]
                if turn > 0:
                    ours.append(got["times"][0]["median_ns"])
                continue
            peer, go, n = arm
            try:
                ns, host = peers.time(go, n)
            except Exception as e:  # the others go on; its rounds so far stay, without a ratio
                peer["unavailable"] = "%s: %s" % (type(e).__name__, str(e).split("\n")[0][:300])
                ready.remove(arm)
                continue
            if turn > 0:
                peer["ns"].append(ns)
                peer["host_ns"].append(host)
        if turn == 1:
            fastest = min((p["ns"][0] for p, _, _ in ready), default=0)
            slow = [x for x in ready if x[0]["ns"][0] > SLOW * fastest]
            for peer, _, _ in slow:
                peer["one_round"] = "%.1f times slower than the fastest peer" % (peer["ns"][0] / fastest)
            ready = [x for x in ready if x not in slow]
    step("timing")
    for peer in (p for p in row["peers"] if p["ns"] and "unavailable" not in p):
        # Launched one by one by Python: from here on it is the host that is timed.
        peer["host_bound"] = bool(peer["ns"]) and statistics.median(peer["host_ns"]) >= HOST_BOUND * statistics.median(peer["ns"])
        ratios = sorted(p / o for p, o in zip(peer["ns"], ours or []) if o > 0)
        if ratios:
            peer.update(ratio=statistics.median(ratios), ratio_range=[ratios[0], ratios[-1]])
    if ours is not None:
        worker.ask("release", 30)
        step("release")


def write(path, document):
    with open(path + ".part", "w") as f:
        json.dump(document, f, indent=1)
    os.replace(path + ".part", path)


def run(args):
    began = time.monotonic()
    deadline = began + args.seconds

    def ended(*_):
        raise Ended()
    signal.signal(signal.SIGTERM, ended)
    signal.signal(signal.SIGINT, ended)
    document = dict(schema="ridge.peers/1", device=args.device, complete=False, rounds=args.rounds, batches=BATCHES, batch_ms=BATCH_MS,
                    note="ratio: the peer's time over ridge's in the same round, median and range; above 1 ridge is faster. "
                         "host_bound: the host takes 0.8 of the peer's time and more to launch it, so that the ratio says nothing of its kernel", rows=[])
    peers = worker = None
    try:
        try:
            import torch
            if not torch.cuda.is_available():
                raise RuntimeError("torch sees no CUDA device")
            peers = Peers(torch, args.device)
            document["versions"] = peers.versions()
        except Exception as e:
            document["peers_unavailable"] = "%s: %s" % (type(e).__name__, str(e)[:300])
        write(args.output, document)
        for family, op, dtype, params in shapes(args.shapes):
            if time.monotonic() > deadline - 2:
                document["left_out"] = "the time was up before %s %s %s" % (op, dtype, params)
                break
            case, command = case_of(args.device, op, dtype, params)
            row = dict(family=family, op=op, dtype=dtype, params=params, reproduce=command)
            try:
                worker = worker or Worker(args.ridge)
                measure(row, worker, peers, case, (family, op, dtype, params), deadline, args.rounds)
            except (RuntimeError, OSError, KeyError, ValueError) as e:
                row["failed"] = str(e)[:300]
            if worker and worker.dead:
                worker.close()
                worker = None
            document["rows"].append(row)
            document["seconds"] = round(time.monotonic() - began, 1)
            write(args.output, document)
            if peers:
                peers.torch.cuda.empty_cache()
        else:
            document["complete"] = True
    except Ended:
        document["left_out"] = "ended from outside"
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if worker:
            worker.close()
    write(args.output, document)
    return 0


OTHER_LAYOUT = ", B [N,K]"  # in the name of a peer that cannot take B as ridge was asked


def means(rows):
    """Lines of geometric means: ridge against the fastest peer of each row that answered the same question and was not bound by the host."""
    groups = {}
    for r in rows:
        ratios = [p["ratio"] for p in r["peers"] if "ratio" in p and not p.get("host_bound") and OTHER_LAYOUT not in p["name"]]
        if not ratios:
            continue
        name = r["family"]
        if name == GEMM:
            name = "gemm of m <= 128" if r["params"]["m"] <= 128 else "gemm %s" % r["dtype"]
        for g in ("all", r["family"], name):
            groups.setdefault(g, {})[id(r)] = min(ratios)
    if not groups:
        return []
    out = ["", "ridge against the fastest peer of each row, geometric means (above 1 ridge is faster)"]
    for g, of in sorted(groups.items(), key=lambda x: (x[0] != "all", x[0])):
        out.append("  %-20s %.3f of %d rows, %.3f to %.3f" % (g, statistics.geometric_mean(of.values()), len(of), min(of.values()), max(of.values())))
    return out


def table(path):
    with open(path) as f:
        document = json.load(f)
    drivers = sorted({r["driver"] for r in document["rows"] if "driver" in r})
    print("ridge's driver: %s; peers: %s" % (", ".join(drivers) or "-", document.get("versions", document.get("peers_unavailable"))))
    print("%-60s %-34s %12s %12s  %s" % ("ridge beside its peers", "peer", "ridge", "peer", "ratio (range)"))
    for r in document["rows"]:
        what = "%s %s %s" % (r["op"], r["dtype"], ",".join("%s=%s" % kv for kv in r["params"].items()))
        ours = statistics.median(r["ridge_ns"]) if r.get("ridge_ns") else 0
        rate = lambda ns: "-" if not ns else "%.1f TFLOP/s" % (r["flops"] / ns / 1e3) if r["family"] != MEMORY else "%.0f GB/s" % (r["bytes"] / ns)
        if "failed" in r or "ridge_unavailable" in r:
            print("%-60s ridge: %s" % (what, r.get("failed") or r["ridge_unavailable"]))
        if "flops" not in r:
            rate = lambda ns: "%.1f us" % (ns / 1e3) if ns else "-"
        for p in r["peers"] or [dict(name="-", unavailable=r.get("peers_unavailable", document.get("peers_unavailable", "none for it")))]:
            theirs = statistics.median(p["ns"]) if p.get("ns") else 0
            ratio = "%.3f (%.3f to %.3f)" % (p["ratio"], *p["ratio_range"]) if "ratio" in p else p.get("unavailable", "-")
            if "ratio" in p and "one_round" in p:
                ratio = "%.3f, one round: %s" % (p["ratio"], p["one_round"])
            if p.get("host_bound"):
                ratio += ", host-bound"
            print("%-60s %-34s %12s %12s  %s" % (what[:60], p["name"][:34], rate(ours), rate(theirs), ratio[:90]))
    for line in means(document["rows"]):
        print(line)
    if document.get("left_out"):
        print("left out:", document["left_out"])
    return 0


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--ridge", default="bin/ridge")
    p.add_argument("--device", default="cuda:0")
    p.add_argument("--shapes", default="full", choices=["full", "tiny"])
    p.add_argument("--rounds", type=int, default=ROUNDS)
    p.add_argument("--seconds", type=float, default=105)
    p.add_argument("--output", default="peers.json")
    p.add_argument("--table", metavar="FILE", help="print the table of an earlier run")
    args = p.parse_args()
    return table(args.table) if args.table else run(args)


if __name__ == "__main__":
    sys.exit(main())
