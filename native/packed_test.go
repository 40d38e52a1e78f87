//go:build cgo && linux

package native

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/plan"
	"ridge/goharness/record"
	"ridge/goharness/runner"
)

type packedOp struct {
	name   string
	d      record.DType
	params map[string]string
}

// packedOps are ops with an operand packed beforehand whose kernel adds in the same order without.
var packedOps = []packedOp{
	{"conv2d", record.FP32, map[string]string{"n": "1", "c": "512", "h": "7", "w": "7", "k": "160", "r": "1", "layout": "nhwc", "bias": "1", "act": "relu"}},
	{"conv2d", record.FP32, map[string]string{"n": "1", "c": "512", "h": "7", "w": "7", "k": "88", "pad": "1", "layout": "nhwc"}},
	// More elements than a slab of most kernels, a residual and an activation behind the bias; more tiles than one, and panels of three and four vectors.
	{"conv2d", record.FP32, map[string]string{"n": "1", "c": "2048", "h": "7", "w": "7", "k": "112", "r": "1", "layout": "nhwc", "bias": "1", "act": "relu", "residual": "1"}},
	{"conv2d", record.BF16, map[string]string{"n": "1", "c": "256", "h": "7", "w": "7", "k": "96", "r": "1", "layout": "nhwc"}},
	{"gemm", record.FP32, map[string]string{"m": "64", "n": "300", "k": "600"}},
	// More rows than go by dot products along K where nothing is packed (gemm_dots.h), and columns than go by small tiles (gemm_small.h), rows too long to meet rows (gemm_cross.h): their sums have another order.
	{"gemm", record.FP64, map[string]string{"m": "96", "n": "150", "k": "600", "tb": "1"}},
	{"linear", record.FP32, map[string]string{"m": "90", "n": "300", "k": "1100", "act": "relu"}},
	{"conv2d", record.INT8, map[string]string{"n": "1", "c": "256", "h": "7", "w": "7", "k": "96", "r": "1", "layout": "nhwc"}},
	{"swiglu", record.FP32, map[string]string{"m": "90", "n": "160", "k": "700"}},
	{"mlp", record.FP32, map[string]string{"m": "90", "n": "160", "k": "700", "h": "900"}},
}

// dotPackedOps are such ops where only kernels on 512-bit dot products and matrix units take a packed operand.
var dotPackedOps = []packedOp{
	{"linear", record.BF16, map[string]string{"m": "90", "n": "160", "k": "1100", "bias": "1"}},
	{"linear", record.INT8, map[string]string{"m": "90", "n": "160", "k": "1100", "requant": "1", "bias": "1"}},
}

func openTwo(t *testing.T) *device { return openThreads(t, 2) }

func openThreads(t *testing.T, threads int) *device {
	t.Helper()
	opened, err := New().Open("cpu", backend.OpenOptions{CPUs: slices.Repeat([]int{-1}, threads), Affinity: "none"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	return opened.(*device)
}

func prepared(t *testing.T, dev *device, name string, d record.DType, params map[string]string, packed string, o backend.PrepareOptions) *executable {
	t.Helper()
	all := map[string]string{"packed": packed}
	for k, v := range params {
		all[k] = v
	}
	x, err := op.Builtin().New(name, all, d)
	if err != nil {
		t.Fatal(err)
	}
	o.Seed = 7
	e, err := dev.Prepare(op.Single(x), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Release() })
	if err := e.Fill(false, 0); err != nil {
		t.Fatal(err)
	}
	return e.(*executable)
}

func (e *executable) raw(t *testing.T, set int, name string) []byte {
	t.Helper()
	for _, b := range e.sets[set] {
		if b.t.Name == name {
			return unsafe.Slice((*byte)(b.ptr), b.t.StorageBytes())
		}
	}
	t.Fatalf("no tensor %s", name)
	return nil
}

// A product gives the same bits whether one thread has it, as one tile or by the small way, or two share it.
func TestSmallProductsHaveTheSameBitsForOneAndTwoThreads(t *testing.T) {
	one, two := openThreads(t, 1), openTwo(t)
	for _, d := range []record.DType{record.FP32, record.FP64} {
		for _, s := range [][3]string{{"12", "17", "96"}, {"12", "9", "176"}, {"12", "32", "97"}, {"33", "33", "33"}, {"48", "24", "40"}, {"4", "17", "300"}, {"7", "9", "401"}, {"5", "24", "201"}, {"6", "40", "120"}} {
			params := map[string]string{"m": s[0], "n": s[1], "k": s[2]}
			alone := prepared(t, one, "gemm", d, params, "0", backend.PrepareOptions{})
			shared := prepared(t, two, "gemm", d, params, "0", backend.PrepareOptions{Kernel: alone.kernels[0].Name})
			if shared.kernels[0].Alone {
				t.Fatalf("%s of %s, %v: one thread does it, nothing is shared", alone.kernels[0].Name, d, s)
			}
			for _, x := range []*executable{alone, shared} {
				if err := x.Run(1); err != nil {
					t.Fatal(err)
				}
			}
			out := alone.p.Tensors[len(alone.p.Tensors)-1].Name
			if !bytes.Equal(alone.raw(t, 0, out), shared.raw(t, 0, out)) {
				t.Errorf("%s of %s, %v: other bits with two threads", alone.kernels[0].Name, d, s)
			}
		}
	}
}

// Products that meet packed panels with rows of A where they lie, and pack both or neither otherwise, have the same bits; so have several blocks of K with a part of a panel.
func TestPackingChangesNoBitWhereRowsMeetPanels(t *testing.T) {
	dev := openTwo(t)
	for _, d := range []record.DType{record.FP32, record.FP64} {
		for _, s := range [][3]string{{"20", "1100", "100"}, {"500", "44", "200"}, {"300", "300", "30"}, {"7", "300", "90"}, {"200", "300", "600"}} {
			params := map[string]string{"m": s[0], "n": s[1], "k": s[2]}
			packed := prepared(t, dev, "gemm", d, params, "1", backend.PrepareOptions{})
			plain := prepared(t, dev, "gemm", d, params, "0", backend.PrepareOptions{Kernel: packed.kernels[0].Name})
			for _, x := range []*executable{packed, plain} {
				if err := x.Run(1); err != nil {
					t.Fatal(err)
				}
			}
			out := plain.p.Tensors[len(plain.p.Tensors)-1].Name
			if !bytes.Equal(packed.raw(t, 0, out), plain.raw(t, 0, out)) {
				t.Errorf("%s of %s, %v: other bits than without packing", plain.kernels[0].Name, d, s)
			}
		}
	}
}

// A launch reads the packed copy alone: with the operand overwritten it gives the bits of the same kernel without packing. It writes
// neither the copy nor panels of its own: the workspace stays free of what the unpacked launch writes there.
func TestAPackedLaunchReadsItsCopyAndPacksNothing(t *testing.T) {
	dev := openTwo(t)
	ops := packedOps
	for _, c := range dotPackedOps { // where this CPU has such a kernel
		x, err := op.Builtin().New(c.name, map[string]string{"m": "90", "n": "160", "k": "1100", "packed": "1"}, c.d)
		if err != nil {
			t.Fatal(err)
		}
		var unsupported *backend.UnsupportedError
		if e, err := dev.Prepare(op.Single(x), backend.PrepareOptions{Seed: 7}); err == nil {
			_ = e.Release()
			ops = append(slices.Clone(ops), c)
		} else if !errors.As(err, &unsupported) {
			t.Fatal(err)
		}
	}
	one := openThreads(t, 1)
	for _, c := range ops {
		launchReadsItsCopy(t, dev, c)
		if spared := launchReadsItsCopy(t, one, c); spared <= 0 {
			t.Errorf("%s %s: one thread wrote %d bytes of workspace more than without packing", c.name, c.d, -spared)
		}
	}
}

// launchReadsItsCopy looks for packed operands in the workspace and returns by how many bytes of workspace the unpacked launch wrote more. Only one thread's count is the same every time: two may
// share the tiles, and with them their panels, otherwise in each launch.
func launchReadsItsCopy(t *testing.T, dev *device, c packedOp) (spared int64) {
	t.Helper()
	e := prepared(t, dev, c.name, c.d, c.params, "1", backend.PrepareOptions{})
	kernel := e.kernels[0].Name
	if e.kernels[0].PackedBytes == 0 || len(e.packed) != 1 {
		t.Fatalf("%s packed nothing beforehand", kernel)
	}
	plain := prepared(t, dev, c.name, c.d, c.params, "0", backend.PrepareOptions{Kernel: kernel})
	out := e.p.Tensors[len(e.p.Tensors)-1].Name
	copied := e.packed[0].mem[:e.kernels[0].PackedBytes]
	before := slices.Clone(copied)
	for _, operand := range op.PackedOperands(e.p.Steps[0].Op) {
		mark(e.raw(t, 0, operand))
	}
	var panels, pieces [2]int64
	for i, x := range []*executable{e, plain} {
		mark(x.scratch.mem)
		if err := x.Run(1); err != nil {
			t.Fatal(err)
		}
		panels[i], pieces[i] = changed(x.scratch.mem), piecesOf(copied, x.scratch.mem)
	}
	if pieces[0] != 0 || pieces[1] == 0 {
		t.Errorf("%s %s: %d pieces of packed operands in the workspace, %d without packing: want none and some", kernel, c.d, pieces[0], pieces[1])
	}
	if !bytes.Equal(e.raw(t, 0, out), plain.raw(t, 0, out)) {
		t.Errorf("%s %s: other bits than without packing", kernel, c.d)
	}
	if !bytes.Equal(before, copied) {
		t.Errorf("%s %s: the launch wrote its packed operand", kernel, c.d)
	}
	return panels[1] - panels[0]
}

// piecesOf counts the pieces of mem that are pieces of what was packed, but for those of one value alone. A panel's rows are whole pieces.
func piecesOf(packed, mem []byte) (n int64) {
	const piece = 16
	known := map[[piece]byte]bool{}
	for from := 0; from+piece <= len(packed); from += piece {
		if x := [piece]byte(packed[from:]); !bytes.Equal(x[:piece/2], x[piece/2:]) {
			known[x] = true
		}
	}
	for from := 0; from+piece <= len(mem); from += piece {
		if known[[piece]byte(mem[from:])] {
			n++
		}
	}
	return n
}

// Cold launches rotate the sets: each has a copy of its own, packed again when the inputs change.
func TestEachSetHasItsPackedOperand(t *testing.T) {
	dev := openTwo(t)
	c := packedOps[0]
	e := prepared(t, dev, c.name, c.d, c.params, "1", backend.PrepareOptions{Sets: 2})
	if len(e.packed) != 2 || e.packed[0].ptr() == e.packed[1].ptr() {
		t.Fatalf("%d packed operands for 2 sets", len(e.packed))
	}
	for _, integer := range []bool{false, true} {
		if err := e.Fill(integer, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Measure(t.Context(), 1, 4); err != nil {
			t.Fatal(err)
		}
		plain := prepared(t, dev, c.name, c.d, c.params, "0", backend.PrepareOptions{Kernel: e.kernels[0].Name})
		if err := plain.Fill(integer, 0); err != nil {
			t.Fatal(err)
		}
		if err := plain.Run(1); err != nil {
			t.Fatal(err)
		}
		for set := range 2 {
			if !bytes.Equal(e.raw(t, set, "y"), plain.raw(t, 0, "y")) {
				t.Errorf("integer=%v: set %d has other outputs than without packing", integer, set)
			}
		}
	}
}

func TestKernelsThatPackNothingSayWhyTheyRefuse(t *testing.T) {
	dev := openTwo(t)
	for name, params := range map[string]map[string]string{
		"conv2d_fp32_portable": {"n": "1", "c": "4", "h": "5", "w": "5", "k": "4", "packed": "1"},
		"gemm_fp32_portable":   {"m": "4", "n": "5", "k": "6", "packed": "1"},
	} {
		o, err := op.Builtin().New(strings.Split(name, "_")[0], params, record.FP32)
		if err != nil {
			t.Fatal(err)
		}
		_, err = dev.Prepare(op.Single(o), backend.PrepareOptions{Kernel: name})
		var unsupported *backend.UnsupportedError
		if !errors.As(err, &unsupported) || !strings.Contains(err.Error(), "packs no operand beforehand") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The id says packed=1; the record has the copy's bytes (42 channels fill no whole vectors), and counts them where the filters were.
func TestTheRecordSaysWhatWasPackedBeforehand(t *testing.T) {
	r := &runner.Runner{Launch: runner.InProcess(&runner.Server{Backends: []backend.Backend{New()}, Ops: op.Builtin()})}
	defer r.Close()
	const id = "cpu/conv2d/fp32/n=1,c=32,h=4,w=4,k=42,r=1,layout=nhwc,packed=1/threads=1/hot"
	k, err := plan.FromID(op.Builtin(), id)
	if err != nil {
		t.Fatal(err)
	}
	k.Warmup, k.Trials = 1, 5
	res, err := r.Run(t.Context(), k)
	if err != nil || res.Status != record.OK || res.ID != id {
		t.Fatalf("%s %s (%s), %v", res.ID, res.Status, res.Reason, err)
	}
	const images, filters = 4 * (4*4*32 + 4*4*42), 4 * 42 * 32
	if res.PackedBytes <= filters || res.Bytes != images+res.PackedBytes || res.WorkingSetBytes != res.Bytes {
		t.Errorf("%d bytes packed, %d in all, working set %d; images have %d, filters %d", res.PackedBytes, res.Bytes, res.WorkingSetBytes, images, filters)
	}
}
