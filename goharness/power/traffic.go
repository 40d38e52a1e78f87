package power

import (
	"fmt"
	"path"
	"strings"
	"time"
)

// DRAM traffic by the counters of the memory controllers, through perf_event_open. They count all that goes over the
// sockets' memory channels: what prefetchers bring and what other processes move too.

// plausibleTraffic bounds bytes per second: what is above is a reset or garbage.
const plausibleTraffic = 50e12

// casBytes is what one column access of DRAM moves: a cache line.
const casBytes = 64

// Traffic reads the memory controllers of a host. It is used by one goroutine at a time.
type Traffic struct {
	counters []PerfCounter
	bytes    []float64 // of one count
	names    []string
	// Source names the counters, for documents.
	Source string
}

// controllerEvents are the events of which the traffic is the sum, by the names that drivers give them under events/.
// Servers of Intel have the first (Linux, uncore_snbep.c), its desktops the second (uncore_snb.c).
var controllerEvents = [][]string{
	{"cas_count_read", "cas_count_write"},
	{"cas_count_read_sch0", "cas_count_read_sch1", "cas_count_write_sch0", "cas_count_write_sch1"},
	{"data_read", "data_write"},
	{"data_reads", "data_writes"},
}

// amdCAS is umc_cas_cmd.all of AMD's memory controllers (Zen 4 and later), whose driver names no events.
const amdCAS = 0x0a

// OpenTraffic opens the counters of every memory controller. Errors match ErrNoData.
func OpenTraffic(env Env) (*Traffic, error) {
	t := env.tree()
	const devices = "/sys/bus/event_source/devices"
	m := &Traffic{}
	for _, free := range []bool{false, true} { // the free-running counters repeat what the others show
		if free && len(m.counters) > 0 {
			break
		}
		for _, dir := range append(t.glob(devices+"/uncore_imc*"), t.glob(devices+"/amd_umc_*")...) {
			if strings.Contains(path.Base(dir), "free_running") != free {
				continue
			}
			if err := m.controller(env, t, dir); err != nil { // a sum without one of them would be wrong
				_ = m.Close()
				return nil, err
			}
		}
	}
	if len(m.counters) == 0 {
		return nil, noRAPL(env, "the kernel shows no counters of memory controllers (uncore_imc, amd_umc) under "+devices, "a kernel with the uncore driver of this processor (CONFIG_PERF_EVENTS_INTEL_UNCORE, CONFIG_PERF_EVENTS_AMD_UNCORE)")
	}
	return m, nil
}

// controller opens one PMU's counters on one CPU of each socket.
func (m *Traffic) controller(env Env, t tree, dir string) error {
	kind, err := t.readUint(dir + "/type")
	if err != nil {
		return err
	}
	mask, err := t.read(dir + "/cpumask")
	if err != nil {
		return err
	}
	cpus, err := cpuList(mask)
	if err != nil || len(cpus) == 0 {
		return noData("%s/cpumask holds %q, not a list of CPUs", dir, clip(mask))
	}
	if strings.HasPrefix(path.Base(dir), "amd_umc") {
		return m.open(env, t, path.Base(dir), uint32(kind), amdCAS, casBytes, cpus)
	}
	for _, names := range controllerEvents {
		if _, err := t.read(dir + "/events/" + names[0]); err != nil {
			continue
		}
		for _, n := range names {
			config, scale, err := perfEvent(t, dir+"/events/"+n, "MiB")
			if err != nil {
				return noData("the event %s of %s: %v", n, path.Base(dir), err)
			}
			if err := m.open(env, t, path.Base(dir)+"/"+n, uint32(kind), config, scale*(1<<20), cpus); err != nil {
				return err
			}
		}
		return nil
	}
	return noData("%s names none of the events of DRAM traffic", dir)
}

func (m *Traffic) open(env Env, t tree, name string, kind uint32, config uint64, bytes float64, cpus []int) error {
	open := env.Perf
	if open == nil {
		open = openPerfEvent
	}
	for _, cpu := range cpus {
		c, err := open(kind, config, cpu)
		if err != nil {
			return notPermitted(t, name, cpu, err)
		}
		m.counters, m.bytes, m.names = append(m.counters, c), append(m.bytes, bytes), append(m.names, name)
	}
	m.Source = fmt.Sprintf("%d counters of memory controllers (perf_event_open)", len(m.counters))
	return nil
}

// Read gives the counts so far.
func (m *Traffic) Read() ([]uint64, error) {
	out := make([]uint64, len(m.counters))
	for i, c := range m.counters {
		var err error
		if out[i], err = c.Read(); err != nil {
			return nil, noData("reading %s: %v", m.names[i], err)
		}
	}
	return out, nil
}

// Rate is the bytes per second between two readings dt apart.
func (m *Traffic) Rate(from, to []uint64, dt time.Duration) (float64, error) {
	if dt <= 0 || len(from) != len(to) || len(to) != len(m.bytes) {
		return 0, noData("the memory controllers were read twice at once")
	}
	sum := 0.0
	for i := range to {
		if to[i] < from[i] {
			return 0, noData("counter %s went backwards: it was reset", m.names[i])
		}
		sum += float64(to[i]-from[i]) * m.bytes[i]
	}
	rate := sum / dt.Seconds()
	switch {
	case rate > plausibleTraffic:
		return 0, noData("the memory controllers show %.3g bytes per second: one was reset or shows garbage", rate)
	case sum == 0:
		return 0, noData("the memory controllers counted nothing in %v", dt.Round(time.Millisecond))
	}
	return rate, nil
}

// Close the counters.
func (m *Traffic) Close() error {
	for _, c := range m.counters {
		_ = c.Close()
	}
	m.counters = nil
	return nil
}
