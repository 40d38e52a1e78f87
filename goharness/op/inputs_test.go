package op

import (
	"math"
	"math/big"
	"sync"
	"testing"

	"ridge/goharness/record"
)

func TestSpansAreTheElementsTheyCover(t *testing.T) {
	for _, d := range []record.DType{record.FP64, record.FP32, record.FP16, record.BF16, record.INT8, record.UINT8, record.INT32} {
		for _, fill := range []Fill{FillUniform, FillPositive, FillWide, FillBalanced, FillBytes, FillScales, FillWeights} {
			if fill == FillBytes && d.Float() || fill == FillScales && d != record.FP32 {
				continue
			}
			exponent := int64(0)
			if fill == FillWeights {
				exponent = 3
			}
			for _, integer := range []bool{false, true} {
				in := NewInputs(7, integer, []Tensor{{Name: "other", DType: d, Dims: []int64{9}}, {Name: "x", DType: d, Dims: []int64{1 << 20}, Fill: fill, IntRange: exponent}})
				for _, c := range []struct{ start, step int64 }{{0, 1}, {12345, 1}, {3, 1023}} {
					got := make([]float64, 1000)
					in.Span(1, c.start, c.step, got)
					for k, v := range got {
						if want := in.At(1, c.start+int64(k)*c.step); v != want {
							t.Fatalf("%s fill %d integer %v: element %d is %v in the span, %v alone", d, fill, integer, c.start+int64(k)*c.step, v, want)
						}
					}
				}
			}
		}
	}
}

// Once all elements of a small tensor were asked for they are kept, and are the same; of a large one none are.
func TestElementsThatAreKeptAreThoseThatWereMade(t *testing.T) {
	for _, d := range []record.DType{record.FP64, record.FP32, record.FP16, record.BF16, record.INT8, record.UINT8} {
		for _, fill := range []Fill{FillUniform, FillPositive, FillWide, FillBalanced, FillWeights, FillBytes} {
			if fill == FillBytes && d.Float() {
				continue
			}
			for _, integer := range []bool{false, true} {
				ts := []Tensor{{Name: "x", DType: d, Dims: []int64{3, 1001}, Fill: fill, IntRange: 3}, {Name: "y", DType: d, Dims: []int64{mostMade + 1}, Fill: fill, IntRange: 3}}
				in := NewInputs(7, integer, ts).Bind([]string{"y", "x"})
				var wg sync.WaitGroup
				for range 3 {
					wg.Go(func() {
						for round := range 3 {
							for _, step := range []int64{1, 7, -1} {
								got := make([]float64, 400)
								for start := int64(0); start+399*max(step, 1) < 3003; start += 100 {
									first := start
									if step < 0 {
										first += 399
									}
									in.Span(1, first, step, got)
									for k, v := range got {
										i := first + int64(k)*step
										if want := FillValue(Key(7, 0), integer, &ts[0], i); v != want || in.At(1, i) != want {
											t.Errorf("%s fill %d integer %v, round %d: element %d is %v in the span, %v alone, want %v", d, fill, integer, round, i, v, in.At(1, i), want)
											return
										}
									}
								}
							}
						}
					})
				}
				wg.Wait()
				if in.made[1].values.Load() == nil {
					t.Errorf("%s fill %d integer %v: the elements of a small tensor were made %d times and not kept", d, fill, integer, in.made[1].asked.Load()/3003)
				}
				for range 3 {
					in.Span(0, 0, 1, make([]float64, mostMade))
				}
				if in.made[0].values.Load() != nil {
					t.Errorf("%s: %d elements are kept", d, mostMade+1)
				}
			}
		}
	}
}

func TestAReductionOfManyBlocksIsThatOfItsElements(t *testing.T) {
	const rows, cols = 3, 1<<17 + 5
	for _, name := range []string{"sum", "mean", "max", "min"} {
		o, err := Builtin().New(name, map[string]string{"rows": "3", "cols": "131077"}, record.FP32)
		if err != nil {
			t.Fatal(err)
		}
		in := NewInputs(3, false, o.Tensors())
		got := o.Expect(in, 1, 0)
		best, exact, size := map[string]float64{"max": math.Inf(-1), "min": math.Inf(1)}[name], new(big.Float).SetPrec(300), new(big.Float).SetPrec(300)
		for i := int64(0); i < rows*cols; i++ {
			x := in.At(0, i)
			exact.Add(exact, big.NewFloat(x))
			size.Add(size, big.NewFloat(math.Abs(x)))
			if name == "max" && x > best || name == "min" && x < best {
				best = x
			}
		}
		want := Expectation{Value: best}
		if name == "sum" || name == "mean" {
			s, _ := exact.Float64()
			a, _ := size.Float64()
			n := map[string]float64{"sum": 1, "mean": rows * cols}[name]
			want = Expectation{Value: s / n, Magnitude: a / n}
		}
		if math.Abs(got.Value-want.Value) > 1e-15*math.Abs(want.Value) || math.Abs(got.Magnitude-want.Magnitude) > 1e-15*want.Magnitude {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

func TestBalancedIntegersAreNeverZeroAndSumToZero(t *testing.T) {
	sizes := []int64{1<<16 + 1, 1 << 16, 1517 * 9}
	for n := int64(1); n < 200; n++ {
		sizes = append(sizes, n)
	}
	for _, r := range []int64{0, 1, 11, 100, 127} {
		most := float64(r)
		if r < 3 {
			most = 3 // of r = 0 the default; of 1 the three numbers around an odd one out
		}
		for _, n := range sizes {
			for seed := uint64(1); seed < 4; seed++ {
				x := Tensor{DType: record.BF16, Dims: []int64{n}, Fill: FillBalanced, IntRange: r}
				sum := 0.0
				for i := int64(0); i < n; i++ {
					v := FillValue(Key(seed, 0), true, &x, i)
					if v == 0 || math.Abs(v) > most || v != math.Trunc(v) {
						t.Fatalf("range %d: element %d of %d is %v", r, i, n, v)
					}
					sum += v
				}
				if n > 1 && sum != 0 {
					t.Fatalf("range %d: %d elements sum to %v", r, n, sum)
				}
			}
		}
	}
}

// Parts that kernels leave out by mistake: ends of rows, of vectors and of threads' shares. An
// odd count always shows; an even one may sum to 0 by chance, which must be rare.
func TestWhatIsLeftOutOfBalancedIntegersShows(t *testing.T) {
	hidden, tried := 0, 0
	for _, n := range []int64{64, 1517, 4096, 999983, 1 << 20} {
		for seed := uint64(1); seed <= 40; seed++ {
			in := NewInputs(seed, true, []Tensor{{DType: record.FP32, Dims: []int64{n}, Fill: FillBalanced, IntRange: sumRange}})
			for _, threads := range []int64{1, 2, 3, 4, 8, 16} {
				for _, count := range []int64{1, 2, 3, 4, 8, 16} {
					if n/threads < 8*count { // leave most of them in
						continue
					}
					var tails, ends float64
					for th := int64(1); th <= threads; th++ {
						for k := int64(1); k <= count; k++ {
							tails += in.At(0, n*th/threads-k)
							ends += in.At(0, n*th/threads-k) + in.At(0, n*(th-1)/threads+k-1)
						}
					}
					tried += 2
					if tails == 0 {
						hidden++
						if threads*count%2 == 1 && n%2 == 0 {
							t.Errorf("n=%d threads=%d count=%d: an odd number of odd numbers sums to 0", n, threads, count)
						}
					}
					if ends == 0 {
						hidden++
					}
				}
			}
		}
	}
	if hidden*100 > tried {
		t.Errorf("%d of %d parts sum to 0", hidden, tried)
	}
	t.Logf("%d of %d parts sum to 0", hidden, tried)
}
