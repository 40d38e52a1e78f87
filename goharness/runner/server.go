package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"ridge/goharness/backend"
	"ridge/goharness/measure"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// Seed selects the random inputs of every case.
const Seed = 42

// Host is what the worker must know of its machine.
type Host interface {
	// CPUs picks the CPUs for n threads (0: the usable count) by an affinity policy.
	CPUs(n int, policy string) ([]int, error)
	// FreeMemory is the bytes that may be allocated and what limits them.
	FreeMemory() (int64, string, error)
	// LLCBytes is the aggregate last-level cache of the usable CPUs; 0 when unknown.
	LLCBytes() int64
	// StealNS is the hypervisor's steal time so far, over all CPUs.
	StealNS() (int64, error)
	// Fill adds the host's readings (temperature, throttling, quota, NUMA) to conditions.
	Fill(c *record.Conditions)
}

// Server is the measured side: it owns the device and answers one request at a time. A
// worker process serves it on its pipes; tests call Handle in-process.
type Server struct {
	Backends []backend.Backend
	Ops      *op.Registry
	Host     Host
	Affinity string // policy of pinning, see Host.CPUs
	Priority string // what the worker obtained, for the record
	// Patterns resolves program references that name a pattern; nil: none are known.
	Patterns func(record.ProgramRef) (op.Program, error)
	Effort   Effort

	dev    backend.Device
	devKey string
	cur    *prepared
}

type prepared struct {
	c        record.Case
	arms     []arm
	rss      int64
	launches int // of the last measurement's samples
}

type arm struct {
	name string
	p    op.Program
	e    backend.Executable
}

// Handle answers one request. It never panics on bad input.
func (s *Server) Handle(ctx context.Context, q Request) Reply {
	var r Reply
	var err error
	switch q.Verb {
	case VerbHello:
		r.Hello = &Hello{PID: os.Getpid(), Protocol: Protocol, Priority: s.Priority}
	case VerbPrepare:
		r.Prepared, err = s.prepare(q)
	case VerbVerify:
		r.Verified, err = s.verify(ctx)
	case VerbMeasure:
		r.Measured, err = s.measure(ctx)
	case VerbSoak:
		r.Soaked, err = s.soak(ctx, q)
	case VerbClock:
		r.Clock, err = s.clocks(q)
	case VerbRelease:
		s.release()
	default:
		err = usage("unknown verb %q", q.Verb)
	}
	if err != nil {
		r.Err = workerError(err)
	}
	return r
}

// Close releases the case and the device.
func (s *Server) Close() {
	s.release()
	if s.dev != nil {
		_ = s.dev.Close()
		s.dev = nil
	}
}

func usage(format string, a ...any) error {
	return &WorkerError{Kind: "usage", Message: fmt.Sprintf(format, a...)}
}

func workerError(err error) *WorkerError {
	var w *WorkerError
	var m *backend.MemoryError
	switch {
	case errors.As(err, &w):
		return w
	case backend.IsUnsupported(err):
		return &WorkerError{Kind: string(record.Unsupported), Message: err.Error()}
	case errors.As(err, &m):
		return &WorkerError{Kind: string(record.Skipped), Message: err.Error()}
	}
	return &WorkerError{Kind: "internal", Message: err.Error()}
}

// open makes the device of a case the current one. Devices are reopened when the thread
// count changes, so that only one team and one arena exist.
func (s *Server) open(c record.Case) error {
	key := c.Device + "/" + strconv.Itoa(c.Threads)
	if s.dev != nil && s.devKey == key {
		return nil
	}
	if s.dev != nil {
		_ = s.dev.Close()
		s.dev = nil
	}
	platform, _, _ := strings.Cut(c.Device, ":")
	i := slices.IndexFunc(s.Backends, func(b backend.Backend) bool { return b.Name() == platform })
	if i < 0 {
		return backend.Unsupported("device %s: this build has no %s platform in it", c.Device, platform)
	}
	b := s.Backends[i]
	if err := b.Available(); err != nil {
		return backend.Unsupported("device %s: %v", c.Device, err)
	}
	o := backend.OpenOptions{Affinity: s.Affinity}
	if s.Host != nil {
		cpus, err := s.Host.CPUs(c.Threads, s.Affinity)
		if err != nil {
			return usage("threads=%d affinity=%s: %v", c.Threads, s.Affinity, err)
		}
		o.CPUs = cpus
		if free, _, err := s.Host.FreeMemory(); err == nil {
			o.MemoryLimit = free / 10 * 9
		}
	}
	dev, err := b.Open(c.Device, o)
	if err != nil {
		return err
	}
	s.dev, s.devKey = dev, key
	return nil
}

func (s *Server) program(ref record.ProgramRef) (op.Program, error) {
	if ref.Pattern != "" {
		if s.Patterns == nil {
			return op.Program{}, usage("pattern %q: this worker knows no patterns", ref.Pattern)
		}
		return s.Patterns(ref)
	}
	o, err := s.Ops.New(ref.Op, ref.Params, ref.DType)
	if err != nil {
		return op.Program{}, usage("%v", err)
	}
	return op.Single(o), nil
}

func (s *Server) prepare(q Request) (*Prepared, error) {
	s.release()
	if q.Case == nil {
		return nil, usage("prepare: no case was given")
	}
	c := *q.Case
	ref, err := s.program(c.Program)
	if err != nil {
		return nil, err
	}
	refs := c.Arms
	if len(refs) == 0 {
		refs = []record.ProgramRef{c.Program}
	}
	cur := &prepared{c: c, rss: residentBytes()}
	sets := 1
	var programs []op.Program
	var need int64
	for _, r := range refs {
		p, err := s.program(r)
		if err != nil {
			return nil, err
		}
		programs = append(programs, p)
		need += p.WorkingSet()
	}
	if sets, err = s.sets(c.Mode, need); err != nil {
		return nil, err
	}
	if err := s.fits(need, sets); err != nil {
		return nil, err
	}
	if err := s.open(c); err != nil {
		return nil, err
	}
	before := s.dev.MemoryInUse()
	out := &Prepared{Params: ref.Reference.Params(), FLOPs: ref.FLOPs(), Bytes: ref.Bytes(),
		WorkingSetBytes: ref.WorkingSet(), Items: ref.Reference.Items(), Sets: sets,
		MemoryBefore: cur.rss, DeviceBefore: before, Traffic: traffic(ref.Reference)}
	if spec, ok := s.Ops.Spec(ref.Reference.Name()); ok {
		out.ItemUnit = spec.Item
	}
	s.cur = cur
	for i, p := range programs {
		o := backend.PrepareOptions{Kernel: refs[i].Kernel, Exclude: q.Exclude, Sets: sets, Seed: Seed}
		e, err := s.dev.Prepare(p, o)
		if err != nil {
			s.release()
			return nil, err
		}
		cur.arms = append(cur.arms, arm{name: refs[i].Name, p: p, e: e})
		pa := PreparedArm{Name: refs[i].Name, FLOPs: p.FLOPs(), Bytes: p.Bytes()}
		for _, k := range e.Kernels() {
			pa.Kernels = append(pa.Kernels, k.Name)
			if len(k.ISA) > len(pa.ISA) {
				pa.ISA = k.ISA
			}
			out.Accumulate = wider(out.Accumulate, k.Accumulate)
		}
		out.Arms = append(out.Arms, pa)
	}
	out.DeviceMemory = s.dev.MemoryInUse()
	return out, nil
}

// sets is how many buffer sets a mode needs: cold ones rotate through twice the last-level
// cache, so that a set has left the caches before it is used again.
func (s *Server) sets(mode string, need int64) (int, error) {
	switch mode {
	case record.Hot, "":
		return 1, nil
	case record.Cold:
		if s.Host == nil || s.Host.LLCBytes() == 0 {
			return 0, backend.Unsupported("mode cold: the size of the last-level cache is unknown")
		}
		n := 2*s.Host.LLCBytes()/max(1, need) + 2
		return int(min(n, 4096)), nil
	}
	return 0, usage("mode %q: expected hot or cold", mode)
}

func (s *Server) fits(need int64, sets int) error {
	if s.Host == nil {
		return nil
	}
	free, by, err := s.Host.FreeMemory()
	if err != nil {
		return nil // unreadable: the allocation itself will tell
	}
	if s.dev != nil {
		free += s.dev.MemoryInUse()
	}
	if need > free/10*8/int64(sets) {
		return &backend.MemoryError{Need: need * int64(sets), Have: free / 10 * 8, What: "80 % of " + by}
	}
	return nil
}

// traffic splits an op's bytes into reads and writes, to choose the bandwidth ceiling that fits.
func traffic(o op.Op) Traffic {
	var t Traffic
	var largest int64
	for _, x := range o.Tensors() {
		if x.Role == op.In {
			largest = max(largest, x.Elements()*x.DType.Size())
		}
	}
	for _, x := range o.Tensors() {
		b := x.Elements() * x.DType.Size()
		switch x.Role {
		case op.In:
			t.ReadBytes += b
			if b*8 >= largest {
				t.Inputs++
			}
		case op.Out:
			t.WriteBytes += b
		}
	}
	return t
}

func (s *Server) verify(ctx context.Context) ([]Checked, error) {
	if s.cur == nil {
		return nil, usage("verify: no case is prepared")
	}
	effort := s.Effort
	if effort.Samples == 0 {
		effort = DefaultEffort
	}
	var out []Checked
	for _, a := range s.cur.arms {
		v, err := Verify(ctx, a.e, a.p, Seed, effort)
		if err != nil {
			return nil, err
		}
		out = append(out, Checked{Verification: v, Arm: a.name})
	}
	return out, nil
}

func (s *Server) measure(ctx context.Context) (*Measured, error) {
	if s.cur == nil {
		return nil, usage("measure: no case is prepared")
	}
	c := s.cur.c
	out := &Measured{}
	clockBefore := s.clock()
	steal0, stealErr := s.steal()
	runtime.GC()
	gc := debug.SetGCPercent(-1) // no collection inside the timed windows
	least := 200 * time.Microsecond
	if platform, _, _ := strings.Cut(c.Device, ":"); platform != "cpu" {
		least = time.Millisecond
	}
	// Warm-up ends when two windows agree; on a machine where they never do it takes half of
	// the case's budget, at least 60 ms and at most 1 s.
	warm := min(time.Second, max(60*time.Millisecond, time.Duration(c.BudgetNS/2)))
	var err error
	var switches, delay int64
	if len(s.cur.arms) == 2 {
		var ratio record.Ratio
		var ta, tb record.Time
		ratio, ta, tb, err = measure.Compare(ctx, s.cur.arms[0].e, s.cur.arms[1].e, measure.CompareOptions{
			MinSample: least, WarmupMax: warm, Quick: c.Quick, Budget: time.Duration(c.BudgetNS), Cold: c.Mode == record.Cold})
		out.Ratio, out.Times, out.Converged = &ratio, []record.Time{ta, tb}, err == nil
		switches, delay = -1, -1
	} else {
		var t record.Time
		var tr measure.Trace
		t, tr, err = measure.Run(ctx, s.cur.arms[0].e, measure.Options{MinSample: least, Quick: c.Quick, WarmupMax: warm,
			Budget: time.Duration(c.BudgetNS), Trials: c.Trials, Warmup: c.Warmup})
		out.Times, out.Converged = []record.Time{t}, tr.Converged
		s.cur.launches = t.Launches
		for _, x := range tr.Samples {
			switches, delay = sumKnown(switches, x.Switches), sumKnown(delay, x.RunDelayNS)
		}
	}
	debug.SetGCPercent(gc)
	if err != nil {
		return nil, err
	}
	out.Conditions = s.conditions(clockBefore, steal0, stealErr, switches, delay)
	return out, nil
}

// sumKnown adds a counter unless it or the sum is unknown (-1).
func sumKnown(sum, x int64) int64 {
	if sum < 0 || x < 0 {
		return -1
	}
	return sum + x
}

// clocks measures the clock of the case's device, idle and under load.
func (s *Server) clocks(q Request) (*ClockReading, error) {
	if q.Case == nil {
		return nil, usage("clock: no case names the device and threads")
	}
	if err := s.open(*q.Case); err != nil {
		return nil, err
	}
	idle, err := s.dev.MeasureClock(false)
	if err != nil {
		return nil, err
	}
	r := &ClockReading{IdleGHz: idle}
	// A CPU for whose vectors there is no load is measured all the same, without that clock.
	if r.LoadedGHz, err = s.dev.MeasureClock(true); err != nil {
		r.LoadedGHz, r.LoadedUnavailable = 0, err.Error()
	}
	return r, nil
}

func (s *Server) clock() record.Fact[float64] {
	ghz, err := s.dev.MeasureClock(false)
	if err != nil {
		return record.Unknown[float64](err.Error())
	}
	return record.Known(ghz, "dependent-instruction chain")
}

func (s *Server) steal() (int64, error) {
	if s.Host == nil {
		return 0, errors.New("no host readings in this worker")
	}
	return s.Host.StealNS()
}

func (s *Server) conditions(before record.Fact[float64], steal0 int64, stealErr error, switches, delay int64) record.Conditions {
	c := s.dev.Conditions()
	c.ClockBeforeGHz, c.ClockAfterGHz = before, s.clock()
	c.Seed, c.InputDistribution = Seed, "counter-based random, uniform (see measuring.md)"
	c.BufferSets, _ = s.sets(s.cur.c.Mode, s.cur.arms[0].p.WorkingSet())
	c.Priority = s.Priority
	c.StealNS = record.Unknown[int64]("steal time: not readable")
	if stealErr != nil {
		c.StealNS = record.Unknown[int64](stealErr.Error())
	} else if now, err := s.Host.StealNS(); err == nil {
		c.StealNS = record.Known(now-steal0, "/proc/stat over the block, all CPUs")
	}
	known := func(v int64, source string) record.Fact[int64] {
		if v < 0 {
			return record.Unknown[int64](source + ": not available for this measurement")
		}
		return record.Known(v, source)
	}
	c.InvoluntarySwitches = known(switches, "getrusage of the team's threads, timed samples")
	c.RunDelayNS = known(delay, "schedstat of the team's threads, timed samples")
	c.MajorFaults = record.Unknown[int64]("not counted: pages are touched and verified before timing")
	c.TemperatureC = record.Unknown[float64]("no host readings in this worker")
	c.Throttled = record.Unknown[string]("no host readings in this worker")
	c.QuotaCPUs = record.Unknown[float64]("no host readings in this worker")
	c.NUMA = record.Unknown[string]("no host readings in this worker")
	if s.Host != nil {
		s.Host.Fill(&c)
	}
	c.PeakMemoryBytes = peakResidentBytes()
	c.MemoryBeforeBytes, c.MemoryAfterBytes = s.cur.rss, residentBytes()
	return c
}

func (s *Server) soak(ctx context.Context, q Request) (*Soaked, error) {
	if s.cur == nil || q.Arm < 0 || q.Arm >= len(s.cur.arms) {
		return nil, usage("soak: arm %d of no prepared case", q.Arm)
	}
	if !(q.Seconds > 0 && q.Seconds <= 3600) {
		return nil, usage("soak: %v seconds: expected more than 0 and at most 3600", q.Seconds)
	}
	got, err := measure.Soak(ctx, s.cur.arms[q.Arm].e, max(1, s.cur.launches), time.Duration(q.Seconds*1e9), nil)
	if err != nil {
		return nil, err
	}
	return &Soaked{StartNS: int64(got.Start), EndNS: int64(got.End), Launches: got.Launches}, nil
}

func (s *Server) release() {
	if s.cur == nil {
		return
	}
	for _, a := range s.cur.arms {
		_ = a.e.Release()
	}
	s.cur = nil
}
