package power

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// The RAPL counters of Intel and AMD through the powercap class of Linux
// (Documentation/power/powercap/powercap.rst): zones intel-rapl:N for packages and the whole
// board (psys), intel-rapl:N:M below them for cores, uncore and dram, and intel-rapl-mmio:N, the
// same package counters through another door.
func powercapSource() Source {
	return Source{Name: "rapl-powercap", Platform: "cpu", Open: openPowercap}
}

const powercapDir = "/sys/class/powercap"

// raplInterval: the counters are updated about every millisecond (Intel SDM volume 3, RAPL interfaces).
const raplInterval = time.Millisecond

// raplJitter: updates were seen up to 20,000 cycles early or late (Hähnel et al., Measuring Energy
// Consumption for Short Code Paths Using RAPL, 2012); with room for slow clocks.
const raplJitter = 50 * time.Microsecond

type powercap struct {
	fs      tree
	domains []Domain
	files   []string
	facts   Facts
}

func openPowercap(_ context.Context, env Env, _ Device) (Meter, error) {
	t := env.tree()
	zones := t.glob(powercapDir + "/*rapl*:*")
	if len(zones) == 0 {
		return nil, noRAPL(env, "no RAPL zone under "+powercapDir, "modprobe intel_rapl_msr (as root), or a kernel with CONFIG_INTEL_RAPL")
	}
	m := &powercap{fs: t, facts: Facts{Notes: map[string]string{}}}
	names := map[string]string{} // and through which door: "intel-rapl"
	closed := ""
	for _, mmio := range []bool{false, true} { // the mmio zones last: they repeat what the others show
		for _, z := range zones {
			if strings.Contains(path.Base(z), "mmio") != mmio {
				continue
			}
			d, err := m.zone(z)
			door, _, _ := strings.Cut(path.Base(z), ":")
			before, again := names[d.Name]
			var p *permissionError
			switch {
			case err == nil:
			case d.Apart || mmio && (d.Name == "" || again): // nothing of the total
				m.facts.Notes[path.Base(z)] = err.Error()
				continue
			case errors.As(err, &p):
				closed = p.path
				continue
			case d.Name == "":
				return nil, noData("the zone %s: %v", path.Base(z), err)
			default:
				return nil, noData("the counter of %s: %v", d.Name, err)
			}
			if again && before == door && !d.Apart {
				return nil, noData("two zones of %s are called %s: whether they count the same is not known", door, d.Name)
			} else if again {
				m.facts.Notes[path.Base(z)] = "the same counter as the other zone " + d.Name + ": not added"
				continue
			}
			names[d.Name] = door
			m.domains, m.files = append(m.domains, d), append(m.files, z+"/energy_uj")
		}
	}
	if closed != "" { // a total without it would be wrong
		return nil, &NoData{Reason: closed + " is not readable by this user", Remedy: "chmod a+r " + powercapDir + "/*/energy_uj (as root, until the next boot), or run as root"}
	}
	if !hasMain(m.domains, "package") {
		return nil, noRAPL(env, fmt.Sprintf("no package counter among the %d zones of %s%s", len(zones), powercapDir, notes(m.facts.Notes)), "")
	}
	return m, nil
}

// notes are what was said of what is left out.
func notes(m map[string]string) string {
	var out []string
	for _, z := range slices.Sorted(maps.Keys(m)) {
		out = append(out, z+": "+m[z])
	}
	if len(out) == 0 {
		return ""
	}
	return " (" + strings.Join(out, ", ") + ")"
}

// noRAPL adds what a virtual machine means for the reason.
func noRAPL(env Env, reason, remedy string) error {
	if env.Virtual != "" && env.Virtual != "none" {
		return &NoData{Reason: reason + ": a virtual machine (" + env.Virtual + ") has no access to the host's counters", Remedy: "measure on the host"}
	}
	return &NoData{Reason: reason, Remedy: remedy}
}

// hasMain reports whether the total holds a domain whose name begins so: memory alone is not what a processor draws.
func hasMain(ds []Domain, name string) bool {
	return slices.ContainsFunc(ds, func(d Domain) bool { return !d.Apart && strings.HasPrefix(d.Name, name) })
}

// zone describes one zone and tries its counter; what it knows it tells with an error too. The name of a zone below a package gets the package's
// number: every socket has a dram.
func (m *powercap) zone(z string) (Domain, error) {
	name, err := m.fs.read(z + "/name")
	if err != nil {
		return Domain{}, err
	}
	kind, parent := name, ""
	if id := path.Base(z); strings.Count(id, ":") > 1 {
		up := z[:strings.LastIndex(z, ":")]
		if parent, err = m.fs.read(up + "/name"); err != nil {
			parent = path.Base(up)
		}
		name = parent + "/" + name
	}
	d := Domain{Name: name, Unit: Joules, Scale: 1e-6, Interval: raplInterval, Jitter: raplJitter}
	d.Apart = !strings.HasPrefix(kind, "package") && kind != "dram" || strings.HasPrefix(parent, "psys")
	if d.Range, err = m.fs.readUint(z + "/max_energy_range_uj"); err != nil {
		return d, err
	}
	if d.Range == 0 {
		return d, noData("max_energy_range_uj is 0")
	}
	_, err = m.fs.readUint(z + "/energy_uj")
	return d, err
}

func (m *powercap) Name() string      { return "rapl-powercap" }
func (m *powercap) Domains() []Domain { return m.domains }
func (m *powercap) Facts() Facts      { return m.facts }
func (m *powercap) Close() error      { return nil }

func (m *powercap) Read(context.Context) (Reading, error) {
	r := Reading{Counts: make([]uint64, len(m.files))}
	for i, f := range m.files {
		var err error
		if r.Counts[i], err = m.fs.readUint(f); err != nil {
			if err = r.Fail(i, m.domains[i], failedReading("counter", err)); err != nil {
				return r, err
			}
		}
	}
	return r, nil
}
