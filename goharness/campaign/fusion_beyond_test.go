package campaign

import (
	"strings"
	"testing"

	"ridge/goharness/backend"
	"ridge/goharness/fusion"
	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/goharness/runner"
	"ridge/internal/fakebackend"
)

// The toy moves 50 GB/s: four times a last-level cache of 1 MiB take 84 µs and are measured, four times 8 GiB take 0.7 s and are not.
func TestAShapeBeyondTheLastLevelCacheIsSkippedWhereItsLaunchesAreLong(t *testing.T) {
	for _, c := range []struct {
		llc    int64
		rows   string
		status record.Status
	}{{1 << 20, "64", record.OK}, {8 << 30, "524288", record.Skipped}} {
		all, err := fusion.Select(fusion.Builtin(), []string{"Add_ReLU"})
		if err != nil {
			t.Fatal(err)
		}
		all[0].DTypes = []record.DType{record.FP32}
		all[0].Shapes = []fusion.Shape{{Params: map[string]string{"rows": "4", "cols": "4096"}, Grow: "rows"}}
		b := &fakebackend.Backend{}
		cfg, _ := toy(t, b, t.TempDir())
		server := &runner.Server{Backends: []backend.Backend{b}, Ops: op.Builtin(),
			Patterns: func(ref record.ProgramRef) (op.Program, error) { return fusion.Program(fusion.Builtin(), ref) }}
		cfg.Launch = runner.InProcess(server)
		o := &cfg.Plan
		o.Quick, o.ProbesOnly, o.Fusion, o.Ops, o.LLC, o.Trials = false, true, all, fusion.WithPatterns(o.Ops, all), c.llc, 8
		doc := mustRun(t, cfg)
		grown := find(t, doc, "cpu/Add_ReLU/fp32/rows="+c.rows+",cols=4096/threads=1/hot")
		if usual := find(t, doc, "cpu/Add_ReLU/fp32/rows=4,cols=4096/threads=1/hot"); !usual.Status.Counts() {
			t.Errorf("%s: %s %s", usual.ID, usual.Status, usual.Reason)
		}
		if grown.Status != c.status || (grown.Status == record.Skipped) != strings.Contains(grown.Reason, "a launch of the unfused program takes 0.") {
			t.Errorf("LLC of %d bytes: %s: %s %q", c.llc, grown.ID, grown.Status, grown.Reason)
		}
		if grown.Status == record.Skipped && len(grown.Candidates) > 0 {
			t.Errorf("candidates of a shape that is not measured: %+v", grown.Candidates)
		}
	}
}
