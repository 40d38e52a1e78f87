package power

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Apple's powermetrics (man powermetrics): a program that writes a property list per interval
// with the millijoules that CPU and GPU used in it. It needs root.
func powermetricsCPUSource() Source {
	return Source{Name: "powermetrics", Platform: "cpu", Open: func(ctx context.Context, env Env, d Device) (Meter, error) {
		return openPowermetrics(ctx, env, []plistEnergy{
			{name: "cpu", millijoules: []string{"processor", "cpu_energy"}, milliwatts: []string{"processor", "cpu_power"}},
			{name: "dram", millijoules: []string{"processor", "dram_energy"}, milliwatts: []string{"processor", "dram_power"}},
			{name: "package", joules: []string{"processor", "package_joules"}},
			{name: "gpu", millijoules: []string{"processor", "gpu_energy"}, milliwatts: []string{"processor", "gpu_power"}, apart: true},
			{name: "ane", millijoules: []string{"processor", "ane_energy"}, milliwatts: []string{"processor", "ane_power"}, apart: true},
		})
	}}
}

func powermetricsGPUSource() Source {
	return Source{Name: "powermetrics", Platform: "metal", Open: func(ctx context.Context, env Env, d Device) (Meter, error) {
		return openPowermetrics(ctx, env, []plistEnergy{
			{name: "gpu", millijoules: []string{"processor", "gpu_energy"}, milliwatts: []string{"processor", "gpu_power"}},
			{name: "cpu", millijoules: []string{"processor", "cpu_energy"}, milliwatts: []string{"processor", "cpu_power"}, apart: true},
		})
	}}
}

const powermetricsInterval = 100 * time.Millisecond

// plistEnergy is where the energy of one interval stands: millijoules, joules, or else a mean
// power in milliwatts.
type plistEnergy struct {
	name                            string
	millijoules, joules, milliwatts []string
	apart                           bool
}

// joulesOf the interval.
func (e plistEnergy) joulesOf(d map[string]any, elapsed time.Duration) (float64, bool) {
	if e.joules != nil {
		return plistNumber(d, e.joules...)
	}
	if v, ok := plistNumber(d, e.millijoules...); ok {
		return v / 1e3, true
	}
	v, ok := plistNumber(d, e.milliwatts...)
	return v / 1e3 * elapsed.Seconds(), ok
}

// runPowermetrics starts the program; closing the stream ends it.
func runPowermetrics(ctx context.Context) (io.ReadCloser, error) {
	if runtime.GOOS != "darwin" {
		return nil, noData("it is a program of macOS")
	}
	const program = "/usr/bin/powermetrics"
	if _, err := os.Stat(program); err != nil {
		return nil, noData("%s is not installed", program)
	}
	if os.Geteuid() != 0 {
		return nil, &NoData{Reason: "powermetrics needs root", Remedy: "run ridge with sudo"}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c := exec.CommandContext(ctx, program, "--samplers", "cpu_power,gpu_power,thermal", "-f", "plist", "-i", strconv.Itoa(int(powermetricsInterval.Milliseconds())))
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		cancel()
		return nil, noData("starting %s: %v", program, err)
	}
	return &programOutput{out, func() { cancel(); _ = c.Wait() }}, nil
}

type programOutput struct {
	io.Reader
	end func()
}

func (p *programOutput) Close() error { p.end(); return nil }

type powermetrics struct {
	stream  io.Closer
	from    []plistEnergy
	domains []Domain

	mu      sync.Mutex
	joules  []float64
	lost    []error // why a counter that is apart has ended
	sensors Sensors
	err     error
}

// openPowermetrics starts the stream and waits for its first list, which says what this chip counts.
func openPowermetrics(ctx context.Context, env Env, want []plistEnergy) (Meter, error) {
	start := env.Powermetrics
	if start == nil {
		start = runPowermetrics
	}
	stream, err := start(ctx)
	if err != nil {
		return nil, err
	}
	s := newPlistStream(stream)
	type first struct {
		d   map[string]any
		err error
	}
	got := make(chan first, 1)
	go func() {
		d, err := s.next()
		got <- first{d, err}
	}()
	var f first
	select {
	case f = <-got:
	case <-time.After(5 * time.Second):
		f.err = errors.New("nothing came within 5 s")
	case <-ctx.Done():
		f.err = ctx.Err()
	}
	if f.err != nil {
		_ = stream.Close()
		return nil, noData("powermetrics gave no sample: %v", f.err)
	}
	m := &powermetrics{stream: stream}
	for _, e := range want {
		if _, ok := e.joulesOf(f.d, time.Second); ok {
			m.from = append(m.from, e)
			m.domains = append(m.domains, Domain{Name: e.name, Unit: Joules, Scale: 1e-3, Interval: powermetricsInterval, Jitter: 10 * time.Millisecond, Apart: e.apart})
		}
	}
	if i := slices.IndexFunc(m.domains, func(x Domain) bool { return x.Name == "package" }); i >= 0 {
		for k := range m.domains { // the package holds the others
			m.domains[k].Apart = k != i
		}
	}
	if !hasMain(m.domains, want[0].name) && !hasMain(m.domains, "package") {
		_ = stream.Close()
		return nil, noData("powermetrics names no energy of the %s on this machine", want[0].name)
	}
	m.joules, m.lost = make([]float64, len(m.from)), make([]error, len(m.from))
	m.add(f.d)
	go m.follow(s)
	return m, nil
}

func (m *powermetrics) follow(s *plistStream) {
	for {
		d, err := s.next()
		if err != nil {
			m.mu.Lock()
			m.err = noData("powermetrics ended during the run: %v", err)
			m.mu.Unlock()
			return
		}
		m.add(d)
	}
}

// add counts one interval's energy. A list without one of the counters ends it, as the sum would be too low; of a counter of the total it
// ends the stream.
func (m *powermetrics) add(d map[string]any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	ns, ok := plistNumber(d, "elapsed_ns")
	if !ok || ns <= 0 {
		m.err = noData("a sample of powermetrics names no elapsed_ns")
		return
	}
	for i, e := range m.from {
		j, ok := e.joulesOf(d, time.Duration(ns))
		if !ok || j/(ns/1e9) > plausibleWatts {
			why := noData("a sample of powermetrics names no plausible energy of the %s", e.name)
			if !m.domains[i].Apart {
				m.err = why
				return
			}
			m.lost[i] = why
		}
		m.joules[i] += j
	}
	m.sensors = Sensors{}
	if f, ok := plistNumber(d, "gpu", "freq_hz"); ok && m.from[0].name == "gpu" {
		m.sensors.ClockMHz = megahertz(f)
	}
	if t, ok := d["thermal_pressure"].(string); ok && t != "Nominal" {
		m.sensors.Throttled = "thermal pressure: " + t
	}
}

// megahertz of a frequency that powermetrics gives: the GPU's is in MHz on many Macs, although its key says Hz, as the CPU's is. No GPU has
// 100 GHz, and none 100 kHz.
func megahertz(f float64) float64 {
	if f >= 1e5 {
		return f / 1e6
	}
	return f
}

func (m *powermetrics) Name() string      { return "powermetrics" }
func (m *powermetrics) Domains() []Domain { return m.domains }
func (m *powermetrics) Facts() Facts {
	return Facts{Notes: map[string]string{"source": fmt.Sprintf("a model of the chip's maker, one sample in %v", powermetricsInterval)}}
}

func (m *powermetrics) Close() error { return m.stream.Close() }

func (m *powermetrics) Read(context.Context) (Reading, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return Reading{}, m.err
	}
	r := Reading{Counts: make([]uint64, len(m.joules)), Sensors: m.sensors}
	for i, j := range m.joules {
		r.Counts[i] = uint64(j*1e3 + 0.5)
		if m.lost[i] != nil {
			_ = r.Fail(i, m.domains[i], m.lost[i]) // apart
		}
	}
	return r, nil
}
