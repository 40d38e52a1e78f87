//go:build cgo && linux

package native

import (
	"math"
	"slices"
	"testing"

	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/native/kernel"
)

// z = relu(x + r) of rows x 4096 numbers, the sum in the tensor `between`, which may be z.
func sumThenRelu(t *testing.T, rows, between string) op.Program {
	t.Helper()
	of := func(name string) op.Op {
		o, err := op.Builtin().New(name, map[string]string{"rows": rows, "cols": "4096"}, record.FP32)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	add, relu := of("add"), of("relu")
	p := op.Program{Name: "sum then relu", Steps: []op.Step{{Op: add, Bind: []string{"x", "r", between}}, {Op: relu, Bind: []string{between, "z"}}}}
	for i, name := range p.Steps[0].Bind {
		tensor := add.Tensors()[i]
		tensor.Name = name
		if name == between {
			tensor.Role = op.Scratch
		}
		p.Tensors = append(p.Tensors, tensor)
	}
	if between != "z" {
		tensor := relu.Tensors()[1]
		tensor.Name = "z"
		p.Tensors = append(p.Tensors, tensor)
	} else {
		p.Tensors[2].Role = op.Out
	}
	return p
}

func TestWhatIsReadSoonIsStoredInTheCachesThatHoldIt(t *testing.T) {
	for _, tc := range []struct {
		name    string
		between string
		held    int64
		inPlace bool
		want    []bool
	}{
		{"the last step's is not", "t", 64 << 20, false, []bool{true, false}},
		{"in place it was read", "z", 64 << 20, false, []bool{true, true}},
		{"half of the cache holds two tensors of the three", "z", 4 << 20, false, []bool{false, true}},
		{"none is known", "z", 0, false, []bool{false, false}},
		{"in place, whatever is known", "z", 0, true, []bool{false, true}},
	} {
		p := sumThenRelu(t, "64", tc.between)
		var got []bool
		for i := range p.Steps {
			got = append(got, readSoon(p, i, stores{held: tc.held, inPlace: tc.inPlace}))
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

// Between the sum and its reader another step touches a fourth tensor: half of the cache is to hold all four, and what is written anew is not read.
func TestWhatComesBetweenCounts(t *testing.T) {
	for _, tc := range []struct {
		third  string // what the step between writes
		held   int64
		stored bool
	}{{"u", 8 << 20, true}, {"u", 7 << 20, false}, {"t", 8 << 20, false}} {
		p := sumThenRelu(t, "64", "t")
		relu := p.Steps[1]
		p.Steps = []op.Step{p.Steps[0], {Op: relu.Op, Bind: []string{"x", tc.third}}, relu}
		if got := readSoon(p, 0, stores{held: tc.held}); got != tc.stored {
			t.Errorf("the step between writes %s, %d MiB of cache: %v, want %v", tc.third, tc.held>>20, got, tc.stored)
		}
	}
}

func TestKernelsGoAroundTheCachesFromWhereTheSetsLeaveThem(t *testing.T) {
	const mib = 1 << 20
	lake := kernel.Intel | feature(t, "avx512vnni")
	for _, tc := range []struct {
		name         string
		have         kernel.Mask
		llc          int64
		threads      int
		around, held int64
	}{
		{"unknown", 0, 0, 1, 64 * mib, 0},
		{"as small ones may not be what they show", 0, 4 * mib, 2, 40 * mib, 4 * mib},
		{"a quarter beyond, one thread", 0, 32 * mib, 1, 40 * mib, 32 * mib},
		{"a quarter beyond", 0, 32 * mib, 2, 40 * mib, 32 * mib},
		{"a quarter beyond", 0, 48 * mib, 2, 60 * mib, 48 * mib},
		{"a quarter beyond, but not above 64", 0, 60 * mib, 2, 64 * mib, 60 * mib},
		{"the cache itself", 0, 80 * mib, 2, 80 * mib, 80 * mib},
		{"of many cores", 0, 480 * mib, 2, 64 * mib, 480 * mib},
		{"Ice Lake, one thread", lake, 48 * mib, 1, 16 * mib, 24 * mib},
		{"Ice Lake, two threads", lake, 48 * mib, 2, 16 * mib, 48 * mib},
		{"Ice Lake, four threads", lake, 48 * mib, 4, 32 * mib, 48 * mib},
		{"Ice Lake, many threads", lake, 48 * mib, 32, 60 * mib, 48 * mib},
		{"Ice Lake, unknown", lake, 0, 2, 16 * mib, 0},
	} {
		want := stores{tc.around, tc.held, tc.have == lake}
		if got := storing(tc.have, tc.llc, tc.threads); got != want {
			t.Errorf("%s: %+v, want %+v", tc.name, got, want)
		}
	}
}

// 96 MiB in all: beyond 64 MiB kernels store around the caches, where theirs are large, but for what a cache of 1 GiB holds until it is read.
func TestChainsKeepInTheCachesWhatTheyReadNext(t *testing.T) {
	d, err := New().Open("cpu", backend.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	d.(*device).stores = stores{around: 64 << 20, held: 1 << 30}
	around := func(p op.Program) (out []bool) {
		e, err := d.Prepare(p, backend.PrepareOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range e.Kernels() {
			out = append(out, aroundCaches(k.Name))
		}
		if err := e.Release(); err != nil {
			t.Error(err)
		}
		return out
	}
	chain := sumThenRelu(t, "2049", "t")
	if alone := around(op.Single(chain.Steps[0].Op)); !alone[0] {
		t.Skip("no kernel of this machine stores around the caches")
	}
	for between, want := range map[string][]bool{"t": {false, true}, "z": {false, false}} {
		if got := around(sumThenRelu(t, "2049", between)); !slices.Equal(got, want) {
			t.Errorf("the sum in %s: %v store around the caches, want %v", between, got, want)
		}
	}
}

// A sum and a step in place on it, of 17 MB each, by kernels that read several runs of memory and by those that do not: elementwise steps to the bit, norms to
// their rounding.
func TestStepsInPlaceAreTheSameByRunsOfMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("chains of 50 MB")
	}
	const rows, cols = 1025, 4097
	sizes := map[string]string{"rows": "1025", "cols": "4097"}
	for _, name := range []string{"relu", "add", "bias_add", "layer_norm", "rms_norm"} {
		sum, err := op.Builtin().New("add", sizes, record.FP32)
		if err != nil {
			t.Fatal(err)
		}
		second, err := op.Builtin().New(name, sizes, record.FP32)
		if err != nil {
			t.Fatal(err)
		}
		p := op.Program{Name: name + " in place", Steps: []op.Step{{Op: sum, Bind: []string{"x", "r", "z"}}, {Op: second}}}
		for i, tensor := range sum.Tensors() {
			tensor.Name = p.Steps[0].Bind[i]
			p.Tensors = append(p.Tensors, tensor)
		}
		for i, tensor := range second.Tensors() {
			bind := "z"
			if tensor.Role.Input() && i > 0 {
				if bind = "q" + tensor.Name; name == "add" {
					bind = "x"
				} else {
					tensor.Name = bind
					p.Tensors = append(p.Tensors, tensor)
				}
			}
			p.Steps[1].Bind = append(p.Steps[1].Bind, bind)
		}
		var got [2][]float64
		for i := range got {
			d, err := New().Open("cpu", backend.OpenOptions{CPUs: []int{-1}, Affinity: "none"})
			if err != nil {
				t.Fatal(err)
			}
			dev := d.(*device)
			dev.stores = stores{around: 16 << 20, held: 16 << 20, inPlace: true}
			dev.SetReading(2048*i, 4*i)
			e, err := dev.Prepare(p, backend.PrepareOptions{Seed: 3})
			if err != nil {
				t.Fatal(err)
			}
			if k := e.Kernels()[1].Name; aroundCaches(k) {
				t.Errorf("%s: %s stores around the caches what it has read", name, k)
			}
			if err := e.Fill(false, 0); err != nil {
				t.Fatal(err)
			}
			if err := e.Run(1); err != nil {
				t.Fatal(err)
			}
			got[i] = make([]float64, rows*cols)
			if err := e.Read("z", 0, rows*cols, got[i]); err != nil {
				t.Fatal(err)
			}
			if err := e.Release(); err != nil {
				t.Error(err)
			}
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		}
		bound := 0.0
		if name == "layer_norm" || name == "rms_norm" {
			bound = 1e-5
		}
		for j, v := range got[0] {
			if w := got[1][j]; !(math.Abs(v-w) <= bound) {
				t.Fatalf("%s: element %d: %g, by runs %g", name, j, v, w)
			}
		}
	}
}
