"""A stand-in for torch, for the test of scripts/device-peers.py: everything is there, nothing computes, every batch
takes 1.5 ms, differences are 0, _int_mm fails as a library may, softmax from its 20th call on, layer_norm takes the host
2 ms, copy_ and add take 30 us, and add can be in no graph."""
import sys
import time
import types

__version__ = "0.0 (stand-in)"


calls = {}
spent = 0.0  # ms on the device
capturing = False


class Anything:
    def __init__(self, name=""):
        self.name = name

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything(name)

    def __call__(self, *args, **more):
        if self.name == "_int_mm":
            raise RuntimeError("the stand-in has no int8 products\nsecond line")
        calls[self.name] = calls.get(self.name, 0) + 1
        if self.name == "softmax" and calls["softmax"] >= 20:
            raise RuntimeError("the stand-in has had enough")
        if self.name == "layer_norm":
            time.sleep(0.002)
        if self.name in ("copy_", "add"):
            if capturing and self.name == "add":
                raise RuntimeError("the stand-in captures no sum\nsecond line")
            global spent
            spent += 0.03
        return {"elapsed_time": 1.5, "item": 0.0, "is_available": True}.get(self.name, Anything(self.name))

    def _same(self, *_):
        return Anything()

    __getitem__ = __add__ = __radd__ = __sub__ = __mul__ = __rmul__ = __truediv__ = __matmul__ = __enter__ = _same

    def __exit__(self, *_):
        return False

    def __str__(self):
        return self.name or "anything"


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return Anything(name)


class Event:
    def __init__(self, enable_timing=False):
        pass

    def record(self):
        self.at = spent

    def synchronize(self):
        pass

    def elapsed_time(self, other):
        return (other.at - self.at) or 1.5


class CUDAGraph:
    def replay(self):
        global spent
        spent += self.ms


class graph:
    def __init__(self, graph, stream=None):
        self.graph = graph

    def __enter__(self):
        global capturing
        self.before, capturing = spent, True

    def __exit__(self, *_):
        global spent, capturing
        self.graph.ms, spent, capturing = spent - self.before, self.before, False
        return False


cuda = Anything("cuda")
cuda.Event, cuda.CUDAGraph, cuda.graph = Event, CUDAGraph, graph

for _name in ("torch.nn", "torch.nn.attention"):
    sys.modules[_name] = types.ModuleType(_name)
sys.modules["torch.nn"].functional = Anything("functional")
sys.modules["torch.nn.attention"].SDPBackend = Anything("SDPBackend")
sys.modules["torch.nn.attention"].sdpa_kernel = Anything("sdpa_kernel")
nn = sys.modules["torch.nn"]
nn.attention = sys.modules["torch.nn.attention"]
