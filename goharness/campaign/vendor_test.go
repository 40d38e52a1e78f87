package campaign

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"testing"

	"ridge/goharness/backend"
	"ridge/goharness/ceiling"
	"ridge/goharness/fusion"
	"ridge/goharness/op"
	"ridge/goharness/plan"
	"ridge/goharness/record"
	"ridge/goharness/runner"
	"ridge/internal/fakebackend"
)

// librarian is the fake platform with a vendor library: a program computed a library's way has that way as
// its name, by which the virtual clock tells how long it takes.
type librarian struct {
	*fakebackend.Backend
	missing string  // why the library cannot be opened; "": it can
	version string  // "": 1.2.3
	wrong   string  // the way whose results are
	times   float64 // as long launches take; 0: 1
}

func (librarian) Libraries() []backend.LibraryWays { return nil }

func (l librarian) OpenLibrary(name string, threads int) (record.VendorLibrary, error) {
	if l.missing != "" {
		return record.VendorLibrary{Name: name}, backend.Unsupported("%s", l.missing)
	}
	return record.VendorLibrary{Name: name, Version: cmp.Or(l.version, "1.2.3"), Path: "lib" + name + ".so"}, nil
}

func (l librarian) Open(id string, o backend.OpenOptions) (backend.Device, error) {
	d, err := l.Backend.Open(id, o)
	return librarianDevice{d, cmp.Or(l.version, "1.2.3"), l.wrong}, err
}

type librarianDevice struct {
	backend.Device
	version, wrong string
}

func (d librarianDevice) Prepare(p op.Program, o backend.PrepareOptions) (backend.Executable, error) {
	if o.Library == "acme blocked" || o.Library == "acme fused none" {
		return nil, backend.Unsupported("acme has no kernel for any step the way %q", o.Library)
	}
	if o.Library != "" {
		p.Name = o.Library
	}
	e, err := d.Device.Prepare(p, o)
	if err == nil && o.Library != "" {
		e = librarianExecutable{e, "acme " + d.version + " fast", o.Library == d.wrong}
	}
	return e, err
}

// librarianExecutable has its first step by the library.
type librarianExecutable struct {
	backend.Executable
	library string
	wrong   bool
}

func (e librarianExecutable) Read(tensor string, start, n int64, to []float64) error {
	err := e.Executable.Read(tensor, start, n, to)
	if e.wrong && len(to) > 0 {
		to[0]++
	}
	return err
}

func (e librarianExecutable) Kernels() []backend.KernelInfo {
	all := slices.Clone(e.Executable.Kernels())
	all[0].Library = e.library
	return all
}

// failing is a worker that fails in a verb when a program is computed a library's way.
type failing struct {
	runner.Worker
	way, verb string
	times     *int // how often it still works before it fails
	err       error
	asked     *[]string
	current   *[]string // libraries of the arms that are prepared
}

func (w failing) Do(ctx context.Context, q runner.Request) (runner.Reply, error) {
	if q.Verb == runner.VerbPrepare {
		*w.current = nil
		for _, a := range q.Case.Arms {
			*w.current = append(*w.current, a.Library)
		}
	}
	if w.err != nil && q.Verb == w.verb && slices.Contains(*w.current, w.way) {
		if *w.times--; *w.times < 0 {
			return runner.Reply{}, w.err
		}
	}
	if q.Verb == runner.VerbMeasure {
		*w.asked = append(*w.asked, strings.Join(*w.current, "+"))
	}
	return w.Worker.Do(ctx, q)
}

func TestThePilotDecidesWhetherAVendorLibraryIsTheBaseline(t *testing.T) {
	crash, hang := &runner.CrashError{Signal: "SIGSEGV"}, &runner.TimeoutError{Verb: runner.VerbMeasure}
	for name, c := range map[string]struct {
		ns        map[string]float64 // of a launch, by way; ridge's candidates take 100 and 90, its fused kernel 60
		missing   string
		wrong     string // the way whose results are
		way, verb string // where the library fails
		works     int    // how often it does not
		err       error
		baseline  string
		fusedNS   float64 // 0: no vendor_fused
		fusedBy   string  // "": acme fused
		aside     bool
		status    map[string]record.Status // of candidates
		instead   map[string]string
		tried     string // the fused primitives: name, status, what the reason says
	}{
		"a slower library": {ns: map[string]float64{"acme": 95, "acme packed": 91, "acme fused": 70, "acme fused blocked": 75}, baseline: "in place", fusedNS: 70,
			tried:  "acme fused ok; acme fused blocked ok 1.17; acme fused none unsupported no kernel",
			status: map[string]record.Status{"buffers": record.OK, "in place": record.OK, "acme": record.OK, "acme packed": record.OK, "acme blocked": record.Unsupported}},
		"the faster of its ways": {ns: map[string]float64{"acme": 80, "acme packed": 70, "acme fused": 55, "acme fused blocked": 50}, baseline: "acme packed", fusedNS: 50, fusedBy: "acme fused blocked",
			tried: "acme fused ok 0.917; acme fused blocked ok; acme fused none unsupported no kernel"},
		"plain faster than packed": {ns: map[string]float64{"acme": 70, "acme packed": 80, "acme fused": 50}, baseline: "acme", fusedNS: 50},
		"a way that packs in each launch, where packed weights ran": {ns: map[string]float64{"acme": 60, "acme packed": 70, "acme fused": 50}, instead: map[string]string{"acme": "acme packed"}, baseline: "acme packed", fusedNS: 50,
			status: map[string]record.Status{"acme": record.Skipped, "acme packed": record.OK}},
		"a way that does more in each launch than one that does not run": {ns: map[string]float64{"acme": 70, "acme packed": 80, "acme fused": 50}, instead: map[string]string{"acme": "acme blocked"}, baseline: "acme", fusedNS: 50,
			status: map[string]record.Status{"acme": record.OK, "acme blocked": record.Unsupported}},
		"a wrong way that is faster": {ns: map[string]float64{"acme": 60, "acme packed": 80, "acme fused": 50}, wrong: "acme", baseline: "acme packed", fusedNS: 50,
			status: map[string]record.Status{"acme": record.Wrong, "acme packed": record.OK}},
		"a wrong way that is slower, which nobody checks": {ns: map[string]float64{"acme": 95, "acme packed": 80, "acme fused": 50}, wrong: "acme", baseline: "acme packed", fusedNS: 50,
			status: map[string]record.Status{"acme": record.OK, "acme packed": record.OK}},
		"a wrong fused primitive": {ns: map[string]float64{"acme": 95, "acme packed": 95, "acme fused": 50, "acme fused blocked": 99}, wrong: "acme fused", baseline: "in place", fusedNS: 99, fusedBy: "acme fused blocked",
			tried: "acme fused wrong random test; acme fused blocked ok; acme fused none unsupported no kernel"},
		// Its fused primitive is faster than everything, and still no baseline.
		"a fast fused primitive": {ns: map[string]float64{"acme": 99, "acme packed": 99, "acme fused": 10}, baseline: "in place", fusedNS: 10},
		"no library":             {missing: "acme is not here", baseline: "in place"},
		"a crash in the pilot": {ns: map[string]float64{"acme": 10, "acme packed": 10, "acme fused": 10}, way: "acme", verb: runner.VerbMeasure, err: crash, baseline: "in place", aside: true,
			status: map[string]record.Status{"acme": record.Crashed}},
		"a hang in the pilot": {ns: map[string]float64{"acme": 10, "acme packed": 10, "acme fused": 10}, way: "acme packed", verb: runner.VerbVerify, err: hang, baseline: "acme", aside: true,
			tried:  "acme fused skipped set aside in this run: timed_out; acme fused blocked skipped set aside; acme fused none skipped set aside",
			status: map[string]record.Status{"acme": record.OK, "acme packed": record.TimedOut}},
		"a crash after it won": {ns: map[string]float64{"acme": 10, "acme packed": 20, "acme fused": 10}, way: "acme", verb: runner.VerbMeasure, works: 1, err: crash, baseline: "in place", aside: true,
			status: map[string]record.Status{"acme": record.Crashed}},
		"a crash of the fused primitive": {ns: map[string]float64{"acme": 10, "acme packed": 20, "acme fused": 10}, way: "acme fused", verb: runner.VerbVerify, err: crash, baseline: "acme", aside: true,
			tried: "acme fused crashed SIGSEGV; acme fused blocked skipped set aside in this run: crashed; acme fused none skipped set aside"},
	} {
		t.Run(name, func(t *testing.T) {
			all, err := fusion.Select(fusion.Builtin(), []string{"Linear_Bias_ReLU"})
			if err != nil {
				t.Fatal(err)
			}
			all[0].DTypes, all[0].Shapes = []record.DType{record.FP32}, []fusion.Shape{{Params: map[string]string{"m": "3", "k": "5", "n": "7"}, Quick: true}}
			ns := map[string]float64{"buffers": 100e3, "in place": 90e3, fusion.Fused: 60e3, "in place packed": 90e3, "fused packed": 60e3, "acme fused blocked": 90e3}
			for k, v := range c.ns {
				ns[k] = v * 1e3
			}
			fake := &fakebackend.Backend{NS: func(p op.Program, _ string) float64 { return ns[p.Name] }}
			cfg, v := toy(t, fake, t.TempDir())
			ops := fusion.WithPatterns(op.Builtin(), fusion.Builtin())
			server := &runner.Server{Backends: []backend.Backend{librarian{fake, c.missing, "", c.wrong, 0}}, Ops: op.Builtin(),
				Patterns: func(ref record.ProgramRef) (op.Program, error) { return fusion.Program(fusion.Builtin(), ref) }}
			asked, current := []string{}, []string{}
			cfg.Launch = func(ctx context.Context) (runner.Worker, error) {
				w, err := runner.InProcess(server)(ctx)
				return failing{w, c.way, c.verb, &c.works, c.err, &asked, &current}, err
			}
			ways := []string{"acme", "acme packed", "acme blocked"}
			if c.instead != nil {
				slices.Reverse(ways) // what is there instead comes first
			}
			cfg.Libraries = []backend.LibraryWays{{Name: "acme", Unfused: ways, Instead: c.instead, Fused: []string{"acme fused", "acme fused blocked", "acme fused none"}}}
			levels := []ceiling.Level{{Name: "L1", Capacity: 32 << 10}}
			cfg.NoProbes, cfg.Plan = true, plan.Options{Device: "cpu", Threads: 1, Quick: true, Trials: 8, Ops: ops, Levels: levels, Levels1: levels, ProbesOnly: true, Fusion: all}
			doc := mustRun(t, cfg)
			r := doc.Results[0]
			if !r.Status.Counts() || r.Arms[0].Name != fusion.Unfused+":"+c.baseline {
				t.Fatalf("%s %s, baseline %+v: want %s; candidates %+v", r.Status, r.Reason, r.Arms, c.baseline, r.Candidates)
			}
			if want := ns[c.baseline] / ns[fusion.Fused]; r.Ratio.Value < want*0.99 || r.Ratio.Value > want*1.01 {
				t.Errorf("speed-up %v, want %v", r.Ratio.Value, want)
			}
			for _, x := range r.Candidates {
				if want, ok := c.status[x.Name]; ok && want != x.Status {
					t.Errorf("candidate %+v, want %s", x, want)
				}
				if unchecked := strings.Contains(x.Reason, "not verified"); strings.HasPrefix(x.Name, "acme") && unchecked != (x.Status == record.OK && c.ns[x.Name] >= 90) {
					t.Errorf("candidate %+v of %v us", x, c.ns[x.Name])
				}
				delete(c.status, x.Name)
			}
			if len(c.status) > 0 {
				t.Errorf("candidates %+v lack %v", r.Candidates, c.status)
			}
			if f := r.VendorFused; (f != nil) != (c.fusedNS > 0) {
				t.Errorf("vendor_fused %+v", f)
			} else if f != nil && (f.LatencyMS != c.fusedNS/1e3 || f.Library != cmp.Or(c.fusedBy, "acme fused") || f.Version != "1.2.3" || f.CodePath != "fast" || f.Ratio < c.fusedNS/60*0.99 || f.Ratio > c.fusedNS/60*1.01) {
				t.Errorf("vendor_fused %+v", f)
			}
			if len(r.VendorTried) > 0 == (c.missing != "") {
				t.Errorf("fused primitives %+v", r.VendorTried)
			}
			for i, want := range strings.Split(c.tried, "; ") {
				if c.tried == "" {
					break
				}
				if i >= len(r.VendorTried) {
					t.Errorf("fused primitives %+v lack %s", r.VendorTried, want)
					continue
				}
				x := r.VendorTried[i]
				head := x.Name + " " + string(x.Status)
				if why, ok := strings.CutPrefix(want, head); !ok || !strings.Contains(x.Reason, strings.TrimSpace(why)) || (why == "") != (x.Reason == "") {
					t.Errorf("fused primitive %+v, want %s", x, want)
				}
			}
			if lib := doc.Host.VendorLibraries[0]; (lib.Unavailable != "") != (c.aside || c.missing != "") || c.aside != v.heard("the library acme is set aside") {
				t.Errorf("library %+v, warnings %v", lib, v.warned)
			}
			text := string(doc.FusionProfiles[0])
			if err := record.ValidateFusion(doc.FusionProfiles[0]); err != nil || !strings.Contains(text, `"baseline": "`+c.baseline+`"`) ||
				strings.Contains(text, `"vendor_fused":`) != (c.fusedNS > 0) || strings.Contains(text, `"vendor_fused_candidates"`) != (c.missing == "") || !strings.Contains(text, `"baseline_candidates"`) {
				t.Errorf("%v, profile %s", err, text)
			}
		})
	}
}
