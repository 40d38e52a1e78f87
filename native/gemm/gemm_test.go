//go:build cgo && linux

package gemm_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/goharness/runner"
	"ridge/native"
	"ridge/native/gemm"
	"ridge/native/internal/badgemm"
	"ridge/native/kernel"
	"ridge/native/kerneltest"
)

func shape(m, n, k int, more ...string) map[string]string {
	p := map[string]string{"m": fmt.Sprint(m), "n": fmt.Sprint(n), "k": fmt.Sprint(k)}
	for i := 0; i+1 < len(more); i += 2 {
		p[more[i]] = more[i+1]
	}
	return p
}

// Few multiply-adds each, because every registered kernel and model runs each of them:
// register tiles are 6..32 rows by 6..32 columns, MC 64..256, KC 256 (fp) to 1024 (8-bit),
// NC 3072 and 4096.
func TestGemmKernelsMatchTheExpectation(t *testing.T) {
	any := []map[string]string{
		shape(1, 1, 1), shape(0, 4, 4), shape(4, 0, 4), shape(5, 5, 0),
		shape(14, 33, 270), // whole and partial tiles over two K blocks
		shape(5, 7, 1100),  // over KC of the 8-bit kernels
		shape(5, 4100, 2),  // over NC
	}
	// K over 256: the ways that small products do not take (those: TestSmallProductsOfEveryHeightAndWidth).
	float := []map[string]string{
		shape(33, 35, 257),                    // one past the widest tile in M and N
		shape(300, 3, 260),                    // over MC
		shape(1, 131, 258), shape(3, 70, 259), // one row, three rows: no packing
		shape(129, 1, 257), shape(12, 29, 270), // one column; a few rows
		shape(21, 35, 267, "tb", "1"), shape(19, 29, 261, "lda", "270", "ldb", "37", "ldc", "45"),
		shape(2, 29, 261, "lda", "270", "ldb", "37", "ldc", "45"), shape(3, 19, 262, "tb", "1", "ldb", "263"),
		shape(19, 23, 290, "alpha", "2", "beta", "1"), shape(9, 20, 300, "alpha", "-3", "beta", "1", "ldc", "21"),
		shape(2, 20, 300, "alpha", "-3", "beta", "1"),
		shape(70, 35, 300, "tb", "1"), shape(67, 9, 259, "tb", "1", "ldb", "263", "beta", "1"), // B turned into the workspace
		shape(13, 17, 265), shape(5, 1, 530, "ldc", "3"), // a last column by dot products
		shape(9, 11, 261, "beta", "1"), shape(10, 22, 261, "alpha", "-3", "beta", "1"), // a vector and less than half of another
	}
	bytes := []map[string]string{
		shape(7, 13, 17), shape(33, 35, 37), shape(300, 3, 5), shape(1, 257, 129), shape(129, 1, 40),
		shape(13, 29, 31, "lda", "40", "ldb", "37", "ldc", "45"), shape(21, 35, 67, "tb", "1"),
		shape(33, 35, 37, "tb", "1", "ldb", "41"), shape(2, 19, 150, "tb", "1"),
		shape(33, 35, 1100), // full tiles of every 8-bit variant over two K blocks
	}
	var ops, floats []op.Op
	for _, d := range []record.DType{record.FP64, record.FP32, record.FP16, record.BF16, record.INT8, record.U8S8, record.TF32, record.FP8E4M3} {
		list := slices.Concat(any, bytes)
		if d.Float() {
			list = slices.Concat(any, float)
		}
		for _, s := range list {
			ops = append(ops, kerneltest.Op(t, "gemm", d, s))
		}
		if d.Float() && d.Size() > 1 {
			for _, s := range float {
				floats = append(floats, kerneltest.Op(t, "gemm", d, s))
			}
		}
	}
	kerneltest.All(t, native.New(), ops)
	kerneltest.AllWith(t, native.New(), floats, packed)
}

// packed are blocks that ask for the loops that pack B and are each kernel's own, where a B that stays in L2 goes other ways.
var packed = map[string]int64{"nc": 1 << 14}

// Every number of columns up to two of the widest vectors and beyond, and of rows up to two tiles:
// the small products' tiles of all heights and widths, and of part of a vector.
func TestSmallProductsOfEveryHeightAndWidth(t *testing.T) {
	for _, d := range []record.DType{record.FP64, record.FP32, record.FP16, record.BF16} {
		var ops []op.Op
		for i := 1; i <= 33; i += 1 + i/9 {
			ops = append(ops, kerneltest.Op(t, "gemm", d, shape(1+i*5%26, i, 1+i%9)))
		}
		for i := 1; i <= 13; i += 2 {
			ops = append(ops, kerneltest.Op(t, "gemm", d, shape(i, 67-5*i, 6, "ldc", "70", "tb", fmt.Sprint(i%4/2), "beta", fmt.Sprint(i%3/2))))
		}
		// Shared by the threads: rows, columns, columns of B turned, rows of it.
		ops = append(ops, kerneltest.Op(t, "gemm", d, shape(37, 41, 43)), kerneltest.Op(t, "gemm", d, shape(3, 100, 70)),
			kerneltest.Op(t, "gemm", d, shape(19, 103, 21, "tb", "1")), kerneltest.Op(t, "gemm", d, shape(37, 11, 50, "tb", "1")))
		kerneltest.All(t, native.New(), ops)
	}
}

// A matrix times a vector: the only column of B goes by dot products from some multiply-adds on, in one run or with rows of B between its elements, stored either
// way, also of more of K than others keep at hand, four rows of A at a time and those left.
func TestAnOnlyColumnGoesByDotProducts(t *testing.T) {
	var ops []op.Op
	for _, d := range []record.DType{record.FP64, record.FP32, record.BF16} {
		for _, m := range []int{2, 3, 5, 64, 71} {
			for _, k := range []int{15, 16, 37, 64, 300} {
				for _, tb := range []string{"0", "1"} {
					ops = append(ops, kerneltest.Op(t, "gemm", d, shape(m, 1, k, "tb", tb)))
				}
			}
		}
		ops = append(ops, kerneltest.Op(t, "gemm", d, shape(7, 1, 4111)), kerneltest.Op(t, "gemm", d, shape(7, 1, 4111, "tb", "1", "ldb", "4120", "lda", "4113")),
			kerneltest.Op(t, "gemm", d, shape(7, 1, 4111, "ldb", "3")), kerneltest.Op(t, "gemm", d, shape(70, 1, 67, "ldb", "3", "ldc", "2", "alpha", "-3", "beta", "1")),
			kerneltest.Op(t, "gemm", d, shape(70, 1, 67, "tb", "1", "ldc", "2", "beta", "1")), kerneltest.Op(t, "gemm", d, shape(30, 1, 67, "batch", "3", "tb", "1")),
			kerneltest.Op(t, "gemm", d, shape(30, 1, 67, "batch", "3")))
		if d != record.FP64 {
			ops = append(ops, kerneltest.Op(t, "linear", d, shape(70, 1, 67, "act", "gelu")), kerneltest.Op(t, "linear", d, shape(70, 1, 67, "packed", "1")))
		}
	}
	kerneltest.All(t, native.New(), ops)
}

// Rows of both where they lie: tiles of every height and width, even ones and one less, with the end of a vector, pitches, what ends a sum, and batches.
func TestRowsMeetRowsWhereTheyLie(t *testing.T) {
	var ops []op.Op
	for _, d := range []record.DType{record.FP64, record.FP32} {
		for m := 2; m <= 13; m++ {
			for _, n := range []int{2, 3, 4, 5, 7} {
				k := 64 + (m*n)%19
				ops = append(ops, kerneltest.Op(t, "gemm", d, shape(m, n, k, "tb", "1", "lda", fmt.Sprint(k+m%3), "ldb", fmt.Sprint(k+n%2), "ldc", fmt.Sprint(n+m%2))))
			}
		}
		ops = append(ops, kerneltest.Op(t, "gemm", d, shape(5, 7, 130, "tb", "1", "alpha", "-3", "beta", "1")), kerneltest.Op(t, "gemm", d, shape(5, 7, 130, "tb", "1", "alpha", "2")),
			kerneltest.Op(t, "gemm", d, shape(5, 37, 130, "tb", "1", "batch", "3")), kerneltest.Op(t, "gemm", d, shape(67, 3, 130, "tb", "1", "batch", "9")),
			kerneltest.Op(t, "gemm", d, shape(131, 4, 1100, "tb", "1")), kerneltest.Op(t, "gemm", d, shape(6, 131, 300, "tb", "1")))
	}
	ops = append(ops, kerneltest.Op(t, "linear", record.FP32, shape(9, 21, 130, "act", "gelu")))
	kerneltest.All(t, native.New(), ops)
}

// Products that are one tile and go straight to it: all heights of a part of a vector, one and two vectors (of 4, 8 and 16 elements), with
// steps of K that go row by row and what is left of them. One row more is two tiles; a 17th column of 16 may go by dot products.
func TestProductsOfOneTile(t *testing.T) {
	for _, d := range []record.DType{record.FP64, record.FP32} {
		var ops []op.Op
		for m := 1; m <= 17; m++ {
			for i, n := range []int{4, 7, 8, 16, 17, 32} {
				k := 1 + (m+3*i)%11
				if n == 17 && m%2 == 0 {
					k += 16
				}
				ops = append(ops, kerneltest.Op(t, "gemm", d, shape(m, n, k, "lda", fmt.Sprint(k+m%3), "ldb", fmt.Sprint(n+m%2), "ldc", fmt.Sprint(n+m%4))))
			}
		}
		kerneltest.All(t, native.New(), ops)
	}
}

// A K between one block and GEMM_WHOLE_KC of the kernels that have one, in one block where rows are many.
func TestManyRowsTakeALongerKInOneBlock(t *testing.T) {
	for _, d := range []record.DType{record.FP16, record.BF16} {
		kerneltest.AllWith(t, native.New(), []op.Op{kerneltest.Op(t, "gemm", d, shape(239, 37, 701))}, packed)
	}
}

func TestBatchesOfProducts(t *testing.T) {
	var ops, floats []op.Op
	for _, d := range []record.DType{record.FP64, record.FP32, record.FP16, record.BF16, record.INT8, record.U8S8} {
		for _, s := range []map[string]string{
			shape(5, 7, 9, "batch", "1"), shape(5, 7, 9, "batch", "2"), shape(8, 16, 8, "batch", "3"), shape(3, 9, 5, "batch", "13"),
			shape(4, 5, 6, "batch", "7", "lda", "8", "ldb", "9", "ldc", "7"), shape(4, 19, 6, "batch", "7", "tb", "1", "ldb", "9"),
			shape(0, 5, 6, "batch", "3"), shape(4, 5, 0, "batch", "3"), shape(20, 30, 40, "batch", "2"),
			shape(17, 9, 261, "batch", "3"), shape(2, 9, 261, "batch", "3"), // the ordinary ways
			shape(17, 9, 261, "batch", "4", "tb", "1"), shape(65, 70, 300, "batch", "12", "lda", "301", "ldc", "71"), // whole products
			shape(263, 67, 129, "tb", "1", "lda", "130", "ldc", "70"), shape(130, 64, 128), // rows apart
		} {
			if d.Float() {
				s["alpha"], s["beta"] = "2", fmt.Sprint(len(ops)%2)
			}
			ops = append(ops, kerneltest.Op(t, "gemm", d, s))
			if d.Float() {
				floats = append(floats, ops[len(ops)-1])
			}
		}
	}
	kerneltest.All(t, native.New(), ops)
	kerneltest.AllWith(t, native.New(), floats, packed)
}

func TestLinearKernelsApplyBiasAndActivation(t *testing.T) {
	var ops []op.Op
	for _, d := range []record.DType{record.FP32, record.BF16, record.TF32, record.FP8E4M3} {
		for _, act := range op.Activations {
			ops = append(ops, kerneltest.Op(t, "linear", d, shape(11, 21, 33, "act", act)))
		}
		ops = append(ops, kerneltest.Op(t, "linear", d, shape(9, 20, 520, "act", "gelu")),
			kerneltest.Op(t, "linear", d, shape(2, 20, 70, "act", "silu")),
			kerneltest.Op(t, "linear", d, shape(9, 20, 30, "bias", "0")))
	}
	kerneltest.All(t, native.New(), ops)
}

func TestGemvKernelsMatchTheExpectation(t *testing.T) {
	var ops []op.Op
	for _, d := range []record.DType{record.FP64, record.FP32} {
		for _, s := range [][2]int{{0, 3}, {3, 0}, {1, 1}, {5, 7}, {97, 31}, {40, 300}, {200, 129}} {
			ops = append(ops, kerneltest.Op(t, "gemv", d, map[string]string{"m": fmt.Sprint(s[0]), "n": fmt.Sprint(s[1])}))
		}
	}
	kerneltest.All(t, native.New(), ops)
}

// open starts a team of unpinned threads, more than there may be CPUs.
func open(t *testing.T, b *native.Backend, threads int) backend.Device {
	t.Helper()
	cpus := make([]int, threads)
	for i := range cpus {
		cpus[i] = -1
	}
	dev, err := b.Open("cpu", backend.OpenOptions{CPUs: cpus, Affinity: "none"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dev.Close() })
	return dev
}

func TestLargerShapesWithEveryRunnableKernelOnTwoThreads(t *testing.T) {
	b := native.New()
	dev := open(t, b, 2)
	for _, d := range []record.DType{record.FP64, record.FP32, record.BF16, record.INT8, record.U8S8} {
		o := kerneltest.Remember(kerneltest.Op(t, "gemm", d, shape(130, 70, 520)))
		for _, k := range kerneltest.Names(b, o) {
			if strings.HasSuffix(k, "_model") {
				continue
			}
			for _, params := range []map[string]int64{nil, packed} {
				if err := kerneltest.With(dev, o, k, params); err != nil {
					t.Errorf("%s %s %v: %v", k, kerneltest.Describe(o), params, err)
				}
			}
		}
	}
}

func TestMoreThreadsThanTilesLeaveNoTileOut(t *testing.T) {
	b := native.New()
	for _, threads := range []int{2, 7, 16} {
		dev := open(t, b, threads)
		for _, s := range []map[string]string{shape(40, 50, 9), shape(200, 5, 9), shape(5, 200, 1400)} {
			for _, d := range []record.DType{record.FP32, record.BF16, record.INT8} {
				o := kerneltest.Op(t, "gemm", d, s)
				if err := kerneltest.One(dev, o, "", 0); err != nil {
					t.Errorf("%s %s threads=%d: %v", d, kerneltest.Describe(o), threads, err)
				}
			}
		}
	}
}

func TestTheVerifierCatchesPlantedFaults(t *testing.T) {
	bad := badgemm.Family(gemm.Family())
	dev := open(t, native.New(bad), 2)
	o := kerneltest.Op(t, "gemm", record.FP32, shape(9, 17, 64, "ldc", "20"))
	for _, k := range bad.Kernels {
		err := kerneltest.One(dev, o, k.Name, 0)
		var unsupported *backend.UnsupportedError
		switch {
		case errors.As(err, &unsupported):
			t.Errorf("%s did not run: %v", k.Name, err)
		case k.Name == badgemm.Control && err != nil:
			t.Errorf("the kernel without a fault was refused: %v", err)
		case k.Name != badgemm.Control && err == nil:
			t.Errorf("%s passed verification", k.Name)
		}
	}
}

// One chain of additions errs by more than 4 u of the magnitude once in 200,000 random outputs;
// these seeds are such ones. No correct kernel may be called wrong for them.
func TestTheBoundHoldsForTheWorstSingleChains(t *testing.T) {
	b := native.New()
	dev := open(t, b, 1)
	p := op.Single(kerneltest.Op(t, "gemm", record.FP32, shape(1, 1, 4096)))
	worst := 0.0
	for _, seed := range []uint64{237935, 285392, 536306, 545604, 849698} {
		for _, k := range kerneltest.Names(b, p.Reference) {
			e, err := dev.Prepare(p, backend.PrepareOptions{Kernel: k, Seed: seed})
			if err != nil {
				t.Fatal(err)
			}
			v, err := runner.Verify(context.Background(), e, p, seed, runner.DefaultEffort)
			if err != nil {
				t.Fatal(err)
			}
			if !v.Passed {
				t.Errorf("%s seed %d: %+v", k, seed, v.Mismatch)
			}
			worst = max(worst, v.WorstBound*v.BoundC)
			if err := e.Release(); err != nil {
				t.Error(err)
			}
		}
	}
	t.Logf("worst error %.2f u of the magnitude", worst)
	if worst < 4 {
		t.Errorf("the worst error was %.2f u: these seeds should give more than 4", worst)
	}
}

func TestBF16DotProductsRankByTheCoresThatRunThemWell(t *testing.T) {
	table := func() []kernel.Kernel {
		return []kernel.Kernel{{Name: "gemm_bf16_avx512_14x32", Rank: 30}, {Name: "gemm_bf16_avx512bf16_14x32", Rank: 40}, {Name: "gemm_bf16_amx_32x32", Rank: 50},
			{Name: "mlp_bf16_avx512bf16_14x32", Rank: 40}}
	}
	zen4 := kerneltest.Feature(t, "avx512f") | kerneltest.Feature(t, "avx512bf16")
	for _, c := range []struct {
		name string
		have kernel.Mask
		dot  int
	}{{"Zen 4", zen4, 40}, {"Sapphire Rapids without AMX", zen4 | kerneltest.Feature(t, "avx512fp16"), 29}} {
		got := gemm.Ranked(table(), c.have)
		if got[0].Rank != 30 || got[1].Rank != c.dot || got[2].Rank != 50 || got[3].Rank != c.dot {
			t.Errorf("%s: ranks %d, %d, %d, %d; want 30, %d, 50, %d", c.name, got[0].Rank, got[1].Rank, got[2].Rank, got[3].Rank, c.dot, c.dot)
		}
	}
}

// On Intel's cores without AVX512-FP16 the kernels for them come before the other 512-bit ones, that of many rows where they are many.
func TestIntelsKernelsRankByCoreAndRows(t *testing.T) {
	table := func() []kernel.Kernel {
		return []kernel.Kernel{{Name: "gemm_fp32_avx512_14x32", Rank: 30}, {Name: "gemm_fp32_avx512intel_14x32", Rank: 25}, {Name: "gemm_fp32_avx512intel_6x64", Rank: 25},
			{Name: "gemm_fp32_avx512fp16_14x32", Rank: 35}, {Name: "gemm_fp32_avx512intel_6x64_model", Rank: -1}}
	}
	for _, c := range []struct {
		core  string
		have  kernel.Mask
		m     string
		first []string // from the highest rank on, of a product and of the fused layers
	}{
		{"Zen 4", 0, "512", []string{"gemm_fp32_avx512_14x32"}},
		{"Ice Lake", kernel.Intel, "512", []string{"gemm_fp32_avx512intel_6x64", "gemm_fp32_avx512intel_14x32", "gemm_fp32_avx512_14x32"}},
		{"Ice Lake, few rows", kernel.Intel, "95", []string{"gemm_fp32_avx512intel_14x32", "gemm_fp32_avx512_14x32"}},
		{"Sapphire Rapids", kernel.Intel | kerneltest.Feature(t, "avx512fp16"), "512", []string{"gemm_fp32_avx512fp16_14x32", "gemm_fp32_avx512intel_6x64"}},
	} {
		got := gemm.Ranked(table(), c.have)
		if c.have&kerneltest.Feature(t, "avx512fp16") == 0 {
			got = slices.DeleteFunc(got, func(k kernel.Kernel) bool { return k.Name == "gemm_fp32_avx512fp16_14x32" })
		}
		for _, name := range []string{"gemm", "linear", "swiglu", "mlp"} {
			p := map[string]string{"m": c.m, "n": "512", "k": "512"}
			if name == "mlp" {
				p["h"] = "512"
			}
			o := kerneltest.Op(t, name, record.FP32, p)
			slices.SortStableFunc(got, func(a, b kernel.Kernel) int { return b.RankOn(o, 1) - a.RankOn(o, 1) })
			for i, want := range c.first {
				if got[i].Name != want {
					t.Errorf("%s of %s: place %d has %s of rank %d, want %s", name, c.core, i+1, got[i].Name, got[i].RankOn(o, 1), want)
				}
			}
			if last := got[len(got)-1]; last.Name != "gemm_fp32_avx512intel_6x64_model" || last.RankOn(o, 1) != -1 {
				t.Errorf("%s of %s: the last is %s of rank %d: models run only when they are forced", name, c.core, last.Name, last.RankOn(o, 1))
			}
		}
	}
}

// Kernels that have the names in the table, or the rank would silently stay.
func TestTheRankedKernelExists(t *testing.T) {
	kerneltest.NeedModels(t)
	for _, name := range []string{"gemm_bf16_avx512bf16_14x32_model", "mlp_bf16_avx512bf16_14x32_model", "gemm_fp32_avx512intel_6x64_model", "gemm_fp64_avx512intel_6x32_model"} {
		if !slices.ContainsFunc(gemm.Family().Kernels, func(k kernel.Kernel) bool { return k.Name == name }) {
			t.Errorf("%s is not in the table: was the kernel renamed?", name)
		}
	}
}

// wrapping computes the one long sum once, and without the integers from -3 to 3, whose sum does not wrap.
type wrapping struct {
	op.Op
	sum func(*op.Inputs) op.Expectation
}

func (w wrapping) IntegerExact() (bool, string)                          { return false, "it does not wrap" }
func (w wrapping) Expect(in *op.Inputs, out int, i int64) op.Expectation { return w.sum(in) }

// The mean product of a random byte of 0..255 and one of -128..127 is -64: over 36 million of them
// the sum leaves int32, and wraps in the kernels' accumulators and in the expectation.
func TestIntegerSumsThatLeaveInt32WrapAsExpected(t *testing.T) {
	if testing.Short() {
		t.Skip("a long sum")
	}
	const seed = 42
	o := kerneltest.Op(t, "gemm", record.U8S8, shape(1, 1, 36_000_000))
	p := op.Single(o)
	var known *op.Expectation
	p.Reference = wrapping{o, func(in *op.Inputs) op.Expectation {
		if known == nil {
			e := o.Expect(in, 2, 0)
			known = &e
		}
		return *known
	}}
	e, err := open(t, native.New(), 2).Prepare(p, backend.PrepareOptions{Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Release() }()
	if v, err := runner.Verify(context.Background(), e, p, seed, runner.DefaultEffort); err != nil || !v.Passed {
		t.Errorf("%+v, %v", v.Mismatch, err)
	}
}

// No CPU multiplies in these precisions: nothing is picked for them, and what is forced says that it is a reference.
func TestReferencesOfTensorPrecisionsRunWhenForcedAlone(t *testing.T) {
	dev, err := native.New().Open("cpu", backend.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	for d, want := range map[record.DType]string{record.TF32: "gemm_tf32_portable", record.FP8E4M3: "gemm_fp8_e4m3_portable"} {
		o := kerneltest.Op(t, "gemm", d, shape(5, 7, 9))
		if _, err := dev.Kernels(o); !backend.IsUnsupported(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want unsupported with the reference %s", d, err, want)
		}
		if _, err := dev.Prepare(op.Single(o), backend.PrepareOptions{}); !backend.IsUnsupported(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want unsupported with the reference %s", d, err, want)
		}
		if err := kerneltest.One(dev, o, want, 0); err != nil {
			t.Errorf("%s forced: %v", d, err)
		}
	}
}
