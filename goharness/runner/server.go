package runner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"ridge/goharness/backend"
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
	// LLCReached is the last-level cache that threads on the given CPUs reach; 0 when unknown.
	LLCReached(cpus []int) int64
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
	// Tuning is given to every device that is opened.
	Tuning backend.Tuning
	// Graphs is OpenOptions.Graphs of every device.
	Graphs string
	// Traffic opens the counters of the host's memory controllers, which are read where threads are sampled; nil: they are not.
	Traffic func() (Traffic, error)

	dev      backend.Device
	devKey   string
	cur      *prepared
	expected []*Known // of the programs verified last, the latest first
}

type prepared struct {
	c    record.Case
	arms []arm
	rss  int64
}

type arm struct {
	name     string
	p        op.Program
	e        backend.Executable
	sets     int // buffer sets that its launches rotate through
	launches int // of the last measurement's samples; 0 before one
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
		r.Verified, err = s.verify(ctx, q)
	case VerbMeasure:
		r.Measured, err = s.measure(ctx, q)
	case VerbSoak:
		r.Soaked, err = s.soak(ctx, q)
	case VerbClock:
		r.Clock, err = s.clocks(q)
	case VerbLibrary:
		r.Library, err = s.library(q)
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
	var aside *backend.SetAsideError
	var lost *backend.LostError
	switch {
	case errors.As(err, &w):
		return w
	case errors.As(err, &aside):
		return &WorkerError{Kind: string(record.Skipped), Message: err.Error(), SetAside: aside.Kernels}
	case backend.IsUnsupported(err):
		return &WorkerError{Kind: string(record.Unsupported), Message: err.Error()}
	case errors.As(err, &m):
		return &WorkerError{Kind: string(record.Skipped), Message: err.Error()}
	case errors.As(err, &lost):
		return &WorkerError{Kind: KindLost, Message: err.Error()}
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
	var lost *backend.LostError
	if err := b.Available(); errors.As(err, &lost) {
		return fmt.Errorf("device %s: %w", c.Device, err)
	} else if err != nil {
		return backend.Unsupported("device %s: %v", c.Device, err)
	}
	o := backend.OpenOptions{Affinity: s.Affinity, Tuning: s.Tuning, Graphs: s.Graphs}
	if s.Host != nil {
		cpus, err := s.Host.CPUs(c.Threads, s.Affinity)
		if err != nil {
			return usage("threads=%d affinity=%s: %v", c.Threads, s.Affinity, err)
		}
		o.CPUs, o.LLCBytes = cpus, s.Host.LLCReached(cpus)
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
	resetPeak()
	cur := &prepared{c: c, rss: residentBytes()}
	if !onHost(c.Device) { // its memory and caches say what fits
		if err := s.open(c); err != nil {
			return nil, err
		}
	}
	for _, r := range refs {
		p, err := s.program(r)
		if err != nil {
			return nil, err
		}
		sets, err := s.sets(c.Mode, p.WorkingSet())
		if err != nil {
			return nil, err
		}
		cur.arms = append(cur.arms, arm{name: r.Name, p: p, sets: sets})
	}
	if err := s.fits(cur.arms); err != nil {
		return nil, err
	}
	if err := s.open(c); err != nil {
		return nil, err
	}
	before := s.dev.MemoryInUse()
	own, keeps := s.dev.(backend.Reserver)
	if keeps {
		own.MemoryReserved() // from here on
	}
	out := &Prepared{Params: ref.Reference.Params(), FLOPs: ref.FLOPs(), Bytes: ref.Bytes(),
		WorkingSetBytes: ref.WorkingSet(), StorageBytes: ref.StorageBytes(), Items: ref.Reference.Items(),
		MemoryBefore: cur.rss, DeviceBefore: before, Traffic: op.TrafficOf(ref.Reference)}
	if spec, ok := s.Ops.Spec(ref.Reference.Name()); ok {
		out.ItemUnit = spec.Item
	}
	if first := cur.arms[0].p; len(cur.arms) > 1 { // whose time the result's is
		out.FLOPs, out.Bytes, out.WorkingSetBytes, out.StorageBytes, out.Traffic = first.FLOPs(), first.Bytes(), first.WorkingSet(), first.StorageBytes(), op.ProgramTraffic(first)
	}
	s.cur = cur
	for i := range cur.arms {
		a := &cur.arms[i]
		o := backend.PrepareOptions{Library: refs[i].Library, Kernel: refs[i].Kernel, Params: refs[i].KernelParams, Exclude: q.Exclude, Sets: a.sets, Seed: Seed}
		if a.e, err = s.dev.Prepare(a.p, o); err != nil {
			a.e = nil
			s.release()
			return nil, err
		}
		pa := PreparedArm{Name: a.name, FLOPs: a.p.FLOPs(), Bytes: a.p.Bytes(), Sets: a.sets}
		executed := 0.0
		if !slices.ContainsFunc(a.e.Kernels(), func(k backend.KernelInfo) bool { return !k.Alone }) {
			pa.ThreadsUsed = 1
		}
		for n, k := range a.e.Kernels() {
			part := float64(op.LeastFLOPs(a.p.Steps[n].Op))
			if all := float64(a.p.Steps[n].Op.FLOPs()); k.FLOPShare > 1 {
				part = all * k.FLOPShare
			} else if k.FLOPShare > 0 {
				part = min(part, all*k.FLOPShare)
			}
			executed += part
			if k.Computes != "" {
				pa.Computes = k.Computes
			}
			pa.Kernels, pa.Ops = append(pa.Kernels, k.Name), append(pa.Ops, k.Op)
			pa.PassedOver = append(pa.PassedOver, k.PassedOver...)
			if tag := ISATag(k.ISA); !slices.Contains(pa.ISAs, tag) {
				pa.ISAs = append(pa.ISAs, tag)
			}
			if len(k.ISA) > len(pa.ISA) {
				pa.ISA = k.ISA
			}
			pa.Params = k.Params
			if k.Library != "" {
				pa.Libraries, pa.LibrarySteps = append(pa.Libraries, k.Library), append(pa.LibrarySteps, n)
			}
			out.Accumulate = wider(out.Accumulate, k.Accumulate)
			if k.PackedBytes > 0 && pa.Bytes > 0 { // the copy is read, not the operand
				more := k.PackedBytes - op.PackedOperandBytes(a.p.Steps[n].Op)
				pa.PackedBytes, pa.Bytes = pa.PackedBytes+k.PackedBytes, pa.Bytes+more
				if i == 0 {
					out.Bytes, out.WorkingSetBytes, out.Traffic.ReadBytes = out.Bytes+more, out.WorkingSetBytes+more, out.Traffic.ReadBytes+more
				}
			}
		}
		if n := int64(executed); n < pa.FLOPs || pa.Computes != "" {
			pa.ExecutedFLOPs = n
		}
		out.Arms = append(out.Arms, pa)
	}
	out.DeviceMemory = s.dev.MemoryInUse()
	if keeps {
		out.DeviceReserved, out.DevicePeak = own.MemoryReserved()
	}
	return out, nil
}

// maxSets bounds the buffer sets of a cold case: on several NUMA nodes each buffer of 2 MiB and more is a mapping of its own, of which a process has 65,530.
const maxSets = 4096

// sets is how many buffer sets an arm uses in a mode that touches so many bytes of each: a cold one rotates
// through twice the last-level cache, so that a set has left the caches before it is used
// again. Arms are sized each by itself, since a sample rotates the sets of its own arm alone.
func (s *Server) sets(mode string, touched int64) (int, error) {
	switch mode {
	case record.Hot, "":
		return 1, nil
	case record.Cold:
		llc := s.llcBytes()
		if llc == 0 {
			return 0, backend.Unsupported("mode cold: the size of the last-level cache is unknown")
		}
		n := 2*llc/max(1, touched) + 2
		if n > maxSets {
			return 0, backend.Unsupported("mode cold: %d buffer sets of which %d bytes each are touched would be needed to exceed twice the last-level cache of %d bytes; at most %d are made: choose a larger shape",
				n, touched, llc, maxSets)
		}
		return int(n), nil
	}
	return 0, usage("mode %q: expected hot or cold", mode)
}

// onHost: the device's memory is the host's.
func onHost(device string) bool {
	platform, _, _ := strings.Cut(device, ":")
	return platform == "cpu"
}

// llcBytes is the last-level cache that a cold case must exceed: the device's, where it has its own.
func (s *Server) llcBytes() int64 {
	if a, ok := s.dev.(backend.Accelerator); ok {
		return a.LLCBytes()
	}
	if s.Host == nil {
		return 0
	}
	return s.Host.LLCBytes()
}

// freeMemory is what may be allocated on the device, and what limits it.
func (s *Server) freeMemory() (int64, string, error) {
	if a, ok := s.dev.(backend.Accelerator); ok {
		return a.FreeMemory()
	}
	return s.Host.FreeMemory()
}

// fits refuses a case that needs more than 80 % of the free memory. Blocks that the device
// keeps from earlier cases count as used there, so they are returned before the answer is no.
func (s *Server) fits(arms []arm) error {
	if _, own := s.dev.(backend.Accelerator); s.Host == nil && !own {
		return nil
	}
	var need float64 // a float: sizes may add up beyond an int64
	for _, a := range arms {
		for _, t := range a.p.Tensors {
			need += float64(t.StorageBytes()) * float64(a.sets)
		}
		for _, st := range a.p.Steps { // and the copy, about as large
			need += float64(op.PackedOperandBytes(st.Op)) * float64(a.sets)
		}
	}
	for last := false; ; last = true {
		free, by, err := s.freeMemory()
		if err != nil || need <= 0.8*float64(free) {
			return nil // unreadable: the allocation itself will tell
		}
		kept, ok := s.dev.(backend.Trimmer)
		if last || !ok {
			return &backend.MemoryError{Need: int64(min(need, math.MaxInt64/2)), Have: free / 10 * 8, What: "80 % of " + by}
		}
		kept.Trim()
	}
}

// verify checks one arm, so that the parent knows which one a crash belongs to.
func (s *Server) verify(ctx context.Context, q Request) (*record.Verification, error) {
	if s.cur == nil || q.Arm < 0 || q.Arm >= len(s.cur.arms) {
		return nil, usage("verify: arm %d of no prepared case", q.Arm)
	}
	effort := s.Effort
	if effort.Samples == 0 {
		effort = DefaultEffort
	}
	a := s.cur.arms[q.Arm]
	// Ridge's own kernels are verified in the comparison that follows a pilot, or were before; a vendor library's never run unverified,
	// but in a pilot on random inputs alone, and there behind its samples, if they show it to be faster.
	own := q.Arm >= len(s.cur.c.Arms) || s.cur.c.Arms[q.Arm].Library == ""
	if q.FillOnly || (s.cur.c.Pilot || s.cur.c.Verified) && own {
		if err := a.e.Fill(false, 0); err != nil {
			return nil, fmt.Errorf("fill the tensors of arm %d: %w", q.Arm, err)
		}
		return &record.Verification{Passed: true, IntegerTest: "not done: a pilot, or verified before"}, nil
	}
	ref := s.cur.c.Program
	if len(s.cur.c.Arms) > 0 {
		ref = s.cur.c.Arms[q.Arm]
	}
	effort.Known, effort.Once = s.known(ref, a.p), s.cur.c.Pilot // the winner is verified in full in the comparison that follows
	v, err := Verify(ctx, a.e, a.p, Seed, effort)
	if err != nil {
		return nil, err
	}
	return &v, nil
}

func (s *Server) release() {
	if s.cur == nil {
		return
	}
	for _, a := range s.cur.arms {
		if a.e != nil {
			_ = a.e.Release()
		}
	}
	s.cur = nil
}
