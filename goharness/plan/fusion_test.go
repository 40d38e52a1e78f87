package plan

import (
	"slices"
	"strings"
	"testing"

	"ridge/goharness/fusion"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// patterns is a plan of all fusion patterns on a host with so large a last-level cache.
func patterns(t *testing.T, llc int64, change func(*Options)) Plan {
	t.Helper()
	return build(t, func(o *Options) {
		o.Ops, o.Fusion, o.ProbesOnly, o.LLC, o.TotalMemory = fusion.WithPatterns(op.Builtin(), fusion.Builtin()), fusion.Builtin(), true, llc, 512<<30
		if change != nil {
			change(o)
		}
	})
}

func ids(p Plan) (out []string) {
	for _, k := range p.Cases {
		out = append(out, k.ID)
	}
	return out
}

// streaming are the patterns whose gain is a matter of memory traffic.
var streaming = []string{"Linear_Bias", "Linear_Bias_ReLU", "Linear_Bias_GELU", "Linear_Bias_SiLU", "Linear_Requantize", "Conv2d_ReLU", "Conv2d_BN", "Conv2d_BN_ReLU", "Conv2d_BN_Add_ReLU",
	"DepthwiseConv2d_BN_ReLU", "Conv2d_Requantize", "QK_AttentionScores", "QK_Softmax", "Softmax_V", "Add_ReLU", "Add_LayerNorm", "Add_RMSNorm"}

// unfusedBytes of a case.
func unfusedBytes(t *testing.T, ref record.ProgramRef) int64 {
	t.Helper()
	ref.Name = fusion.Unfused
	p, err := fusion.Program(fusion.Builtin(), ref)
	if err != nil {
		t.Fatal(err)
	}
	return p.Bytes()
}

func TestSweepsOfStreamingPatternsReachFourTimesTheLastLevelCache(t *testing.T) {
	usual := ids(patterns(t, 32<<20, nil))
	for _, llc := range []int64{60 << 20, 128 << 20, 480 << 20} {
		p := patterns(t, llc, nil)
		if len(p.Warnings) != 0 {
			t.Errorf("LLC of %d bytes: warnings %v", llc, p.Warnings)
		}
		if again := ids(patterns(t, llc, nil)); !slices.Equal(again, ids(p)) {
			t.Error("two plans of one host differ")
		}
		var before []string
		grown := map[string]int{}
		reached := map[string]bool{} // the pattern and precision
		for i, k := range p.Cases {
			reached[k.Program.Op+" "+string(k.Program.DType)] = reached[k.Program.Op+" "+string(k.Program.DType)] || unfusedBytes(t, k.Program) >= 4*llc
			if slices.Contains(usual, k.ID) {
				if k.MostLaunchNS != 0 {
					t.Errorf("%s is of every plan and may be skipped", k.ID)
				}
				before = append(before, k.ID)
				continue
			}
			grown[k.Program.Op+" "+string(k.Program.DType)]++
			last := p.Cases[i-1]
			if k.MostLaunchNS != 1e8 || last.Program.Op != k.Program.Op || last.Program.DType != k.Program.DType || unfusedBytes(t, last.Program) >= 4*llc || unfusedBytes(t, k.Program) < 4*llc {
				t.Errorf("LLC of %d bytes: %s (%d bytes, at most %d ns) after %s (%d bytes)", llc, k.ID, unfusedBytes(t, k.Program), k.MostLaunchNS, last.ID, unfusedBytes(t, last.Program))
			}
			differ := 0
			for name, v := range k.Program.Params {
				if v != last.Program.Params[name] {
					differ++
				}
			}
			if differ != 1 {
				t.Errorf("%s differs from %s in %d parameters", k.ID, last.ID, differ)
			}
		}
		if !slices.Equal(before, usual) {
			t.Errorf("LLC of %d bytes: other shapes have changed", llc)
		}
		for _, f := range fusion.Builtin() {
			for _, d := range f.DTypes {
				name, most := f.Name+" "+string(d), 0
				if slices.Contains(streaming, f.Name) {
					if most = 1; !reached[name] {
						t.Errorf("LLC of %d bytes: no shape of %s moves four times as much", llc, name)
					}
				}
				if grown[name] > most || llc == 480<<20 && grown[name] != most {
					t.Errorf("LLC of %d bytes: %d shapes of %s were added, want %d", llc, grown[name], name, most)
				}
			}
		}
	}
}

func TestAShapeBeyondTheLastLevelCacheIsOfFullRunsWithTheMemory(t *testing.T) {
	const large = 480 << 20
	usual := ids(patterns(t, 32<<20, nil))
	for name, c := range map[string]struct {
		llc    int64
		change func(*Options)
		added  bool
		warned string
	}{
		"a small cache":      {32 << 20, nil, false, ""},
		"a large one":        {large, nil, true, ""},
		"no cache known":     {0, nil, false, ""},
		"quick":              {large, func(o *Options) { o.Quick = true }, false, ""},
		"buffers in turn":    {large, func(o *Options) { o.Mode = record.Cold }, false, ""},
		"little memory":      {large, func(o *Options) { o.TotalMemory = 1 << 30 }, false, "no shape moves four times the last-level cache, for half of the memory is 0.537 GB: Linear_Bias fp32 (m=524288 takes 2.68 GB), "},
		"memory not known":   {large, func(o *Options) { o.TotalMemory = 0 }, true, ""},
		"one precision only": {large, func(o *Options) { o.Precisions = []record.DType{record.INT8} }, true, ""},
	} {
		p := patterns(t, c.llc, c.change)
		added := 0
		for _, k := range p.Cases {
			if k.MostLaunchNS > 0 {
				added++
			} else if k.Mode == record.Hot && !slices.Contains(usual, k.ID) {
				t.Errorf("%s: %s", name, k.ID)
			}
		}
		if (added > 0) != c.added {
			t.Errorf("%s: %d shapes were added", name, added)
		}
		if (c.warned != "") != (len(p.Warnings) > 0) || c.warned != "" && !slices.ContainsFunc(p.Warnings, func(w string) bool { return strings.HasPrefix(w, c.warned) }) {
			t.Errorf("%s: warnings %v", name, p.Warnings)
		}
	}
}
