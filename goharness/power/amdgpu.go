package power

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// AMD GPUs through the driver's hwmon directory
// (https://docs.kernel.org/gpu/amdgpu/thermal.html): energy1_input in µJ where the chip counts energy,
// else power1_average, else power1_input, both in µW.
func amdgpuSource() Source {
	return Source{Name: "amdgpu-hwmon", Platform: "hip", Open: openAMDGPU}
}

// The firmware's power is filtered over some time that is not documented; its readings settle
// within a second of a step.
const (
	amdgpuInterval  = 100 * time.Millisecond
	amdgpuAveraging = time.Second
)

type amdgpu struct {
	fs     tree
	dir    string
	file   string
	domain Domain
	facts  Facts
}

func openAMDGPU(_ context.Context, env Env, d Device) (Meter, error) {
	t := env.tree()
	var dirs []string
	for _, dir := range t.glob("/sys/class/hwmon/hwmon*") {
		if name, err := t.read(dir + "/name"); err == nil && name == "amdgpu" {
			dirs = append(dirs, dir)
		}
	}
	if len(dirs) == 0 {
		return nil, &NoData{Reason: "no hwmon directory of the amdgpu driver under /sys/class/hwmon", Remedy: "load the amdgpu driver on this machine; a container needs /sys of the host"}
	}
	dir := ""
	for _, x := range dirs {
		if d.PCI != "" && strings.EqualFold(pciAddress(t, x), d.PCI) {
			dir = x
		}
	}
	switch {
	case d.PCI == "" && len(dirs) == 1:
		dir = dirs[0]
	case d.PCI == "": // the driver's order is not the platform's, and an integrated GPU is among them
		return nil, noData("there are %d amdgpu devices and the bus address of %s is not known", len(dirs), d.ID)
	case dir == "":
		return nil, noData("none of %d amdgpu devices is %s at %s", len(dirs), d.ID, d.PCI)
	}
	m := &amdgpu{fs: t, dir: dir, facts: Facts{Notes: map[string]string{"pci": pciAddress(t, dir)}}}
	reason := ""
	for _, try := range []struct {
		file string
		d    Domain
	}{
		{"energy1_input", Domain{Unit: Joules, Scale: 1e-6, Interval: amdgpuInterval, Jitter: 20 * time.Millisecond}},
		{"power1_average", Domain{Unit: Watts, Scale: 1e-6, Interval: amdgpuInterval, Averaging: amdgpuAveraging}},
		{"power1_input", Domain{Unit: Watts, Scale: 1e-6, Interval: amdgpuInterval}},
	} {
		if _, err := t.readUint(dir + "/" + try.file); err != nil {
			reason = err.Error()
			continue
		}
		m.file, m.domain = dir+"/"+try.file, try.d
		m.domain.Name = fmt.Sprintf("board of %s", d.ID)
		if limit, err := t.readUint(dir + "/power1_cap"); err == nil {
			m.facts.Limit(float64(limit) / 1e6)
		}
		return m, nil
	}
	return nil, noData("%s has no readable energy1_input, power1_average or power1_input (%s)", dir, reason)
}

// pciAddress is the name of the directory that the link "device" shows to.
func pciAddress(t tree, dir string) string {
	p, err := filepath.EvalSymlinks(t.path(dir + "/device"))
	if err != nil {
		return ""
	}
	if _, err := os.Stat(p); err != nil {
		return ""
	}
	return path.Base(filepath.ToSlash(p))
}

func (m *amdgpu) Name() string      { return "amdgpu-hwmon " + path.Base(m.file) }
func (m *amdgpu) Domains() []Domain { return []Domain{m.domain} }
func (m *amdgpu) Facts() Facts      { return m.facts }
func (m *amdgpu) Close() error      { return nil }

func (m *amdgpu) Read(context.Context) (Reading, error) {
	v, err := m.fs.readUint(m.file)
	if err != nil {
		return Reading{}, failedReading("sensor", err)
	}
	r := Reading{Counts: []uint64{v}}
	for file, to := range map[string]struct {
		value *float64
		scale float64
	}{"freq1_input": {&r.ClockMHz, 1e-6}, "freq2_input": {&r.MemoryClockMHz, 1e-6}, "temp1_input": {&r.TemperatureC, 1e-3}, "power1_input": {&r.PowerWatts, 1e-6}} {
		if n, err := m.fs.readUint(m.dir + "/" + file); err == nil {
			*to.value = float64(n) * to.scale
		}
	}
	return r, nil
}
