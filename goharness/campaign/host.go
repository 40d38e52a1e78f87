package campaign

import (
	"fmt"
	"slices"

	"ridge/goharness/ceiling"
	"ridge/goharness/machine"
	"ridge/goharness/record"
	"ridge/goharness/runner"
)

// WorkerHost gives a worker its readings of the machine (runner.Host).
type WorkerHost struct {
	Source machine.Source
	host   record.Host
	cpus   []int
}

// NewWorkerHost reads the machine once.
func NewWorkerHost(src machine.Source) *WorkerHost {
	cpus, _ := machine.UsableCPUs(src)
	return &WorkerHost{Source: src, host: machine.Read(src), cpus: cpus}
}

// CPUs picks the CPUs for n threads by the policy. More threads than CPUs are refused:
// spinning barriers on a shared CPU measure the scheduler.
func (h *WorkerHost) CPUs(n int, policy string) ([]int, error) {
	if policy == "" {
		policy = defaultAffinity
	}
	order, err := machine.CPUOrder(h.host, h.cpus, policy)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		n = min(len(order), h.host.Limits.UsableThreads)
	}
	if n < 0 || n > len(order) {
		return nil, fmt.Errorf("%d threads: affinity %s leaves %d CPUs", n, policy, len(order))
	}
	return order[:n], nil
}

// Seats are the CPUs that the plan and the formulas reckon with. Threads that are not pinned
// (-1) have no CPU of their own; the scheduler spreads busy ones over distinct cores, so they
// are reckoned to sit as scatter would place them.
func (h *WorkerHost) Seats(cpus []int) []int {
	if !slices.Contains(cpus, -1) {
		return cpus
	}
	order, err := machine.CPUOrder(h.host, h.cpus, "scatter")
	if err != nil || len(order) < len(cpus) {
		return cpus
	}
	return order[:len(cpus)]
}

// FreeMemory is what may be allocated, and what limits it.
func (h *WorkerHost) FreeMemory() (int64, string, error) { return machine.FreeMemory(h.Source) }

// LLCBytes is the aggregate last-level cache.
func (h *WorkerHost) LLCBytes() int64 { return machine.AggregateLLC(h.host, h.cpus) }

// LLCReached is the last-level cache that threads on the given CPUs reach.
func (h *WorkerHost) LLCReached(cpus []int) int64 { return machine.AggregateLLC(h.host, h.Seats(cpus)) }

// StealNS is the hypervisor's steal time so far.
func (h *WorkerHost) StealNS() (int64, error) {
	f := machine.Steal(h.Source)
	if v, ok := f.Get(); ok {
		return v, nil
	}
	return 0, fmt.Errorf("steal time: %s", f.Unavailable)
}

// Fill adds the host's readings to conditions.
func (h *WorkerHost) Fill(c *record.Conditions) {
	c.TemperatureC = machine.Temperature(h.Source)
	c.QuotaCPUs = h.host.Limits.QuotaCPUs
	c.Throttled = record.Unknown[string]("no throttle counter is readable for CPUs without MSR access")
	switch n := len(h.host.NUMANodes); {
	case n == 0:
		c.NUMA = record.Unknown[string](h.host.NUMAReason)
	case n == 1:
		c.NUMA = record.Known("one node", "topology")
	default:
		c.NUMA = record.Known(fmt.Sprintf("%d nodes, first touch by the team's threads", n), "topology")
	}
}

// Levels are the levels of memory that the given CPUs see: capacity counts every cache
// instance that at least one of them uses. Where the last cache has no known size no cache counts as known:
// what lies behind the others is not DRAM.
func Levels(h record.Host, cpus []int) []ceiling.Level {
	var out []ceiling.Level
	if machine.LastCacheOfUnknownSize(h) {
		return []ceiling.Level{{Name: ceiling.DRAM}}
	}
	for level := 1; level <= 4; level++ {
		var capacity, per int64
		left := cpus // of caches that do not say whom they serve, those of the fastest cores come first
		for _, c := range h.CPU.Caches {
			if c.Level != level || c.Type == "instruction" || c.SizeBytes == 0 {
				continue
			}
			n := int64(instancesUsed(c, left))
			if len(c.CPUs) == 0 {
				left = left[min(len(left), int(n)*max(1, c.SharedByCPUs)):]
			}
			if n == 0 {
				continue
			}
			capacity += n * c.SizeBytes
			if per == 0 || c.SizeBytes < per {
				per = c.SizeBytes
			}
		}
		if capacity > 0 {
			out = append(out, ceiling.Level{Name: fmt.Sprintf("L%d", level), Capacity: capacity, PerThread: per})
		}
	}
	return append(out, ceiling.Level{Name: ceiling.DRAM})
}

// coresUsed counts the physical cores of the given CPUs; a CPU whose core is unknown counts
// as one of its own.
func coresUsed(h record.Host, cpus []int) int {
	core := map[int]int{}
	for _, l := range h.CPU.Logical {
		if l.Core >= 0 {
			core[l.CPU] = l.Core
		}
	}
	seen := map[int]bool{}
	for _, c := range cpus {
		if k, ok := core[c]; ok {
			seen[k] = true
		} else {
			seen[-1-c] = true
		}
	}
	return len(seen)
}

// instancesUsed counts the instances of a cache that serve at least one of the CPUs; where nobody says which serves
// whom, as many as the CPUs can fill.
func instancesUsed(c record.Cache, cpus []int) int {
	if len(c.CPUs) == 0 {
		shared := max(1, c.SharedByCPUs)
		n := (len(cpus) + shared - 1) / shared
		if c.Instances > 0 {
			n = min(n, c.Instances)
		}
		return n
	}
	n := 0
	for _, list := range c.CPUs {
		members, err := machine.ParseCPUList(list)
		if err != nil {
			continue
		}
		for _, cpu := range cpus {
			found := false
			for _, m := range members {
				found = found || m == cpu
			}
			if found {
				n++
				break
			}
		}
	}
	return n
}

// socketsUsed counts the sockets of the given CPUs; those whose socket is unknown count as
// one together.
func socketsUsed(h record.Host, cpus []int) int {
	socket := map[int]int{}
	for _, l := range h.CPU.Logical {
		socket[l.CPU] = l.Socket
	}
	seen := map[int]bool{}
	for _, c := range cpus {
		s, ok := socket[c]
		if !ok {
			s = -1
		}
		seen[s] = true
	}
	return len(seen)
}

// dramTheory is the DRAM row for threads on the given CPUs: of SMBIOS, which lists the modules of
// all sockets, the share of those that the CPUs are on, else the upper bound of these sockets, else why not.
func dramTheory(h record.Host, chip machine.Uarch, cpus []int) record.Theoretical {
	n, m := socketsUsed(h, cpus), h.Memory
	if v, ok := m.TheoreticalGBps.Get(); ok {
		t := record.Theoretical{Value: v, Formula: "configured speed × bytes per transfer × channels", Source: m.TheoreticalGBps.Source}
		channels, ok1 := m.Channels.Get()
		mtps, ok2 := m.ConfiguredMTps.Get()
		if ok1 && ok2 && channels > 0 && mtps > 0 {
			t.Inputs = map[string]float64{"channels": float64(channels), "mtps": mtps, "bytes_per_transfer": v * 1000 / (mtps * float64(channels))}
		}
		all, known := h.CPU.Sockets.Get()
		if !known || n >= all {
			return t
		}
		if channels%all != 0 {
			return record.Theoretical{Unavailable: fmt.Sprintf("SMBIOS lists %d channels in all, which %d sockets do not share evenly: how many these threads' have is not known", channels, all)}
		}
		t.Value, t.Inputs["channels"] = v*float64(n)/float64(all), float64(channels/all*n)
		t.Source += fmt.Sprintf("; the threads are on %d of %d sockets", n, all)
		return t
	}
	one, formula, inputs, source, ok := chip.DRAMUpperBound()
	if !ok {
		return record.Theoretical{Unavailable: m.TheoreticalGBps.Unavailable + "; no upper bound: " + source}
	}
	if v, known := h.Hypervisor.Get(); known && v != "none" && n > max(1, len(h.NUMANodes)) {
		return record.Theoretical{Unavailable: fmt.Sprintf("%s; no upper bound: %s shows %d sockets and %d memory nodes, so that the sockets are not the host's", m.TheoreticalGBps.Unavailable, v, n, len(h.NUMANodes))}
	}
	t := record.Theoretical{Value: one * float64(n), Formula: formula, Inputs: inputs, Source: source, Label: "whole-socket upper bound"}
	t.Inputs["sockets"] = float64(n)
	if n > 1 {
		t.Formula += fmt.Sprintf(" × %d sockets", n)
		t.Label = fmt.Sprintf("whole-socket upper bound of %d sockets", n)
	}
	return t
}

// setting gives the formulas what they need of the host; seats are the CPUs of the threads,
// clocks the readings by thread count.
func setting(h record.Host, seats []int, clocks map[int]runner.ClockReading) ceiling.Setting {
	chip := machine.Lookup(machine.CPUIDOf(h.CPU))
	first := func(threads int) []int { return seats[:min(threads, len(seats))] }
	s := ceiling.Setting{Chip: chip, LoadedGHz: map[int]float64{}, Contradict: h.CPU.Contradictory,
		DRAM:  func(threads int) record.Theoretical { return dramTheory(h, chip, first(threads)) },
		Cores: func(threads int) int { return coresUsed(h, first(threads)) },
		NoRow: func(threads int) string {
			if slow := machine.EfficiencyCores(h, first(threads)); len(slow) > 0 {
				return "unsourced: efficiency cores (CPUs " + machine.FormatCPUList(slow) + ")"
			}
			if n := machine.MoreThanFastCores(h, threads); n > 0 {
				return fmt.Sprintf("unsourced: efficiency cores (at least %d of %d threads)", n, threads)
			}
			return ""
		}}
	for n, c := range clocks {
		s.LoadedGHz[n], s.IdleGHz = c.LoadedGHz, max(s.IdleGHz, c.IdleGHz)
		if c.LoadedUnavailable != "" {
			s.NoClock = c.LoadedUnavailable
		}
	}
	if q, ok := h.Limits.QuotaCPUs.Get(); ok {
		s.QuotaCPUs = q
	}
	return s
}
