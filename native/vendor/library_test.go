//go:build cgo && linux

package vendor

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ridge/native/kernel"
)

func TestTheSearchPathGoesBeforeTheLoadersPlaces(t *testing.T) {
	dir, empty := t.TempDir(), t.TempDir()
	for _, f := range []string{"libdnnl.so.2", "libdnnl.so.3", "libmkl_rt.so.2"} {
		if err := os.WriteFile(filepath.Join(dir, f), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	dnnl, _ := find("onednn")
	loader := []string{"libdnnl.so.3", "libdnnl.so.2", "libdnnl.so"}
	in := func(names ...string) []string {
		var out []string
		for _, n := range names {
			out = append(out, filepath.Join(dir, n))
		}
		return append(out, loader...)
	}
	for name, c := range map[string]struct {
		search string
		want   []string
	}{
		"no path":               {"", loader},
		"a directory":           {dir, in("libdnnl.so.3", "libdnnl.so.2")},
		"an empty one":          {empty, loader},
		"several":               {empty + ":" + dir, in("libdnnl.so.3", "libdnnl.so.2")},
		"a file":                {filepath.Join(dir, "libdnnl.so.2"), in("libdnnl.so.2")},
		"another library's":     {filepath.Join(dir, "libmkl_rt.so.2"), loader},
		"one that is not there": {filepath.Join(dir, "no"), loader},
		"stray separators":      {":" + dir + ":", in("libdnnl.so.3", "libdnnl.so.2")},
	} {
		if got := dnnl.files.Places(c.search); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestAWayPrefersTheKernelsThatGiveItItsName(t *testing.T) {
	for _, c := range []struct {
		way, kernel string
		want        int
	}{
		{"onednn", "onednn_matmul_fp32", 0}, {"onednn", "onednn_matmul_packed_fp32", -1}, {"onednn", "onednn_matmul_post_fp32", -1},
		{"onednn packed", "onednn_matmul_packed_bf16", 0}, {"onednn packed", "onednn_softmax_fp32", 1}, {"onednn packed", "onednn_conv2d_blocked_fp32", -1},
		{"onednn fused", "onednn_conv2d_post_fp32", 0}, {"onednn fused", "onednn_matmul_fp32", -1},
		{"onednn fused", "onednn_conv2d_postblocked_fp32", -1}, {"onednn fused blocked", "onednn_conv2d_postblocked_fp32", 0}, {"onednn blocked", "onednn_conv2d_postblocked_fp32", -1},
		{"mkl", "mkl_sgemm_fp32", 0}, {"mkl", "onednn_matmul_fp32", -1}, {"mkl packed", "mkl_sgemm_packed_fp32", 0},
		{"onednn unheard of", "onednn_matmul_fp32", -1},
	} {
		if got := Serves(c.way, kernel.Kernel{Name: c.kernel}); got != c.want {
			t.Errorf("%s for %s: %d, want %d", c.kernel, c.way, got, c.want)
		}
	}
}

// What a way stands in for comes behind it, and both are ways of the library.
func TestAWayIsTriedBeforeWhatItStandsInFor(t *testing.T) {
	for _, l := range libraries {
		for way, by := range l.ways.Instead {
			i, first := slices.Index(l.ways.Unfused, way), slices.Index(l.ways.Unfused, by)
			if i < 0 || first < 0 || first > i {
				t.Errorf("%s: %q for %q, of %q", l.name, by, way, l.ways.Unfused)
			}
		}
	}
}

// An unfused baseline must not fuse: no way of Unfused reaches a kernel with post-ops.
func TestNoUnfusedWayHasAFusedKernel(t *testing.T) {
	for _, l := range libraries {
		for _, f := range Families([]kernel.Family{{Kernels: []kernel.Kernel{{Ops: []string{"gemm", "linear"}}, {Ops: []string{"conv2d"}}, {Ops: []string{"softmax", "layer_norm"}}}}}) {
			for _, k := range f.Kernels {
				if k.Rank >= 0 {
					t.Errorf("%s has rank %d: it would be picked without being asked for", k.Name, k.Rank)
				}
				for _, way := range l.ways.Unfused {
					if strings.Contains(k.Name, "_post") && Serves(way, k) >= 0 {
						t.Errorf("%s serves %q", k.Name, way)
					}
				}
			}
		}
	}
}

func TestOpenRefusesNonsense(t *testing.T) {
	for _, c := range []struct {
		name    string
		threads int
		want    string
	}{{"cudnn", 1, "knows no such library"}, {"onednn", 0, "expected 1 to"}, {"mkl", 1 << 20, "expected 1 to"}} {
		if _, err := Open(c.name, c.threads); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s for %d threads: %v", c.name, c.threads, err)
		}
	}
}
