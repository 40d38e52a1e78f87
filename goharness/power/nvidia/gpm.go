//go:build cgo

package nvidia

import (
	"errors"
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// GPM, the counters of Hopper and later: two samples give the share of DRAM's bandwidth that was in
// use between them.

// gpmCalls are the functions that are called, each of which a driver may lack.
var gpmCalls = []string{"nvmlGpmQueryDeviceSupport", "nvmlGpmSampleAlloc", "nvmlGpmSampleGet", "nvmlGpmSampleFree", "nvmlGpmMetricsGet"}

func (m *meter) gpmWorks() bool {
	for _, name := range gpmCalls {
		if !m.has(name) {
			m.gpmReason = "the driver has no GPM function " + name
			return false
		}
	}
	s, ret := m.dev.GpmQueryDeviceSupport()
	if ret != nvml.SUCCESS {
		m.gpmReason = "GPM: " + text(ret)
		return false
	}
	if s.IsSupportedDevice == 0 {
		m.gpmReason = "GPM needs Hopper or later"
		return false
	}
	return true
}

// BeginTraffic takes the first sample.
func (m *meter) BeginTraffic() error {
	if !m.gpm {
		return errors.New(m.gpmReason)
	}
	m.endTraffic()
	s, err := m.sample()
	m.before = s
	return err
}

// EndTraffic takes the second and answers the share of DRAM's bandwidth, 0 to 1.
func (m *meter) EndTraffic() (float64, error) {
	if m.before == nil {
		return 0, errors.New("GPM: no first sample was taken")
	}
	defer m.endTraffic()
	after, err := m.sample()
	if err != nil {
		return 0, err
	}
	defer after.Free()
	q := nvml.GpmMetricsGetType{NumMetrics: 1, Sample1: m.before, Sample2: after}
	q.Metrics[0].MetricId = uint32(nvml.GPM_METRIC_DRAM_BW_UTIL)
	if ret := m.lib.GpmMetricsGet(&q); ret != nvml.SUCCESS {
		return 0, errors.New("GPM metrics: " + text(ret))
	}
	if ret := nvml.Return(q.Metrics[0].NvmlReturn); ret != nvml.SUCCESS {
		return 0, errors.New("GPM DRAM utilisation: " + text(ret))
	}
	v := q.Metrics[0].Value / 100
	if !(v >= 0 && v <= 1.05) {
		return 0, fmt.Errorf("GPM shows a DRAM utilisation of %v %%", 100*v)
	}
	return v, nil
}

func (m *meter) sample() (nvml.GpmSample, error) {
	s, ret := m.lib.GpmSampleAlloc()
	if ret != nvml.SUCCESS {
		return nil, errors.New("GPM sample: " + text(ret))
	}
	if ret := m.dev.GpmSampleGet(s); ret != nvml.SUCCESS {
		s.Free()
		return nil, errors.New("GPM sample: " + text(ret))
	}
	return s, nil
}

func (m *meter) endTraffic() {
	if m.before != nil {
		m.before.Free()
		m.before = nil
	}
}
