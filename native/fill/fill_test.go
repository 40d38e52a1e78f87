//go:build cgo && linux

package fill_test

import (
	"encoding/binary"
	"math"
	"testing"
	"unsafe"

	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/native/fill"
	"ridge/native/kernel"
	"ridge/native/team"
)

var stored = []record.DType{record.FP64, record.FP32, record.FP16, record.BF16, record.INT8, record.UINT8, record.INT32, record.INT64, record.FP8E4M3}

// lead is the bytes before the first element: the guard, and an odd element more so that
// nothing relies on alignment beyond the element's.
const lead = 256 + fill.Guard

// run fills x into fresh memory by each variant, which must write the same bits, and returns all of it, with lead bytes before the tensor
// and as many after it.
func run(t *testing.T, tm *team.Team, x op.Tensor, key uint64, integer bool, poison int) (all []byte) {
	t.Helper()
	for _, v := range fill.Variants() {
		got := runBy(t, v, tm, x, key, integer, poison)
		if all != nil && string(got) != string(all) {
			t.Errorf("%s and %s differ at byte %d: %s kind %d integer %v", v.Name, fill.Variants()[0].Name, firstDifference(got, all), x.DType, x.Fill, integer)
		}
		all = got
	}
	return all
}

func runBy(t *testing.T, v fill.Variant, tm *team.Team, x op.Tensor, key uint64, integer bool, poison int) []byte {
	t.Helper()
	n := lead + x.DType.Size() + x.StorageBytes() + lead
	p := kernel.Alloc(uintptr(n))
	defer kernel.Free(p)
	mem := unsafe.Slice((*byte)(p), n)
	for i := range mem {
		mem[i] = 0x55
	}
	a, err := fill.Args(x, unsafe.Add(p, lead+x.DType.Size()), key, integer, poison)
	if err != nil {
		t.Fatal(err)
	}
	defer kernel.Free(a)
	l := team.NewList([][]team.Step{{{Fn: v.Fn, Args: a}}})
	defer l.Free()
	if err := tm.Run(l, 1); err != nil {
		t.Fatal(err)
	}
	return append([]byte(nil), mem[x.DType.Size():]...)
}

func teams(t *testing.T) []*team.Team {
	t.Helper()
	var out []*team.Team
	for _, n := range []int{1, 3} {
		tm, err := team.New(n, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(tm.Close)
		out = append(out, tm)
	}
	return out
}

// want is the tensor's memory as FillValue says: values, 0xff in the row padding and in the
// guards, everything further out untouched. first is the logical index of the first element.
func want(x op.Tensor, key uint64, integer bool, first int64) []byte {
	mem := make([]byte, lead+x.StorageBytes()+lead)
	for i := range mem {
		mem[i] = 0x55
		if i >= lead-fill.Guard && i < len(mem)-lead+fill.Guard {
			mem[i] = 0xff
		}
	}
	for i := int64(0); i < x.Elements(); i++ {
		v := op.FillValue(key, integer, &x, first+i)
		op.Encode(x.DType, mem[lead+x.Offset(i)*x.DType.Size():], v)
	}
	return mem
}

func firstDifference(a, b []byte) int {
	for i := range a {
		if a[i] != b[i] {
			return i - lead
		}
	}
	return -1
}

func TestTheFillKernelIsBitEqualToFillValue(t *testing.T) {
	tms := teams(t)
	layouts := []op.Tensor{
		{Dims: []int64{0}}, {Dims: []int64{1}}, {Dims: []int64{8195}}, {Dims: []int64{7, 13}}, {Dims: []int64{5, 3, 11}, Pitch: 14},
		{Dims: []int64{0, 4}}, {Dims: []int64{3, 257}, Pitch: 300}, {Dims: []int64{2}}, {Dims: []int64{3}}, {Dims: []int64{64, 128}},
	}
	kinds := []op.Fill{op.FillUniform, op.FillPositive, op.FillBytes, op.FillWide, op.FillBalanced}
	for _, d := range stored {
		for _, kind := range kinds {
			for _, integer := range []bool{false, true} {
				for n, x := range layouts {
					x.Name, x.DType, x.Fill, x.IntRange = "x", d, kind, []int64{0, 1, 100}[n%3]
					key := op.Key(42, n)
					expect := want(x, key, integer, 0)
					for _, tm := range tms {
						got := run(t, tm, x, key, integer, -1)
						if at := firstDifference(got, expect); string(got) != string(expect) {
							t.Fatalf("%s kind %d integer %v dims %v pitch %d threads %d: byte %d differs", d, kind, integer, x.Dims, x.Pitch, tm.Size(), at)
						}
					}
				}
			}
		}
	}
}

// A range that only integers have: random bytes are the same beside any, integers beyond fp16's go an element at a time.
func TestWideRangesAreBitEqualToFillValue(t *testing.T) {
	tms := teams(t)
	for _, c := range []struct {
		dtype   record.DType
		kind    op.Fill
		integer bool
	}{{record.INT8, op.FillBytes, false}, {record.UINT8, op.FillBytes, false}, {record.FP32, op.FillUniform, false}, {record.FP32, op.FillUniform, true},
		{record.INT32, op.FillUniform, true}, {record.FP64, op.FillPositive, true}} {
		x := op.Tensor{Name: "x", DType: c.dtype, Dims: []int64{8195}, Fill: c.kind, IntRange: 40000}
		for _, tm := range tms {
			if got := run(t, tm, x, 7, c.integer, -1); string(got) != string(want(x, 7, c.integer, 0)) {
				t.Errorf("%s kind %d integer %v: byte %d differs", c.dtype, c.kind, c.integer, firstDifference(got, want(x, 7, c.integer, 0)))
			}
		}
	}
}

func TestScalesAreBitEqualToFillValue(t *testing.T) {
	tms := teams(t)
	for _, exponent := range []int64{0, 1, 12, 126} {
		for _, integer := range []bool{false, true} {
			x := op.Tensor{Name: "x", DType: record.FP32, Dims: []int64{8195}, Fill: op.FillScales, IntRange: exponent}
			for _, tm := range tms {
				if got := run(t, tm, x, 7, integer, -1); string(got) != string(want(x, 7, integer, 0)) {
					t.Errorf("exponent %d integer %v: byte %d differs", exponent, integer, firstDifference(got, want(x, 7, integer, 0)))
				}
			}
		}
	}
}

func TestWeightsAreBitEqualToFillValue(t *testing.T) {
	tms := teams(t)
	for _, d := range []record.DType{record.FP64, record.FP32, record.FP16, record.BF16} {
		for _, exponent := range []int64{0, 3, 12} {
			for _, integer := range []bool{false, true} {
				x := op.Tensor{Name: "x", DType: d, Dims: []int64{8195}, Fill: op.FillWeights, IntRange: exponent}
				for _, tm := range tms {
					if got := run(t, tm, x, 7, integer, -1); string(got) != string(want(x, 7, integer, 0)) {
						t.Errorf("%s exponent %d integer %v: byte %d differs", d, exponent, integer, firstDifference(got, want(x, 7, integer, 0)))
					}
				}
			}
		}
	}
}

// Element i under key k is element i-m under k + m·golden: so the stream beyond 2^32 is
// reached without an array of that size.
func TestElementsBeyondFourBillionFollowTheSameStream(t *testing.T) {
	const golden = 0x9E3779B97F4A7C15
	tms := teams(t)
	for _, first := range []uint64{1<<32 - 5, 1 << 33, 1<<40 + 3} {
		for _, d := range stored {
			x := op.Tensor{Name: "x", DType: d, Dims: []int64{4099}}
			got := run(t, tms[1], x, 7+first*golden, false, -1)
			if string(got) != string(want(x, 7, false, int64(first))) {
				t.Errorf("%s from element %d: other bits", d, first)
			}
		}
	}
}

func TestPoisonCoversStorageAndGuardsAndNothingElse(t *testing.T) {
	tms := teams(t)
	for _, tm := range tms {
		for poison, b := range []byte{0xff, 0x7f} {
			for _, x := range []op.Tensor{{Dims: []int64{0}}, {Dims: []int64{5, 3}, Pitch: 7}, {Dims: []int64{70001}}} {
				x.Name, x.DType = "x", record.FP32
				got := run(t, tm, x, 1, false, poison)
				for i, v := range got {
					expect := byte(0x55)
					if i >= lead-fill.Guard && int64(i) < lead+x.StorageBytes()+fill.Guard {
						expect = b
					}
					if v != expect {
						t.Fatalf("poison %d dims %v threads %d: byte %d is %#x, expected %#x", poison, x.Dims, tm.Size(), i-lead, v, expect)
					}
				}
				if fill.PoisonByte(poison) != b {
					t.Errorf("PoisonByte(%d) = %#x, expected %#x", poison, fill.PoisonByte(poison), b)
				}
			}
		}
	}
}

func TestTheChaseFillIsBitEqualAndOneCycleOverAllLines(t *testing.T) {
	tms := teams(t)
	for _, elements := range []int64{0, 3, 8, 16, 24, 56, 64 * 8, 1000 * 8, 1000*8 + 5} {
		for seed := uint64(1); seed <= 3; seed++ {
			x := op.Tensor{Name: "a", DType: record.INT64, Dims: []int64{elements}, Fill: op.FillChase}
			key := op.Key(seed, 0)
			expect := want(x, key, false, 0)
			for _, tm := range tms {
				got := run(t, tm, x, key, seed == 2, -1)
				if string(got) != string(expect) {
					t.Fatalf("%d elements, seed %d, %d threads: byte %d differs", elements, seed, tm.Size(), firstDifference(got, expect))
				}
				cycle(t, got[lead:], elements/op.ChaseStride, key)
			}
		}
	}
}

// cycle walks the links from element 0: they must come back to it after exactly lines steps,
// through every line once, and ChaseAfter must know where each step ends.
func cycle(t *testing.T, mem []byte, lines int64, key uint64) {
	t.Helper()
	seen := make([]bool, lines)
	at := int64(0)
	for step := int64(0); step < lines; step++ {
		if at%op.ChaseStride != 0 || at < 0 || at/op.ChaseStride >= lines || seen[at/op.ChaseStride] {
			t.Fatalf("%d lines: step %d is at element %d, outside or for the second time", lines, step, at)
		}
		if after := op.ChaseAfter(key, lines, step); after != at {
			t.Fatalf("%d lines: ChaseAfter(%d) = %d, the walk is at %d", lines, step, after, at)
		}
		seen[at/op.ChaseStride] = true
		at = int64(binary.LittleEndian.Uint64(mem[at*8:]))
	}
	if at != 0 {
		t.Fatalf("%d lines: the walk ends at element %d, expected a cycle back to 0", lines, at)
	}
}

func TestArgsRefuseWhatCannotBeFilled(t *testing.T) {
	for _, x := range []op.Tensor{
		{Name: "x", DType: record.INT4, Dims: []int64{4}},
		{Name: "x", DType: record.FP32, Dims: []int64{64}, Fill: op.FillChase},
		{Name: "x", DType: record.INT64, Dims: []int64{2, 64}, Fill: op.FillChase},
		{Name: "x", DType: record.BF16, Dims: []int64{64}, Fill: op.FillScales},
	} {
		if p, err := fill.Args(x, nil, 1, false, -1); err == nil {
			kernel.Free(p)
			t.Errorf("%s%v fill %d: no error", x.DType, x.Dims, x.Fill)
		}
	}
}

func TestPoisonIsNotANumber(t *testing.T) {
	for _, d := range []record.DType{record.FP64, record.FP32, record.FP16, record.BF16, record.FP8E4M3} {
		b := make([]byte, 8)
		for i := range b {
			b[i] = fill.PoisonByte(0)
		}
		if v := op.Decode(d, b); !math.IsNaN(v) {
			t.Errorf("%s: poison 0 decodes to %g", d, v)
		}
	}
}
