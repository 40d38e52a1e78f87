//go:build linux && cgo

package main

import (
	"encoding/json"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"

	"ridge/goharness/campaign"
	"ridge/goharness/fusion"
	"ridge/goharness/op"
	"ridge/goharness/plan"
	"ridge/goharness/record"
)

// shellWords splits a line as a shell does that knows single quotes alone.
func shellWords(line string) []string {
	var out []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			out = append(out, part)
		} else {
			out = append(out, strings.Fields(part)...)
		}
	}
	return out
}

// planned are the cases that a line of ridge bench would measure.
func planned(t *testing.T, line string) ([]record.Case, error) {
	t.Helper()
	words := shellWords(line)
	if len(words) < 4 || words[0] != "ridge" || words[1] != "bench" {
		t.Fatalf("line %q: expected ridge bench", line)
	}
	var out []record.Case
	bench := benchCommand()
	bench.Flags = append(bench.Flags, commonFlags()...)
	bench.Action = func(c *cli.Context) error {
		cfgs, err := benchConfigs(c)
		if err == nil {
			out, err = benchCases(c, &cfgs[0])
		}
		return err
	}
	app := &cli.App{Name: "ridge", Writer: io.Discard, ErrWriter: io.Discard, Flags: commonFlags(), Commands: []*cli.Command{bench},
		ExitErrHandler: func(*cli.Context, error) {}, Metadata: map[string]any{"args": words}}
	err := app.Run(append(words, "--data-dir", t.TempDir()))
	return out, err
}

// The committed documents are a real calibration (suites, ceilings, sweeps, latencies) and a real fusion profile.
func TestEveryLineOfAReportNamesItsCase(t *testing.T) {
	if raceEnabled {
		t.Skip("it plans hundreds of lines, one after the other, in one goroutine")
	}
	lines, lacking := map[string]string{}, map[string]bool{} // by case id
	read := func(name string) record.Document {
		d, err := readDocument(t.Context(), "../../docs/benchmarks/zen3-milan/"+name)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	docs, err := record.JoinFusion([]record.Document{read("quick.json"), read("fusion.json")})
	if err != nil {
		t.Fatal(err)
	}
	for i := range docs {
		for _, r := range docs[i].Results {
			if r.Threads <= runtime.NumCPU() && r.Device == "cpu" {
				lines[r.ID], lacking[r.ID] = r.Reproduce, r.Status == record.Unsupported
			}
		}
		profiles, err := record.FusionProfiles(&docs[i])
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range profiles {
			for _, p := range f.Patterns {
				for _, s := range p.Shapes { // as the page writes it for shapes
					if id, err := record.ParseCaseID(s.CaseID); err == nil && id.Threads <= runtime.NumCPU() && lines[s.CaseID] == "" {
						lines[s.CaseID] = "ridge bench --case '" + s.CaseID + "'"
					}
				}
			}
		}
	}
	if len(lines) < 100 && runtime.NumCPU() >= 2 {
		t.Fatalf("%d lines", len(lines))
	}
	for id, line := range lines {
		got, err := planned(t, line)
		if err != nil && lacking[id] { // the row says why it has no figures, and so does the line
			if id, _ := record.ParseCaseID(id); !strings.Contains(err.Error(), string(id.DType)) {
				t.Errorf("%s: %v", line, err)
			}
			continue
		}
		if err != nil || len(got) != 1 || got[0].ID != id {
			t.Errorf("%s plans %+v, %v, expected %s", line, got, err, id)
		} else if got[0].Quick != strings.Contains(line, " --quick") {
			t.Errorf("%s: quick %v", line, got[0].Quick)
		}
	}
}

// Every case of the plans, of all kinds: what its id says is the whole case.
func TestEveryCaseOfThePlansIsMadeFromItsID(t *testing.T) {
	ops := fusion.WithPatterns(op.Builtin(), fusion.Builtin())
	for _, o := range []plan.Options{{Quick: true}, {}, {Quick: true, Batches: []int64{1, 8}}} {
		o.Device, o.Ops, o.Fusion, o.Threads = "cpu", ops, fusion.Builtin(), 1
		cases, err := campaign.PlanCases(campaign.Config{Plan: o, Affinity: "scatter"})
		if err != nil {
			t.Fatal(err)
		}
		arms, suites := 0, map[string]bool{}
		for _, want := range cases {
			got, err := plan.FromID(ops, want.ID)
			if err != nil {
				t.Errorf("%s: %v", want.ID, err)
				continue
			}
			arms, suites[want.Suite] = arms+len(want.Arms), true
			type whole struct {
				ID, Device, Mode, Op, Kernel string
				DType                        record.DType
				Threads                      int
				Batch                        int64
				Arms                         []string
				Baselines                    []string
			}
			of := func(c record.Case) whole {
				w := whole{c.ID, c.Device, c.Mode, c.Program.Op, c.Program.Kernel, c.Program.DType, c.Threads, c.Batch, nil, c.Baselines}
				for _, a := range c.Arms {
					w.Arms = append(w.Arms, a.Name)
				}
				return w
			}
			if d := cmp.Diff(of(want), of(got)); d != "" {
				t.Errorf("%s (-planned +from its id):\n%s", want.ID, d)
			}
		}
		if len(cases) < 50 || arms == 0 || len(suites) < 5 {
			t.Errorf("%d cases with %d arms of the suites %v", len(cases), arms, suites)
		}
	}
}

// The line that a result carries measures that case.
func TestALineMeasuresItsCase(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures")
	}
	measure := func(words []string) record.Result {
		code, stdout, stderr := ridge(t, append(words, "--no-ceilings", "--force", "--quiet", "--json", "--data-dir", t.TempDir())...)
		var doc record.Calibration
		if err := json.Unmarshal([]byte(stdout), &doc); err != nil || code != exitOK || len(doc.Results) != 1 {
			t.Fatalf("%q: exit code %d, %v, %d results: %s", words, code, err, len(doc.Results), stderr)
		}
		return doc.Results[0]
	}
	trials := []string{"--warmup", "1", "--trials", "3"}
	for name, words := range map[string][]string{
		"suite":         append([]string{"bench", "gemm", "--m", "32", "--n", "32", "--k", "32", "--threads", "1", "--quick"}, trials...),
		"forced kernel": append([]string{"bench", "gemm", "--m", "32", "--n", "32", "--k", "32", "--threads", "1", "--kernel", "gemm_fp32_portable"}, trials...),
		"cold":          append([]string{"bench", "add", "--param", "rows=256", "--param", "cols=4096", "--mode", "cold", "--threads", "1"}, trials...),
		"fusion":        append([]string{"bench", "Linear_Bias", "--m", "32", "--n", "32", "--k", "32", "--threads", "1"}, "--warmup", "1", "--trials", "8"),
		"latency":       append([]string{"bench", "--case", "cpu/chase/int64/bytes=16384,steps=10000/threads=1/hot", "--affinity", "compact"}, trials...),
		"batch":         append([]string{"bench", "--case", "cpu/conv2d/fp32/n=8,c=4,h=8,w=8,k=4,s=3/threads=1/hot"}, trials...),
	} {
		first := measure(words)
		line := shellWords(first.Reproduce)
		again := measure(line[1:])
		if again.ID != first.ID || again.Reproduce != first.Reproduce || !again.Status.Counts() || !slices.Contains(line, "--trials") {
			t.Errorf("%s: %s (%s) gives %s: %s %s", name, first.Reproduce, first.ID, again.ID, again.Status, again.Reason)
		}
	}
}
