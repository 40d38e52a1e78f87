// Package plan decides which cases a campaign asks: the suites with their sizes, the
// probes that feed the ceilings, and the stable ids of all of them. It measures nothing.
package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ridge/goharness/ceiling"
	"ridge/goharness/fusion"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// Options say what to measure.
type Options struct {
	Device     string
	Quick      bool
	Operations []string       // suites or op names; empty: all
	Precisions []record.DType // empty: all
	Batches    []int64        // replace the batch of ops that have one; empty: the suites' own
	Threads    int            // the thread count of the cases
	Mode       string         // hot (default) or cold
	Warmup     int            // with Trials: fixed counts in place of the stop rule
	Trials     int
	Kernel     string           // force a kernel by name
	ProbesOnly bool             // plan no suites: the caller brings the cases
	Fusion     []fusion.Pattern // measured after the suites
	Ops        *op.Registry
	// Levels of memory for Threads threads and for one, from machine.
	Levels, Levels1 []ceiling.Level
	// Near is the bytes that caches inside the first of Levels hold while a launch lasts, and lose at its end: those of a GPU's multiprocessors, in
	// all and (Near1) of one. No level of a case, they serve what a launch reads again.
	Near, Near1 int64
	// LLC is the aggregate last-level cache; 0 when unknown (then the DRAM cases are skipped).
	LLC int64
	// Memory that may be allocated in bytes; 0: unknown.
	Memory int64
	// TotalMemory of the device in bytes, in use or not; 0: unknown.
	TotalMemory int64
	// PeakChunks is the chunks of work of a peak probe (op.PeakRow); 0: one for each thread.
	PeakChunks int64
	// Traffic is about the bytes that a launch of a level's bandwidth probe moves, half of them at least; 0: 8 MiB. NearTraffic: of a working set of at most
	// a quarter of Near, where it is more.
	Traffic, NearTraffic int64
	// Chase is the links that a launch of a latency probe follows at most, at least 16384; 0: 2^19.
	Chase int64
	// Extra are probes that the levels do not give.
	Extra []Extra
	// Peaks lists the instruction set and dtype pairs that the device has peak kernels for.
	Peaks []Peak
}

// Peak is one arithmetic peak that can be probed.
type Peak struct {
	ISA   string
	DType record.DType
	VL    int // vector length in bits, SVE only
}

// Extra is a probe with its ceiling.
type Extra struct {
	Ceiling record.Ceiling
	Op      string
	DType   record.DType
	Params  map[string]string
}

// Probe is a case that feeds a ceiling.
type Probe struct {
	Case    record.Case
	Ceiling record.Ceiling // identity and unit
	// Main probes are repeated across the run, since neighbours come and go: every arithmetic
	// peak (of which the best of its precision then judges) and the usual traffic of DRAM.
	Main bool
	// Sweep: a point of the cache sweep. Its Ceiling is set when it lies well inside a level.
	Sweep bool
	// Edge: a read at the end of a cache, of the sweep or beside it, for the ceilings of working sets between two levels.
	Edge bool
}

// Plan of one campaign on one device.
type Plan struct {
	Probes []Probe
	Cases  []record.Case
	// Warnings name what the plan had to leave out.
	Warnings []string
}

// Budgets per case in nanoseconds. A case adds its FLOP at 40 GFLOP/s or its bytes at 3 GB/s, whichever take longer, up to 8 s, so that
// launches of a good part of a second still give several samples.
const (
	quickBudget = 120e6
	fullBudget  = 600e6
	extraBudget = 8e9
)

// Budget is the sampling time in nanoseconds of a case of that many FLOP and bytes.
func (o Options) Budget(flops, bytes int64) int64 {
	n := int64(fullBudget)
	if o.Quick {
		n = quickBudget
	}
	if o.Trials == 0 {
		n += min(max(flops/40, bytes/3), extraBudget)
	}
	return n
}

// Build makes the plan. Unknown operations or precisions are errors that list what exists.
func Build(o Options) (Plan, error) {
	if o.Mode == "" {
		o.Mode = record.Hot
	}
	if o.Mode != record.Hot && o.Mode != record.Cold {
		return Plan{}, fmt.Errorf("mode %q: expected hot or cold", o.Mode)
	}
	if o.Threads < 1 {
		return Plan{}, fmt.Errorf("%d threads: expected at least 1", o.Threads)
	}
	if err := o.checkNames(); err != nil {
		return Plan{}, err
	}
	b := &builder{o: o, seen: map[string]bool{}}
	probes, warnings, err := b.probes()
	if err != nil {
		return Plan{}, fmt.Errorf("plan the probes: %w", err)
	}
	if !o.ProbesOnly {
		if err := b.suites(); err != nil {
			return Plan{}, err
		}
	}
	if err := b.fusions(); err != nil {
		return Plan{}, err
	}
	return Plan{Probes: probes, Cases: b.cases, Warnings: append(warnings, b.warnings...)}, nil
}

// CheckSelection reports whether the operations and precisions asked for select any case,
// without planning probes.
func (o Options) CheckSelection() error {
	if err := o.checkNames(); err != nil {
		return err
	}
	o.Threads, o.Mode = max(1, o.Threads), record.Hot
	b := &builder{o: o, seen: map[string]bool{}}
	return b.suites()
}

// SuiteNames lists the suites in display order.
func SuiteNames() []string {
	var out []string
	for _, r := range rows() {
		if !slices.Contains(out, r.suite) {
			out = append(out, r.suite)
		}
	}
	return out
}

func (o Options) checkNames() error {
	for _, name := range o.Operations {
		if _, ok := o.Ops.Spec(name); !ok && !slices.Contains(SuiteNames(), name) {
			var names []string
			for _, s := range o.Ops.Specs() {
				names = append(names, s.Name)
			}
			return fmt.Errorf("unknown operation %q: expected a suite (%s) or an op (%s)", name, strings.Join(SuiteNames(), ", "), strings.Join(names, ", "))
		}
	}
	for _, p := range o.Precisions {
		if !p.Known() && p != record.INT64 { // the pointer chase's
			return fmt.Errorf("unknown precision %q: expected one of %v", p, record.Precisions)
		}
	}
	return nil
}

type builder struct {
	o        Options
	cases    []record.Case
	seen     map[string]bool
	warnings []string // of the cases
	tooLarge []string // fusion patterns whose shape beyond the last-level cache is left out for its memory
}

// NewCase makes a complete case with its canonical id: parameters in declared order with
// defaults left out, the kernel only when it is forced.
func NewCase(ops *op.Registry, device string, ref record.ProgramRef, threads int, mode string) (record.Case, error) {
	id := record.CaseID{Device: device, Op: ref.Op, DType: ref.DType, Threads: threads, Mode: mode, Kernel: ref.Kernel}
	c := record.Case{Device: device, Program: ref, Threads: threads, Mode: mode}
	spec, ok := ops.Spec(ref.Op)
	if !ok {
		return c, fmt.Errorf("unknown op %q", ref.Op)
	}
	for _, p := range spec.Params {
		v, given := ref.Params[p.Name]
		if !given || v == p.Default {
			continue
		}
		if n, err := strconv.ParseInt(v, 10, 64); err == nil && len(p.Enum) == 0 {
			v = strconv.FormatInt(n, 10) // 007 and 7 are one case
		}
		if v != p.Default {
			id.Params = append(id.Params, record.Param{Name: p.Name, Value: v})
		}
	}
	if err := id.Validate(); err != nil {
		return c, err
	}
	c.ID = id.String()
	c.Suite = spec.Suite
	if spec.Candidates != nil {
		if err := twoArms(&c, spec); err != nil {
			return c, err
		}
	}
	if spec.Batch != "" {
		c.Batch, _ = strconv.ParseInt(ref.Params[spec.Batch], 10, 64)
	}
	return c, nil
}

// FromID makes the case that an id names.
func FromID(ops *op.Registry, text string) (record.Case, error) {
	id, err := record.ParseCaseID(text)
	if err != nil {
		return record.Case{}, err
	}
	params := map[string]string{}
	for _, p := range id.Params {
		params[p.Name] = p.Value
	}
	ref := record.ProgramRef{Op: id.Op, DType: id.DType, Params: params, Kernel: id.Kernel}
	if _, err := ops.New(ref.Op, ref.Params, ref.DType); err != nil {
		return record.Case{}, fmt.Errorf("case id %q: %w", text, err)
	}
	return NewCase(ops, id.Device, ref, id.Threads, id.Mode)
}

// case makes a case with the options' effort.
func (b *builder) newCase(ref record.ProgramRef, threads int) (record.Case, error) {
	c, err := NewCase(b.o.Ops, b.o.Device, ref, threads, b.o.Mode)
	if err != nil {
		return c, err
	}
	c.Quick, c.Warmup, c.Trials, c.BudgetNS = b.o.Quick, b.o.Warmup, b.o.Trials, b.o.Budget(0, 0)
	if o, err := b.o.Ops.New(ref.Op, ref.Params, ref.DType); err == nil { // else the caller says what is wrong with it
		c.BudgetNS = b.o.Budget(o.FLOPs(), o.Bytes())
	}
	return c, nil
}

// suites adds every selected row at every selected precision. A precision that was asked
// for and that an op lacks becomes one unsupported row of the op, beside the ops that have
// it; when none has it, the selection is refused.
func (b *builder) suites() error {
	lacking := map[string]bool{} // op and precision with their row
	var ops []string             // the selected
	found := false
	for _, r := range rows() {
		if b.o.Quick && !r.quick || r.tensor && b.onCPU() || !b.wanted(r.suite, r.op) || r.isa != "" && !b.has(r) {
			continue
		}
		spec, ok := b.o.Ops.Spec(r.op)
		if !ok {
			return fmt.Errorf("suite %s names op %q, which is not registered", r.suite, r.op)
		}
		if !slices.Contains(ops, r.op) {
			ops = append(ops, r.op)
		}
		list := b.precisions(r, spec)
		found = found || len(list) > 0
		for _, d := range b.o.Precisions {
			if key := r.op + "/" + string(d); !slices.Contains(spec.DTypes, d) && !slices.Contains(list, d) && !lacking[key] && r.params(b.o) != "" {
				lacking[key] = true
				list = append(slices.Clone(list), d)
			}
		}
		for _, d := range list {
			for _, params := range b.batches(r, spec) {
				if err := b.add(r, spec, d, params, b.o.Threads); err != nil {
					return fmt.Errorf("plan the suites: %w", err)
				}
				if r.one {
					if err := b.add(r, spec, d, params, 1); err != nil {
						return fmt.Errorf("plan the suites: %w", err)
					}
				}
			}
		}
	}
	if !found {
		return b.o.selectsNothing(ops)
	}
	return nil
}

// selectsNothing says what was selected and which precisions there would be.
func (o Options) selectsNothing(ops []string) error {
	asked, have := make([]string, 0, len(o.Precisions)), []string{}
	for _, d := range o.Precisions {
		asked = append(asked, string(d))
	}
	for _, name := range ops {
		spec, _ := o.Ops.Spec(name)
		for _, d := range spec.DTypes {
			if !slices.Contains(have, string(d)) {
				have = append(have, string(d))
			}
		}
	}
	what := strings.Join(o.Operations, ",")
	if what == "" {
		what = "all"
	}
	if len(ops) == 0 {
		return fmt.Errorf("operations %s: no suite has a case of them (time one with: ridge bench)", what)
	}
	return fmt.Errorf("operations %s at precisions %s: there is no such case; these operations have %s", what, strings.Join(asked, ","), strings.Join(have, ","))
}

func (b *builder) wanted(suite, name string) bool {
	return len(b.o.Operations) == 0 || slices.Contains(b.o.Operations, suite) || slices.Contains(b.o.Operations, name)
}

// precisions of a row: those it names, restricted to what was asked for.
func (b *builder) precisions(r row, spec op.Spec) []record.DType {
	list := r.dtypes
	if len(list) == 0 {
		list = spec.DTypes
	}
	if r.unsupported {
		for _, d := range record.Precisions {
			if !slices.Contains(spec.DTypes, d) {
				list = append(slices.Clone(list), d)
			}
		}
	}
	if len(b.o.Precisions) == 0 {
		return list
	}
	var out []record.DType
	for _, d := range list {
		if slices.Contains(b.o.Precisions, d) || (d == record.U8S8 && slices.Contains(b.o.Precisions, record.INT8)) {
			out = append(out, d)
		}
	}
	return out
}

func (b *builder) batches(r row, spec op.Spec) []map[string]string {
	base := parseParams(r.params(b.o))
	if spec.Batch == "" || len(b.o.Batches) == 0 {
		return []map[string]string{base}
	}
	var out []map[string]string
	for _, n := range b.o.Batches {
		p := map[string]string{}
		for k, v := range base {
			p[k] = v
		}
		p[spec.Batch] = strconv.FormatInt(n, 10)
		out = append(out, p)
	}
	return out
}

func (b *builder) add(r row, spec op.Spec, d record.DType, params map[string]string, threads int) error {
	ref := record.ProgramRef{Op: r.op, DType: d, Params: params, Kernel: b.o.Kernel}
	c, err := b.newCase(ref, threads)
	if err != nil {
		return err
	}
	c.Suite, c.UseCase = r.suite, r.use
	if threads != b.o.Threads {
		c.UseCase += ", one thread"
	}
	if b.seen[c.ID] {
		return nil
	}
	b.seen[c.ID] = true
	if !slices.Contains(spec.DTypes, d) || b.lacks(d) {
		c.SkipReason, c.Unsupported = b.noPrecision(d), true
		b.cases = append(b.cases, c)
		return nil
	}
	o, err := b.o.Ops.New(ref.Op, ref.Params, ref.DType)
	if err != nil {
		return fmt.Errorf("case %s: %w", c.ID, err)
	}
	if need := op.Single(o).StorageBytes(); b.o.Memory > 0 && need > b.o.Memory/10*8 {
		c.SkipReason = fmt.Sprintf("needs %d bytes; 80 %% of the free memory is %d", need, b.o.Memory/10*8)
	}
	if r.dram && b.o.LLC == 0 {
		c.SkipReason = noLLC
	}
	b.cases = append(b.cases, c)
	return nil
}

// has reports whether the device has the instruction set that a row asks for, at its first precision.
func (b *builder) has(r row) bool {
	return slices.ContainsFunc(b.o.Peaks, func(p Peak) bool { return p.ISA == r.isa && p.DType == r.dtypes[0] })
}

func (b *builder) onCPU() bool { return b.o.Device == "cpu" }

// lacks reports whether an op has a precision that no CPU multiplies in: there its kernels are references, which run when they are
// forced by name.
func (b *builder) lacks(d record.DType) bool {
	return b.onCPU() && b.o.Kernel == "" && (d == record.TF32 || d == record.FP8E4M3)
}

// noPrecision says why there is nothing of a precision: ridge has no kernels of it for a device, and no CPU has an instruction.
func (b *builder) noPrecision(d record.DType) string {
	if !b.onCPU() {
		return "ridge has no " + string(d) + " form of this op"
	}
	switch d {
	case record.TF32:
		return "tf32 is a tensor-core format of GPUs; CPUs compute fp32"
	case record.FP8E4M3, record.FP8E5M2:
		return "no CPU instruction multiplies " + string(d) + "; AVX10.2 and later only convert it"
	case record.INT4:
		return "no CPU instruction multiplies int4; it is unpacked to int8 first"
	}
	return "this op has no " + string(d) + " form"
}

// parseParams reads "m=1,n=2".
func parseParams(s string) map[string]string {
	p := map[string]string{}
	for _, kv := range strings.Split(s, ",") {
		k, v, _ := strings.Cut(kv, "=")
		p[k] = v
	}
	return p
}
