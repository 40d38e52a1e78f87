package campaign

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ridge/goharness/ceiling"
	"ridge/goharness/machine"
	"ridge/goharness/op"
	"ridge/goharness/plan"
	"ridge/goharness/power"
	"ridge/goharness/record"
	"ridge/goharness/runner"
)

// DRAM-sized cases of a device are sized by its cache and skipped by its memory, whatever the host has.
func TestTheCasesOfAnAcceleratorAreSizedByItsOwnMemory(t *testing.T) {
	for _, tc := range []struct {
		l2      string
		memory  int64
		llc     int64
		levels  int
		skipped bool
	}{
		{"52428800", 80 << 30, 50 << 20, 2, false},
		{"52428800", 64 << 20, 50 << 20, 2, true},
	} {
		c := &campaign{cfg: Config{Plan: plan.Options{Device: "cuda:0", Threads: 1, Ops: op.Builtin(), Operations: []string{"stream_triad"}, Quick: true},
			Accelerator: &record.Device{ID: "cuda:0", Platform: "cuda", Memory: tc.memory, Facts: map[string]string{"l2_bytes": tc.l2}}}}
		wh := NewWorkerHost(machine.Source{})
		c.hostPlan(wh, []int{0})
		o := c.cfg.Plan
		if o.LLC != tc.llc || len(o.Levels) != tc.levels || o.Levels[0].Capacity != tc.llc || o.Levels[tc.levels-1].Name != ceiling.DRAM || o.Memory != tc.memory/10*9 {
			t.Errorf("L2 %s, memory %d: LLC %d, memory %d, levels %v", tc.l2, tc.memory, o.LLC, o.Memory, o.Levels)
		}
		p, err := plan.Build(o)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range p.Cases {
			if k.UseCase == "from DRAM" && (k.SkipReason != "") != tc.skipped {
				t.Errorf("%s: %q", k.ID, k.SkipReason)
			}
		}
	}
}

// A device is probed for its first level, its scratchpads and its launches beside the levels that results are held against.
func TestAnAcceleratorsProbesFillIt(t *testing.T) {
	o := plan.Options{Device: "cuda:0", Threads: 1, Ops: op.Builtin(), ProbesOnly: true, Quick: true,
		Peaks: []plan.Peak{{ISA: "simt", DType: record.FP32}, {ISA: record.ISAMma, DType: record.BF16}, {ISA: record.ISAMma, DType: record.TF32}, {ISA: "ex2", DType: record.FP32}}}
	acceleratorPlan(&o, record.Device{ID: "cuda:0", Memory: 80 << 30, Facts: map[string]string{"l2_bytes": "52428800", "multiprocessors": "132", "shared_bytes_per_block": "232448"}})
	p, err := plan.Build(o)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, x := range p.Probes {
		c := x.Ceiling
		if got[strings.Join([]string{c.Kind, c.Level, c.ISA, string(c.DType), c.Access}, " ")] = x.Case.Program.Params["instructions"]; x.Case.SkipReason != "" && !x.Sweep {
			t.Errorf("%s is skipped: %s", x.Case.ID, x.Case.SkipReason)
		}
		if steps, _ := strconv.Atoi(x.Case.Program.Params["steps"]); steps > 1<<16 {
			t.Errorf("%s takes %d us a launch at 600 ns a link", x.Case.ID, steps*6/10000)
		}
	}
	for _, of := range []string{"gemm", "copy_h2d"} { // the link to the host judges its own copies alone
		links, compute := map[string]int{}, ""
		for _, x := range neededProbes(p.Probes, []record.Case{{Threads: 1, Program: record.ProgramRef{Op: of, DType: record.FP32}}}) {
			if x.Ceiling.Level == record.LevelHost {
				links[x.Case.Program.Op]++
			}
			if x.Ceiling.Kind == record.CeilingCompute {
				compute += x.Ceiling.ISA + " " + string(x.Ceiling.DType) + ", "
			}
		}
		if compute != "simt fp32, mma tf32, ex2 fp32, " { // fp32 may be three products of tf32
			t.Errorf("probes of arithmetic for %s at fp32: %s", of, compute)
		}
		if links["copy_d2h"] != 0 || (links["copy_h2d"] > 0) != (of == "copy_h2d") {
			t.Errorf("probes of the link to the host for %s: %v", of, links)
		}
	}
	for name, instructions := range map[string]string{"compute  simt fp32 ": "363331584", "compute  mma bf16 ": "45416448", "compute  ex2 fp32 ": "45416448",
		"bandwidth L1   read": "", "bandwidth shared   read": "", "bandwidth L2   triad": "", "bandwidth DRAM   nt_copy": "",
		"latency L1   ": "", "latency L2   ": "", "latency DRAM   ": "", "launch    ": "", "launch    graph": ""} {
		if n, there := got[name]; !there || n != instructions {
			t.Errorf("%q: there %v, %s instructions, want %s", name, there, n, instructions)
		}
	}
}

// What one multiprocessor keeps of a buffer, or all of a working set, is no figure of the second level.
func TestAnAcceleratorsSweepTellsItsSecondLevelFromItsFirst(t *testing.T) {
	o := plan.Options{Device: "cuda:0", Threads: 1, Ops: op.Builtin(), ProbesOnly: true}
	acceleratorPlan(&o, record.Device{ID: "cuda:0", Memory: 80 << 30, Facts: map[string]string{"l2_bytes": "52428800", "multiprocessors": "8", "shared_bytes_per_block": "232448"}})
	p, err := plan.Build(o)
	if err != nil {
		t.Fatal(err)
	}
	swept := map[string]int{}
	for _, x := range p.Probes {
		n, _ := strconv.ParseInt(x.Case.Program.Params["bytes"], 10, 64)
		passes, _ := strconv.ParseInt(x.Case.Program.Params["passes"], 10, 64)
		switch {
		case !x.Sweep && x.Ceiling.Level == "L2" && x.Ceiling.Kind == record.CeilingBandwidth && n*passes < 32<<20:
			t.Errorf("%s moves %d bytes: a launch is most of its time", x.Case.ID, n*passes)
		case x.Sweep && x.Ceiling.Level == "L2":
			swept[x.Case.Program.Op]++
			if least := map[string]int64{"chase": 256 << 10, "bandwidth": 8 * 256 << 10}[x.Case.Program.Op]; n < 2*least || n > 25<<20 {
				t.Errorf("%s of %d bytes is a probe of L2", x.Case.ID, n)
			}
		case x.Sweep && x.Ceiling.Kind != "":
			t.Errorf("%s is a probe of %s", x.Case.ID, x.Ceiling.Level)
		}
	}
	if swept["chase"] == 0 || swept["bandwidth"] == 0 {
		t.Errorf("points of the sweep that are probes of L2: %v", swept)
	}
}

// One multiprocessor follows the links: what its own cache holds is no plateau of the second level, and its size is nobody's report.
func TestThePlateausOfAnAcceleratorBeginWithItsFirstLevel(t *testing.T) {
	o := plan.Options{}
	device := record.Device{ID: "cuda:0", Platform: "cuda", Facts: map[string]string{"l2_bytes": "62914560", "multiprocessors": "132"}}
	acceleratorPlan(&o, device)
	c := &campaign{cfg: Config{Accelerator: &device}, model: ceiling.NewModel("cuda:0", o.Levels, o.Levels1)}
	for n := int64(8 << 10); n <= 256<<20; n *= 2 {
		ns := 330.0
		switch {
		case n <= 64<<10:
			ns = 25
		case n == 128<<10 || n == 256<<10:
			ns = float64(n >> 10)
		case n <= 32<<20:
			ns = 147
		}
		c.doc.Results = append(c.doc.Results, record.Result{Op: "chase", UseCase: record.UseCaseSweep, Status: record.OK, WorkingSetBytes: n, Items: 1, Time: &record.Time{MedianNS: ns}})
	}
	var got []string
	for _, p := range c.plateaus() {
		got = append(got, fmt.Sprintf("%s %.0f ns, %d reported", p.Level, p.LatencyNS, p.ReportedBytes))
	}
	if want := []string{"L1 25 ns, 0 reported", "L2 147 ns, 62914560 reported", "DRAM 330 ns, 0 reported"}; !slices.Equal(got, want) {
		t.Errorf("plateaus %q, want %q", got, want)
	}
	if w := c.plateauWarnings(); len(w) != 0 {
		t.Errorf("warnings of sizes that nobody reports: %q", w)
	}
}

// The probes of a device that the CPU stands in for are as short as they can be: a warp's work of arithmetic, a megabyte of traffic.
func TestTheProbesOfASimulatedDeviceAreShort(t *testing.T) {
	o := plan.Options{Device: "cuda:0", Threads: 1, Ops: op.Builtin(), ProbesOnly: true, Quick: true, Peaks: []plan.Peak{{ISA: record.ISAMma, DType: record.BF16}}}
	acceleratorPlan(&o, record.Device{ID: "cuda:0", Memory: 1 << 30, Facts: map[string]string{"l2_bytes": "4194304", "multiprocessors": "4",
		"shared_bytes_per_block": "232448", record.FactSimulated: "a test"}})
	row, err := op.FindPeak(record.ISAMma, record.BF16)
	if err != nil || o.PeakChunks*row.Chunk != 5376 {
		t.Errorf("%d chunks of %d instructions, %v", o.PeakChunks, row.Chunk, err)
	}
	for _, x := range o.Extra {
		b, _ := strconv.ParseInt(x.Params["bytes"], 10, 64)
		n, _ := strconv.ParseInt(x.Params["passes"], 10, 64)
		if b*n > 1<<20 {
			t.Errorf("%s: %v", x.Op, x.Params)
		}
	}
}

// A device that names no compute capability gets no formula of the host's CPU.
func TestADeviceOfUnknownCapabilityIsMeasuredOnly(t *testing.T) {
	m := ceiling.NewModel("x:0", nil, nil)
	gpu, err := acceleratorModel(m, record.Device{ID: "x:0"})
	if err == nil || gpu == nil || m.GPU != gpu {
		t.Fatalf("%+v, %v", gpu, err)
	}
	for _, x := range []record.Ceiling{{Kind: record.CeilingCompute, ISA: "simt", DType: record.FP32}, {Kind: record.CeilingBandwidth, Level: ceiling.DRAM}} {
		if got := gpu.Theory(x, 0); got.Value != 0 || !strings.Contains(got.Unavailable, "measured only") {
			t.Errorf("%s: %+v", x.Kind, got)
		}
	}
}

// sensors give their readings in turn and stay at the last, or give an error.
type sensors struct {
	now   []power.Sensors
	reads atomic.Int64
	notes map[string]string
	err   error
}

func (s *sensors) Name() string { return "test sensors" }
func (s *sensors) Domains() []power.Domain {
	return []power.Domain{{Name: "board", Unit: power.Watts, Scale: 1}}
}
func (s *sensors) Facts() power.Facts { return power.Facts{Notes: s.notes} }
func (s *sensors) Close() error       { return nil }
func (s *sensors) Read(context.Context) (power.Reading, error) {
	n := int(s.reads.Add(1))
	return power.Reading{Counts: []uint64{1}, Sensors: s.now[min(n, len(s.now))-1]}, s.err
}

func TestWhatADevicesSensorsShowedIsInTheConditions(t *testing.T) {
	for _, tc := range []struct {
		name      string
		meter     *sensors
		reads     int64 // that the case lasts for
		clock     float64
		throttled string
		warns     string
	}{
		{"while it was timed", &sensors{now: []power.Sensors{{ClockMHz: 1980, TemperatureC: 50}, {ClockMHz: 1500, TemperatureC: 60, Throttled: "power cap"}, {ClockMHz: 1510, TemperatureC: 61, Throttled: "power cap, thermal (software)"}}}, 5, 1510, "power cap, thermal (software)", ""},
		{"a short case", &sensors{now: []power.Sensors{{ClockMHz: 1700, TemperatureC: 50}}}, 0, 1700, "no", ""},
		{"beside other processes", &sensors{now: []power.Sensors{{ClockMHz: 1700, TemperatureC: 40}}, notes: map[string]string{"other processes": "pid 7 (100 MiB)"}}, 0, 1700, "no", "other processes on the device: pid 7"},
		{"sensors that fail", &sensors{now: []power.Sensors{{}}, err: errors.New("the GPU is lost")}, 0, 0, "", ""},
	} {
		c := &campaign{cfg: Config{Accelerator: &record.Device{ID: "cuda:0", Platform: "cuda"}, View: silent{}}}
		c.doc.Devices = []record.Device{{ID: "cuda:0", Platform: "cuda"}}
		c.cfg.EnergyOf.Meters = []power.Source{{Name: "test", Platform: "cuda", Open: func(context.Context, power.Env, power.Device) (power.Meter, error) { return tc.meter, nil }}}
		c.runner = &runner.Runner{}
		c.openBoard(t.Context())
		r := record.Result{Conditions: &record.Conditions{}}
		done := c.runner.Observe(record.Case{})
		for begin := time.Now(); tc.meter.reads.Load() < tc.reads; time.Sleep(boardEvery / 10) {
			if time.Since(begin) > time.Minute {
				t.Fatalf("%s: %d readings after a minute, want %d", tc.name, tc.meter.reads.Load(), tc.reads)
			}
		}
		done(&r)
		c.closeBoard()
		b := r.Conditions.Board
		if b == nil || b.ClockMHz != tc.clock {
			t.Errorf("%s: %+v, want %v MHz", tc.name, b, tc.clock)
			continue
		}
		if got, _ := r.Conditions.Throttled.Get(); got != tc.throttled || tc.clock == 0 && !strings.Contains(b.Unavailable+r.Conditions.Throttled.Unavailable, "lost") {
			t.Errorf("%s: throttled %+v, %+v", tc.name, r.Conditions.Throttled, b)
		}
		if !strings.Contains(strings.Join(r.Warnings, ";"), tc.warns) {
			t.Errorf("%s: warnings %q", tc.name, r.Warnings)
		}
	}
}

func TestTheDriversVersionIsTheMeters(t *testing.T) {
	c := &campaign{}
	c.doc.Devices = []record.Device{{ID: "cuda:0", Facts: map[string]string{"driver": "CUDA 13.0"}}}
	c.toldBy(map[string]string{power.NoteDriver: "580.82.07"})
	if f := c.doc.Devices[0].Facts; f["driver_version"] != "580.82.07" || f["driver"] != "CUDA 13.0" {
		t.Errorf("%v", f)
	}
}

func TestTheLinkToTheHostIsWhatTheMeterTells(t *testing.T) {
	for _, tc := range []struct {
		name  string
		notes map[string]string
		want  string // the theoretical row
	}{
		{"known", map[string]string{power.NotePCIeGeneration: "5", power.NotePCIeLanes: "16"}, "63 GB/s"},
		{"a reason", map[string]string{power.NotePCIeGeneration: "not supported by this GPU", power.NotePCIeLanes: "16"}, "0 GB/s"},
		{"no meter", nil, "0 GB/s"},
	} {
		c := &campaign{setting: ceiling.Setting{GPU: &ceiling.GPU{}}}
		c.doc.Devices = []record.Device{{ID: "cuda:0"}}
		c.toldBy(tc.notes)
		got := c.setting.Theory(record.Ceiling{Kind: record.CeilingBandwidth, Level: record.LevelHost, Access: record.AccessToHost})
		if text := fmt.Sprintf("%.0f GB/s", got.Value); text != tc.want || (got.Value == 0) != (c.doc.Devices[0].Facts["pcie_lanes"] == "") {
			t.Errorf("%s: %s, %v", tc.name, text, c.doc.Devices[0].Facts)
		}
	}
}

func TestWhatElseUsesADeviceIsSaid(t *testing.T) {
	for _, tc := range []struct {
		name    string
		d       record.Device
		notes   map[string]string
		shared  string
		disturb string
	}{
		{"alone", record.Device{Name: "NVIDIA H200", Facts: map[string]string{"devices": "1"}}, map[string]string{"other processes": "none"}, "", ""},
		{"processes that cannot be listed", record.Device{Name: "NVIDIA H200"}, map[string]string{"other processes": "no permission"}, "", ""},
		{"another process", record.Device{Name: "NVIDIA H200"}, map[string]string{"other processes": "pid 7 (100 MiB)"}, "", "pid 7 (100 MiB)"},
		{"a slice", record.Device{Name: "NVIDIA H200 MIG 1g.18gb"}, nil, "", "slice of a GPU by MIG"},
		{"one of several", record.Device{Name: "NVIDIA H200", Facts: map[string]string{"devices": "8"}}, nil, "one of 8 devices", ""},
	} {
		shared, disturb := besides(tc.d, tc.notes)
		for what, x := range map[string]struct {
			got  []string
			want string
		}{"shared": {shared, tc.shared}, "disturb": {disturb, tc.disturb}} {
			if text := strings.Join(x.got, "; "); (x.want == "") != (text == "") || !strings.Contains(text, x.want) {
				t.Errorf("%s: %s %q, want %q", tc.name, what, text, x.want)
			}
		}
	}
}

func TestADeviceWithoutSensorsSaysWhy(t *testing.T) {
	c := &campaign{cfg: Config{Accelerator: &record.Device{ID: "cuda:0", Platform: "cuda"}, View: silent{}}, runner: &runner.Runner{}}
	c.doc.Devices = []record.Device{{ID: "cuda:0", Platform: "cuda"}}
	c.cfg.EnergyOf.Meters = []power.Source{}
	c.openBoard(t.Context())
	r := record.Result{Conditions: &record.Conditions{TemperatureC: record.Known(40.0, "the host's CPU")}}
	c.runner.Observe(record.Case{})(&r)
	if b := r.Conditions.Board; b == nil || !strings.Contains(b.Unavailable, "no energy meter") || r.Conditions.TemperatureC.Unavailable == "" {
		t.Errorf("%+v, temperature %+v", b, r.Conditions.TemperatureC)
	}
}
