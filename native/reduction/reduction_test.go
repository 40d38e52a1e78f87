//go:build cgo && linux

package reduction_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/native"
	"ridge/native/kerneltest"
)

func params(kv ...any) map[string]string {
	p := map[string]string{}
	for i := 0; i+1 < len(kv); i += 2 {
		p[kv[i].(string)] = fmt.Sprint(kv[i+1])
	}
	return p
}

func TestReductionKernelsMatchTheExpectation(t *testing.T) {
	var ops []op.Op
	for _, d := range []record.DType{record.FP64, record.FP32, record.BF16} {
		for _, name := range []string{"sum", "mean", "max", "min", "argmax"} {
			for _, dim := range []string{"all", "0", "1"} {
				shapes := [][2]int{{9, 29}}
				if name == "sum" {
					// 3 threads × 1,024 columns switch dim 0 to columns; 9,001 elements are
					// several blocks of a run.
					shapes = append(shapes, [2]int{1, 1}, [2]int{0, 5}, [2]int{5, 0}, [2]int{9, 3079}, [2]int{1, 9001}, [2]int{131, 2})
				}
				if name == "argmax" {
					shapes = append(shapes, [2]int{1, 1}, [2]int{9, 3079}, [2]int{1, 9001}, [2]int{131, 2})
				}
				if dim == "1" { // rows side by side in lanes, and one more column
					shapes = append(shapes, [2]int{37, 1}, [2]int{19, 3}, [2]int{33, 8}, [2]int{32, 9}, [2]int{35, 16}, [2]int{18, 17})
				}
				if dim == "0" { // every rest of eight rows
					shapes = append(shapes, [2]int{7, 35}, [2]int{14, 50})
				}
				for _, s := range shapes {
					ops = append(ops, kerneltest.Op(t, name, d, params("rows", s[0], "cols", s[1], "dim", dim)))
				}
			}
		}
	}
	kerneltest.All(t, native.New(), ops)
}

// From 4 MiB on some kernels read a run as four streams.
func TestLongRunsMatchTheExpectation(t *testing.T) {
	if testing.Short() {
		t.Skip("fills arrays of 4 MiB")
	}
	var ops []op.Op
	for _, d := range []record.DType{record.FP64, record.FP32, record.BF16} {
		for _, name := range []string{"sum", "max", "min"} {
			ops = append(ops, kerneltest.Op(t, name, d, params("rows", 1, "cols", (4<<20)/int(d.Size())+8191*4+5, "dim", "all")))
		}
	}
	ops = append(ops, kerneltest.Op(t, "mean", record.FP32, params("rows", 2, "cols", 1<<20, "dim", "1")))
	kerneltest.All(t, native.New(), ops)
}

// Beyond the caches, here 40 MiB or less, kernels ask ahead, and read a long run as several where they are told to.
func TestRunsFromMemoryMatchTheExpectation(t *testing.T) {
	if testing.Short() {
		t.Skip("fills arrays of 40 MiB")
	}
	b := native.New()
	var devs []backend.Device
	for range 2 {
		dev, err := b.Open("cpu", backend.OpenOptions{CPUs: []int{-1, -1}, Affinity: "none", LLCBytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = dev.Close() }()
		devs = append(devs, dev)
	}
	kerneltest.ReadRuns(devs[1])
	for _, d := range []record.DType{record.FP64, record.FP32, record.BF16} {
		n := (40<<20)/int(d.Size()) + 2*17*4096 + 5
		for name, p := range map[string]map[string]string{"sum": params("rows", 1, "cols", n, "dim", "all"), "max": params("rows", 1, "cols", n, "dim", "all"),
			"min": params("rows", 3, "cols", n/3+1, "dim", "1"), "mean": params("rows", 3, "cols", n/3+1, "dim", "1"), "argmax": params("rows", 1, "cols", n, "dim", "all")} {
			o := kerneltest.Remember(kerneltest.Op(t, name, d, p))
			for _, k := range kerneltest.Names(b, o) {
				for i, dev := range devs {
					if err := kerneltest.One(dev, o, k, d.Size()); err != nil {
						t.Errorf("%s %s of several runs=%v: %v", k, name, i == 1, err)
					}
				}
			}
		}
	}
}

func TestSoftmaxAndNormKernelsMatchTheExpectation(t *testing.T) {
	var ops []op.Op
	for _, d := range []record.DType{record.FP32, record.BF16} {
		for _, s := range [][2]int{{0, 5}, {5, 0}, {1, 1}, {9, 37}} {
			for _, dim := range []string{"0", "1"} {
				ops = append(ops, kerneltest.Op(t, "softmax", d, params("rows", s[0], "cols", s[1], "dim", dim)))
			}
			for _, name := range []string{"layer_norm", "rms_norm", "add_layer_norm", "add_rms_norm"} {
				ops = append(ops, kerneltest.Op(t, name, d, params("rows", s[0], "cols", s[1])))
			}
		}
		ops = append(ops, kerneltest.Op(t, "softmax", d, params("rows", 2, "cols", 1201, "dim", "0")), kerneltest.Op(t, "softmax", d, params("rows", 67, "cols", 333, "dim", "0")))
		// Columns that fill at most half a group of each width of vector, with and without rows that are left.
		for _, s := range [][2]int{{131, 1}, {128, 1}, {70, 2}, {53, 5}, {48, 8}, {19, 15}, {40, 16}, {35, 23}, {34, 32}} {
			ops = append(ops, kerneltest.Op(t, "softmax", d, params("rows", s[0], "cols", s[1], "dim", "0")))
		}
		// Beyond these rows exponentials are not kept (rd_keeps_columns).
		ops = append(ops, kerneltest.Op(t, "softmax", d, params("rows", map[record.DType]int{record.FP32: 4099, record.BF16: 16387}[d], "cols", 2, "dim", "0")))
	}
	// Rows of several groups on each width of vector, and of more than the 32 groups that are summed in fp32.
	for _, d := range []record.DType{record.FP32, record.BF16} {
		for _, name := range []string{"add_layer_norm", "add_rms_norm"} {
			ops = append(ops, kerneltest.Op(t, name, d, params("rows", 4, "cols", 256)), kerneltest.Op(t, name, d, params("rows", 3, "cols", 2119)))
		}
	}
	// A row of more than one block of exponentials.
	ops = append(ops, kerneltest.Op(t, "softmax", record.FP32, params("rows", 1, "cols", 1063, "dim", "1")))
	kerneltest.All(t, native.New(), ops)
}

// Rows of every part of a group on each width of vector, in registers up to a group (short_rows.inc), and the last rows of a share that
// fill no group; beyond, rows with and without a rest behind their groups.
func TestNormsOfRowsOfAnyLengthMatchTheExpectation(t *testing.T) {
	columns := []int{1, 3, 4, 5, 8, 9, 15, 16, 17, 31, 32, 33, 50, 64, 65, 100, 128, 257}
	var ops []op.Op
	for _, d := range []record.DType{record.FP32, record.BF16} {
		for i, cols := range columns {
			rows := []int{1, 2, 3, 5, 13, 24, 27}[i%7]
			for _, name := range []string{"softmax", "layer_norm", "rms_norm", "add_layer_norm", "add_rms_norm"} {
				ops = append(ops, kerneltest.Op(t, name, d, params("rows", rows, "cols", cols)))
			}
		}
	}
	kerneltest.All(t, native.New(), ops)
}

// The variants with non-temporal stores take only arrays beyond 64 MiB.
func TestNonTemporalKernelsPassOnLargeArrays(t *testing.T) {
	if testing.Short() {
		t.Skip("fills arrays of 64 MiB")
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
	for _, d := range []record.DType{record.FP32, record.BF16} {
		for _, name := range []string{"softmax", "layer_norm", "rms_norm"} {
			for _, cols := range []int{131, 4099} { // of the latter quarters have whole groups
				o := kerneltest.Remember(kerneltest.Op(t, name, d, params("rows", (64<<20)/(2*int(d.Size())*cols)+1, "cols", cols)))
				ran := 0
				for _, k := range kerneltest.Names(b, o) {
					if strings.HasPrefix(k, "norm_") && strings.HasSuffix(k, "_avx512") { // stores into the caches, by quarters where several runs are read
						if err := kerneltest.One(runs, o, k, d.Size()); err != nil {
							t.Errorf("%s, rows of %d: %v", k, cols, err)
						}
					}
					if !strings.HasSuffix(k, "_nt") {
						continue
					}
					ran++
					for i, dev := range []backend.Device{dev, runs} {
						if err := kerneltest.One(dev, o, k, d.Size()); err != nil {
							t.Errorf("%s, rows of %d, several runs=%v: %v", k, cols, i == 1, err)
						}
					}
				}
				if ran == 0 && runtime.GOARCH == "amd64" {
					t.Errorf("%s: no kernel with non-temporal stores", name)
				}
			}
		}
		// Rows of whole lines stream z past the caches, where it is aligned; others store it plainly. The longest go as halves where several runs are read.
		for _, name := range []string{"add_layer_norm", "add_rms_norm"} {
			for _, c := range []struct{ cols, misalign int64 }{{192, 0}, {131, 0}, {192, d.Size()}, {8224, 0}} {
				o := kerneltest.Op(t, name, d, params("rows", (64<<20)/(4*d.Size()*c.cols)+1, "cols", c.cols))
				ran := 0
				for _, k := range kerneltest.Names(b, o) {
					if !strings.HasSuffix(k, "_nt") {
						continue
					}
					ran++
					for i, dev := range []backend.Device{dev, runs} {
						if err := kerneltest.One(dev, o, k, c.misalign); err != nil {
							t.Errorf("%s, rows of %d, several runs=%v: %v", k, c.cols, i == 1, err)
						}
					}
				}
				if ran == 0 && runtime.GOARCH == "amd64" {
					t.Errorf("%s: no kernel with non-temporal stores", name)
				}
			}
		}
	}
}
