//go:build cuda && linux && cgo

package cuda_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"ridge/cuda"
	"ridge/cuda/cudatest"
	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/goharness/tune"
)

// prepared gives the kernel and its parameters of a product under a tuning, or the error.
func prepared(t *testing.T, tuning backend.Tuning, o op.Op, opts backend.PrepareOptions) (backend.KernelInfo, error) {
	t.Helper()
	d, err := cuda.New().Open("cuda:0", backend.OpenOptions{Tuning: tuning})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	e, err := d.Prepare(op.Single(o), opts)
	if err != nil {
		return backend.KernelInfo{}, err
	}
	k := e.Kernels()[0]
	if err := e.Release(); err != nil {
		t.Error(err)
	}
	return k, nil
}

func TestASearchTriesTheTilesOfEachKernel(t *testing.T) {
	d, err := cuda.New().Open("cuda:0", backend.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, tc := range []struct {
		kernel string
		dtype  record.DType
		shape  string
		tiles  []string // to begin with, and clusters where there is a choice of them: not the kernel's own
		class  string   // its end; "": nothing to search
	}{
		{"gemm_bf16_sm90", record.BF16, "m=256,n=256,k=512", []string{"64", "256 cluster 1", "256 cluster 2"}, "one round of tiles, B as [K,N]"},
		{"gemm_bf16_sm80", record.BF16, "m=256,n=256,k=512", []string{"256"}, "one round of tiles, B as [K,N]"},
		{"gemm_bf16_simt", record.BF16, "m=256,n=256,k=512", nil, "one round of tiles, B as [K,N]"},
		{"gemm_bf16_sm80", record.BF16, "m=64,n=4096,k=256", []string{"128"}, "skinny, short k, B as [K,N]"},
		{"gemm_bf16_sm90", record.BF16, "m=64,n=4096,k=256", []string{"64", "128"}, "skinny, short k, B as [K,N]"}, // no neighbour for a cluster
		{"gemm_bf16_sm90", record.BF16, "m=4096,n=64,k=512", []string{"64", "256 cluster 1", "256 cluster 2"}, "few columns, B as [K,N]"},
		{"gemm_bf16_sm90", record.BF16, "m=1024,n=1024,k=512,tb=1", []string{"64", "128", "256 cluster 1"}, "more than four rounds of tiles, B as [N,K]"},
		{"gemm_fp32_sm80_3xtf32", record.FP32, "m=256,n=256,k=512", []string{"64"}, "one round of tiles, B as [K,N]"},
		{"gemm_fp32_simt", record.FP32, "m=256,n=256,k=512", nil, "one round of tiles, B as [K,N]"},
		{"gemm_fp64_sm80", record.FP64, "m=256,n=256,k=512", nil, ""},
	} {
		s, ok := d.(backend.Tuner).Space(cudatest.Op(t, "gemm", tc.dtype, tc.shape), tc.kernel, backend.Caches{}, 1)
		var tiles []string
		for _, p := range s.Start {
			tile := fmt.Sprint(p["tile"])
			if n, ok := p["cluster"]; ok {
				tile += fmt.Sprint(" cluster ", n)
			}
			tiles = append(tiles, tile)
		}
		if ok != (tc.class != "") || ok && (!slices.Equal(tiles, tc.tiles) || !strings.HasSuffix(s.Class, tc.class)) {
			t.Errorf("%s %s: %v, tiles %v of class %q; want %v of %q", tc.kernel, tc.shape, ok, tiles, s.Class, tc.tiles, tc.class)
		}
	}
	if s, ok := d.(backend.Tuner).Space(cudatest.Op(t, "relu", record.FP32, "rows=3,cols=3"), "map_fp32_simt", backend.Caches{}, 1); ok {
		t.Errorf("a function of elements can be searched: %+v", s)
	}
}

// The kernel that runs a shape without tuning begins the search, whatever stands before it in the list and does not take the shape.
func TestEveryShapeOfASearchHasSomethingToTry(t *testing.T) {
	d, err := cuda.New().Open("cuda:0", backend.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	targets, err := tune.Targets(op.Builtin(), tune.Ops, []record.DType{record.BF16, record.INT8}, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range targets {
		out, candidates, err := tune.Plan(tune.Options{Device: "cuda:0", Threads: 1, Ops: op.Builtin(), Tuner: d.(backend.Tuner), Kernels: func(o op.Op) ([]backend.KernelInfo, error) {
			all, err := d.Kernels(o)
			return slices.DeleteFunc(all, func(k backend.KernelInfo) bool { return !d.(interface{ Takes(op.Op, string) bool }).Takes(o, k.Name) }), err
		}}, x)
		if err != nil || out.Default == "" || len(candidates) < 2 || out.Class == "" {
			t.Errorf("%v: default %q of class %q, candidates %v, %v", x, out.Default, out.Class, candidates, err)
		}
	}
}

func TestWhatASearchFoundIsTakenForItsClassOfShapesAndDevice(t *testing.T) {
	o := cudatest.Op(t, "gemm", record.BF16, "m=256,n=256,k=512")
	d, err := cuda.New().Open("cuda:0", backend.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s, ok := d.(backend.Tuner).Space(o, "gemm_bf16_sm90", backend.Caches{}, 1)
	if err := d.Close(); err != nil || !ok {
		t.Fatal(ok, err)
	}
	entry := backend.Tuned{Op: "gemm", DType: record.BF16, Class: s.Class, Threads: 1, Kernel: "gemm_bf16_sm90", Params: map[string]int64{"tile": 256}}
	change := func(f func(*backend.Tuned)) backend.Tuning { e := entry; f(&e); return backend.Tuning{e} }
	for _, tc := range []struct {
		name   string
		tuning backend.Tuning
		opts   backend.PrepareOptions
		kernel string
		params map[string]int64
		says   string // of the error
	}{
		{"nothing was found", nil, backend.PrepareOptions{}, "gemm_bf16_sm90", nil, ""},
		{"another tile", backend.Tuning{entry}, backend.PrepareOptions{}, "gemm_bf16_sm90", map[string]int64{"tile": 256}, ""},
		{"of another device", change(func(e *backend.Tuned) { e.Class = "NVIDIA H200" + e.Class }), backend.PrepareOptions{}, "gemm_bf16_sm90", nil, ""},
		{"another kernel", change(func(e *backend.Tuned) { e.Kernel, e.Replaces = "gemm_bf16_sm80", "gemm_bf16_sm90" }), backend.PrepareOptions{}, "gemm_bf16_sm80", map[string]int64{"tile": 256}, ""},
		{"a kernel set aside", backend.Tuning{entry}, backend.PrepareOptions{Exclude: []string{"gemm_bf16_sm90"}}, "gemm_bf16_sm80", nil, ""},
		{"forced", nil, backend.PrepareOptions{Kernel: "gemm_bf16_sm80", Params: map[string]int64{"tile": 256}}, "gemm_bf16_sm80", map[string]int64{"tile": 256}, ""},
		{"a tile that is not there", nil, backend.PrepareOptions{Kernel: "gemm_bf16_sm80", Params: map[string]int64{"tile": 64}}, "", nil, "tile=64: the kernel takes [128 256]"},
		{"a cluster", nil, backend.PrepareOptions{Kernel: "gemm_bf16_sm90", Params: map[string]int64{"tile": 256, "cluster": 2}}, "gemm_bf16_sm90", map[string]int64{"tile": 256, "cluster": 2}, ""},
		{"a found cluster", change(func(e *backend.Tuned) { e.Params = map[string]int64{"tile": 256, "cluster": 2} }), backend.PrepareOptions{}, "gemm_bf16_sm90", map[string]int64{"tile": 256, "cluster": 2}, ""},
		{"a cluster that is not there", nil, backend.PrepareOptions{Kernel: "gemm_bf16_sm90", Params: map[string]int64{"cluster": 3}}, "", nil, "cluster=3: the kernel takes [1 2]"},
		{"a tile without clusters", nil, backend.PrepareOptions{Kernel: "gemm_bf16_sm90", Params: map[string]int64{"tile": 128, "cluster": 2}}, "", nil, "there is no tile of 128 columns in clusters of 2"},
		{"a kernel without clusters", nil, backend.PrepareOptions{Kernel: "gemm_bf16_sm80", Params: map[string]int64{"cluster": 2}}, "", nil, "cluster=2: the kernel takes []"},
		{"a kernel without tiles", nil, backend.PrepareOptions{Kernel: "gemm_bf16_simt", Params: map[string]int64{"tile": 128}}, "", nil, "tile=128: the kernel takes []"},
		{"a parameter that is not there", nil, backend.PrepareOptions{Kernel: "gemm_bf16_sm80", Params: map[string]int64{"kc": 128}}, "", nil, "parameter kc=128"},
	} {
		k, err := prepared(t, tc.tuning, o, tc.opts)
		if tc.says != "" {
			if !backend.IsUnsupported(err) || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%s: %v, want %s", tc.name, err, tc.says)
			}
			continue
		}
		if err != nil || k.Name != tc.kernel || !maps.Equal(k.Params, tc.params) {
			t.Errorf("%s: %s %v, %v; want %s %v", tc.name, k.Name, k.Params, err, tc.kernel, tc.params)
		}
	}
}

// Each tile of each kernel is verified as the search verifies it.
func TestEveryTileGivesTheProduct(t *testing.T) {
	r := newRunner(t)
	for _, tc := range []struct {
		kernel string
		params map[string]int64
	}{
		{"gemm_bf16_sm80", map[string]int64{"tile": 128}}, {"gemm_bf16_sm80", map[string]int64{"tile": 256}}, {"gemm_bf16_sm90", map[string]int64{"tile": 128}},
		{"gemm_bf16_sm90", map[string]int64{"tile": 256, "cluster": 1}}, {"gemm_bf16_sm90", map[string]int64{"tile": 256, "cluster": 2}},
	} {
		c := record.Case{ID: "cuda:0/gemm/bf16/m=150,n=264,k=72/threads=1/hot", Device: "cuda:0", Threads: 1, Mode: record.Hot, Warmup: 1, Trials: 1}
		c.Program = record.ProgramRef{Op: "gemm", DType: record.BF16, Params: map[string]string{"m": "150", "n": "264", "k": "72"}, Kernel: tc.kernel, KernelParams: tc.params}
		res, err := r.Run(t.Context(), c)
		if err != nil || res.Status != record.OK || !maps.Equal(res.KernelParams, tc.params) || res.Kernel != tc.kernel {
			t.Errorf("%s %v: %s (%s) %s %v, %v", tc.kernel, tc.params, res.Status, res.Reason, res.Kernel, res.KernelParams, err)
		}
	}
}
