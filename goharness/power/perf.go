package power

import (
	"context"
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"
)

// The RAPL counters through perf_event_open: the PMU "power" that
// /sys/bus/event_source/devices/power describes (type, one CPU per package, events with scale and unit).
func perfSource() Source {
	return Source{Name: "rapl-perf", Platform: "cpu", Open: openPerf}
}

const perfDir = "/sys/bus/event_source/devices/power"

// PerfCounter is an open performance counter.
type PerfCounter interface {
	Read() (uint64, error)
	Close() error
}

// PerfOpener opens a counter of a PMU for everything that runs on one CPU.
type PerfOpener func(pmu uint32, config uint64, cpu int) (PerfCounter, error)

// shared tells whether others had a counter's register since it was last read. What it missed meanwhile is not extrapolated: the load
// that is measured need not have been the same. Since it was last read and not since it was opened, which may be minutes before a
// window: a window's worth would vanish in them.
type shared struct{ enabled, ran uint64 }

// leastCounted is the share of the time below which a count is refused.
const leastCounted = 0.99

// check takes the nanoseconds for which the counter was wanted and for which it counted, both since it was opened.
func (s *shared) check(enabled, ran uint64) error {
	before := *s
	*s = shared{enabled, ran}
	if enabled < before.enabled || ran < before.ran || ran > enabled {
		return fmt.Errorf("its times are garbage: it counted for %d of %d ns, and for %d of %d when it was read before", ran, enabled, before.ran, before.enabled)
	}
	wanted, counted := float64(enabled-before.enabled), float64(ran-before.ran)
	if counted >= leastCounted*wanted {
		return nil
	}
	return fmt.Errorf("it counted for %.0f %% of the time, as others use the processor's counters too: end the other user (perf, a monitoring daemon)", 100*counted/wanted)
}

type perf struct {
	domains  []Domain
	counters []PerfCounter
	facts    Facts
}

// perfMain are the events of which the total is the sum; the others are a part of one (cores, gpu) or more (psys).
var perfMain = map[string]string{"energy-pkg": "package", "energy-ram": "dram"}

func openPerf(_ context.Context, env Env, _ Device) (Meter, error) {
	t := env.tree()
	kind, err := t.readUint(perfDir + "/type")
	if err != nil {
		return nil, noRAPL(env, "the kernel has no performance events named power ("+err.Error()+")", "a kernel with CONFIG_PERF_EVENTS_INTEL_RAPL")
	}
	mask, err := t.read(perfDir + "/cpumask")
	if err != nil {
		return nil, err
	}
	cpus, err := cpuList(mask)
	if err != nil || len(cpus) == 0 {
		return nil, noData("%s/cpumask holds %q, not a list of CPUs", perfDir, clip(mask))
	}
	m := &perf{facts: Facts{Notes: map[string]string{}}}
	for _, file := range t.glob(perfDir + "/events/energy-*") {
		name := path.Base(file)
		if strings.Contains(name, ".") {
			continue
		}
		short, main := perfMain[name]
		if !main {
			short = strings.TrimPrefix(name, "energy-")
		}
		config, scale, err := perfEvent(t, file, "Joules")
		if err != nil && main { // a total without it would be wrong
			_ = m.Close()
			return nil, noData("the event %s: %v", name, err)
		} else if err != nil {
			m.facts.Notes[name] = err.Error()
			continue
		}
		kind32, open := uint32(kind), env.Perf
		if open == nil {
			open = openPerfEvent
		}
		for i, cpu := range cpus {
			c, err := open(kind32, config, cpu)
			if err != nil && !main {
				m.facts.Notes[name] = err.Error()
				continue
			} else if err != nil {
				_ = m.Close()
				return nil, notPermitted(t, name, cpu, err)
			}
			m.domains = append(m.domains, Domain{Name: fmt.Sprintf("%s-%d", short, i), Unit: Joules, Scale: scale, Interval: raplInterval, Jitter: raplJitter, Apart: !main})
			m.counters = append(m.counters, c)
		}
	}
	if !hasMain(m.domains, "package") {
		_ = m.Close()
		return nil, noRAPL(env, "no event energy-pkg under "+perfDir+"/events"+notes(m.facts.Notes), "")
	}
	return m, nil
}

// notPermitted says why an event of a whole CPU cannot be counted.
func notPermitted(t tree, name string, cpu int, err error) error {
	level, lerr := t.read("/proc/sys/kernel/perf_event_paranoid")
	if lerr != nil {
		level = "unknown"
	}
	return &NoData{Reason: fmt.Sprintf("opening %s on CPU %d: %v (perf_event_paranoid is %s)", name, cpu, err, level),
		Remedy: "sysctl kernel.perf_event_paranoid=0 (as root), or the capability CAP_PERFMON"}
}

// perfEvent reads an event's encoding ("event=0x02") and what one count is in the unit.
func perfEvent(t tree, file, want string) (config uint64, scale float64, err error) {
	text, err := t.read(file)
	if err != nil {
		return 0, 0, err
	}
	for _, term := range strings.Split(text, ",") {
		name, value, _ := strings.Cut(term, "=")
		n, err := strconv.ParseUint(strings.TrimSpace(value), 0, 64)
		if err != nil {
			return 0, 0, noData("%s holds %q", file, clip(text))
		}
		switch strings.TrimSpace(name) {
		case "event":
			config |= n
		case "umask":
			config |= n << 8
		default:
			return 0, 0, noData("%s holds %q, of which %s is not known", file, clip(text), clip(name))
		}
	}
	s, err := t.read(file + ".scale")
	if err != nil {
		return 0, 0, err
	}
	if scale, err = strconv.ParseFloat(s, 64); err != nil || !(scale > 0) || math.IsInf(scale, 0) {
		return 0, 0, noData("%s.scale holds %q, not a factor", file, clip(s))
	}
	unit, err := t.read(file + ".unit")
	if err != nil {
		return 0, 0, err
	}
	if unit != want {
		return 0, 0, noData("%s.unit is %q, not %s", file, clip(unit), want)
	}
	return config, scale, nil
}

func cpuList(s string) ([]int, error) {
	var out []int
	for _, part := range strings.Split(s, ",") {
		lo, hi, ranged := strings.Cut(strings.TrimSpace(part), "-")
		a, err := strconv.Atoi(lo)
		if err != nil {
			return nil, err
		}
		b := a
		if ranged {
			if b, err = strconv.Atoi(hi); err != nil {
				return nil, err
			}
		}
		if a < 0 || b < a || b-a > 4096 {
			return nil, strconv.ErrRange
		}
		for ; a <= b; a++ {
			out = append(out, a)
		}
	}
	return out, nil
}

func (m *perf) Name() string      { return "rapl-perf" }
func (m *perf) Domains() []Domain { return m.domains }
func (m *perf) Facts() Facts      { return m.facts }

func (m *perf) Close() error {
	for _, c := range m.counters {
		_ = c.Close()
	}
	m.counters = nil
	return nil
}

func (m *perf) Read(context.Context) (Reading, error) {
	r := Reading{Counts: make([]uint64, len(m.counters))}
	for i, c := range m.counters {
		var err error
		if r.Counts[i], err = c.Read(); err != nil {
			if err = r.Fail(i, m.domains[i], noData("reading %s: %v", m.domains[i].Name, err)); err != nil {
				return r, err
			}
		}
	}
	return r, nil
}
