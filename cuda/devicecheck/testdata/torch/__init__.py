"""A stand-in for torch, for the test of scripts/device-peers.py: everything is there, nothing computes, every batch
takes 1.5 ms, differences are 0, _int_mm fails as a library may, softmax from its 20th call on, and layer_norm takes the host
2 ms."""
import sys
import time
import types

__version__ = "0.0 (stand-in)"


calls = {}


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


for _name in ("torch.nn", "torch.nn.attention"):
    sys.modules[_name] = types.ModuleType(_name)
sys.modules["torch.nn"].functional = Anything("functional")
sys.modules["torch.nn.attention"].SDPBackend = Anything("SDPBackend")
sys.modules["torch.nn.attention"].sdpa_kernel = Anything("sdpa_kernel")
nn = sys.modules["torch.nn"]
nn.attention = sys.modules["torch.nn.attention"]
