//go:build cgo && linux

package elementwise_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/native"
	"ridge/native/elementwise"
	"ridge/native/kernel"
	"ridge/native/kerneltest"
)

var dtypes = []record.DType{record.FP32, record.BF16}

func params(kv ...any) map[string]string {
	p := map[string]string{}
	for i := 0; i+1 < len(kv); i += 2 {
		p[kv[i].(string)] = fmt.Sprint(kv[i+1])
	}
	return p
}

func TestElementwiseKernelsMatchTheExpectation(t *testing.T) {
	var ops []op.Op
	for _, d := range dtypes {
		for _, s := range op.ElementwiseSpecs() {
			for _, rc := range [][2]int{{0, 5}, {1, 1}, {9, 29}} {
				ops = append(ops, kerneltest.Op(t, s.Name, d, params("rows", rc[0], "cols", rc[1])))
			}
		}
	}
	kerneltest.All(t, native.New(), ops)
}

func TestPerChannelKernelsMatchTheExpectation(t *testing.T) {
	var ops []op.Op
	for _, d := range dtypes {
		for _, rc := range [][2]int{{0, 5}, {5, 0}, {1, 1}, {300, 1}, {33, 3}, {13, 37}, {2, 1031}, {9, 63}, {9, 64}, {9, 65}, {31, 100}, {301, 7}} {
			ops = append(ops, kerneltest.Op(t, "bias_add", d, params("rows", rc[0], "cols", rc[1])))
		}
		for _, layout := range []string{"nchw", "nhwc"} {
			for _, s := range [][4]int{{0, 3, 2, 2}, {1, 1, 1, 1}, {2, 3, 5, 7}, {3, 17, 1, 1}, {2, 19, 7, 7}, {1, 63, 3, 4}, {1, 64, 3, 3}, {1, 65, 4, 4}, {2, 130, 3, 3}, {1, 2, 17, 17}} {
				ops = append(ops, kerneltest.Op(t, "batch_norm", d, params("n", s[0], "c", s[1], "h", s[2], "w", s[3], "layout", layout)))
			}
		}
	}
	kerneltest.All(t, native.New(), ops)
}

// Planes of one channel, as NCHW images have them: short ones, and those of bf16 that go in groups, in whole and with both ends.
func TestABiasIsAddedToPlanesOfItsChannel(t *testing.T) {
	b := native.New()
	for _, d := range dtypes {
		var names []string
		for _, f := range b.Families {
			for _, k := range f.Kernels {
				if k.Implements("bias_add", d) && kernel.Detect().Has(k.ISA) {
					names = append(names, k.Name)
				}
			}
		}
		for _, s := range [][3]int{{0, 64, 7}, {1, 1, 1}, {1, 64, 7}, {2, 3, 49}, {1, 5, 1031}, {3, 2, 256}, {4, 37, 1}} {
			outer, channels, inner := s[0], s[1], s[2]
			x, bias := make([]float32, outer*channels*inner), make([]float32, channels)
			for i := range x {
				x[i] = float32(i%13 - 6)
			}
			for c := range bias {
				bias[c] = float32(c % 64)
			}
			for _, k := range names {
				y, err := elementwise.ApplyBias(k, x, bias, inner)
				if err != nil {
					t.Error(err)
					continue
				}
				for i, got := range y {
					if want := x[i] + bias[i/inner%channels]; got != want {
						t.Errorf("%s, %d x %d planes of %d: element %d is %g, want %g", k, outer, channels, inner, i, got, want)
						break
					}
				}
			}
		}
	}
}

// The variants with non-temporal stores take only arrays beyond 64 MiB, or less where their processor tells; one op of each
// kernel, misaligned, is enough: the functions are the same source.
func TestNonTemporalKernelsTakeAndPassLargeArrays(t *testing.T) {
	if testing.Short() {
		t.Skip("fills arrays of 100 MiB")
	}
	b := native.New()
	dev, err := b.Open("cpu", backend.OpenOptions{CPUs: []int{-1, -1}, Affinity: "none"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dev.Close() }()
	runs, err := b.Open("cpu", backend.OpenOptions{CPUs: []int{-1, -1}, Affinity: "none"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = runs.Close() }()
	kerneltest.ReadRuns(runs)
	for _, d := range dtypes {
		const cols, c, h, w = 1031, 67, 37, 41
		whole := (64 << 20) / (2 * int(d.Size()))
		for _, name := range []string{"relu", "add", "bias_add", "batch_norm nchw", "batch_norm nhwc"} {
			name, layout, _ := strings.Cut(name, " ")
			large, few := params("rows", whole/cols+2, "cols", cols), params("rows", 3, "cols", cols)
			if layout != "" {
				large, few = params("n", whole/(c*h*w)+1, "c", c, "h", h, "w", w, "layout", layout), params("n", 1, "c", c, "h", h, "w", w, "layout", layout)
			}
			o, small := kerneltest.Remember(kerneltest.Op(t, name, d, large)), kerneltest.Op(t, name, d, few)
			ran := 0
			for _, k := range kerneltest.Names(b, o) {
				if !strings.HasSuffix(k, "_nt") {
					if strings.HasSuffix(k, "_avx512") { // stores into the caches, and has parts where several runs are read
						if err := kerneltest.One(runs, o, k, d.Size()); err != nil {
							t.Errorf("%s: %v", k, err)
						}
					}
					continue
				}
				ran++
				for _, dev := range []backend.Device{dev, runs} {
					if err := kerneltest.One(dev, o, k, d.Size()); err != nil {
						t.Errorf("%s: %v", k, err)
					}
				}
				var unsupported *backend.UnsupportedError
				if err := kerneltest.One(dev, small, k, 0); !errors.As(err, &unsupported) {
					t.Errorf("%s on a small array: got %v, expected it to refuse", k, err)
				}
			}
			if ran == 0 && runtime.GOARCH == "amd64" {
				t.Errorf("%s: no kernel with non-temporal stores", name)
			}
		}
	}
}
