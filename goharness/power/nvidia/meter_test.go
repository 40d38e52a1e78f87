//go:build cgo

package nvidia

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"

	"ridge/goharness/power"
	"ridge/goharness/power/powertest"
)

// recorded is the power of an H200 over a matrix product in steps of 100 ms: idle, a rise within 200 ms,
// the power cap, and a slow fall as the memory clock settles. In watts.
var recorded = []float64{76, 76, 77, 76, 402, 648, 701, 699, 700, 702, 698, 700, 699, 701, 700, 697, 696, 698, 695, 697, 696, 694, 695, 693, 694}

// h200 plays the trace, its last point for ever; lacks are symbols of newer drivers.
func h200(now func() time.Duration, lacks ...string) (*mock.Interface, *mock.Device) {
	watts := func() float64 { return recorded[min(int(now()/(100*time.Millisecond)), len(recorded)-1)] }
	d := &mock.Device{
		GetMigModeFunc: func() (int, int, nvml.Return) { return 0, 0, nvml.SUCCESS },
		GetTotalEnergyConsumptionFunc: func() (uint64, nvml.Return) {
			j := 1e6
			n := int(now() / (100 * time.Millisecond)) // updated with the trace
			for i := range n {
				j += recorded[min(i, len(recorded)-1)] / 10
			}
			return uint64(1e3 * j), nvml.SUCCESS
		},
		GetPowerUsageFunc: func() (uint32, nvml.Return) { return uint32(1e3 * watts()), nvml.SUCCESS },
		GetFieldValuesFunc: func(v []nvml.FieldValue) nvml.Return {
			for i := range v {
				if v[i].FieldId != nvml.FI_DEV_POWER_INSTANT {
					v[i].NvmlReturn = uint32(nvml.ERROR_NOT_SUPPORTED)
					continue
				}
				v[i].ValueType = uint32(nvml.VALUE_TYPE_UNSIGNED_INT)
				binary.NativeEndian.PutUint32(v[i].Value[:], uint32(1e3*watts()))
			}
			return nvml.SUCCESS
		},
		GetClockInfoFunc: func(c nvml.ClockType) (uint32, nvml.Return) {
			if c == nvml.CLOCK_MEM {
				return 3201, nvml.SUCCESS
			}
			return 1755, nvml.SUCCESS
		},
		GetTemperatureFunc: func(nvml.TemperatureSensors) (uint32, nvml.Return) { return 58, nvml.SUCCESS },
		GetCurrentClocksEventReasonsFunc: func() (uint64, nvml.Return) {
			if watts() < 100 {
				return nvml.ClocksEventReasonGpuIdle, nvml.SUCCESS
			}
			return nvml.ClocksEventReasonSwPowerCap, nvml.SUCCESS
		},
		GetCurrentClocksThrottleReasonsFunc: func() (uint64, nvml.Return) { return nvml.ClocksThrottleReasonHwSlowdown, nvml.SUCCESS },
		GetMaxPcieLinkGenerationFunc:        func() (int, nvml.Return) { return 5, nvml.SUCCESS },
		GetMaxPcieLinkWidthFunc:             func() (int, nvml.Return) { return 16, nvml.SUCCESS },
		GetEnforcedPowerLimitFunc:           func() (uint32, nvml.Return) { return 700_000, nvml.SUCCESS },
		GetEccModeFunc: func() (nvml.EnableState, nvml.EnableState, nvml.Return) {
			return nvml.FEATURE_ENABLED, nvml.FEATURE_ENABLED, nvml.SUCCESS
		},
		GetComputeRunningProcessesFunc: func() ([]nvml.ProcessInfo, nvml.Return) {
			return []nvml.ProcessInfo{{Pid: 11, UsedGpuMemory: 1 << 30}, {Pid: 4242, UsedGpuMemory: 512 << 20}}, nvml.SUCCESS
		},
		GpmQueryDeviceSupportFunc: func() (nvml.GpmSupport, nvml.Return) { return nvml.GpmSupport{IsSupportedDevice: 1}, nvml.SUCCESS },
		GpmSampleGetFunc:          func(nvml.GpmSample) nvml.Return { return nvml.SUCCESS },
	}
	lib := &mock.Interface{
		InitFunc:                      func() nvml.Return { return nvml.SUCCESS },
		ShutdownFunc:                  func() nvml.Return { return nvml.SUCCESS },
		SystemGetDriverVersionFunc:    func() (string, nvml.Return) { return "580.82.07", nvml.SUCCESS },
		DeviceGetCountFunc:            func() (int, nvml.Return) { return 1, nvml.SUCCESS },
		DeviceGetHandleByIndexFunc:    func(int) (nvml.Device, nvml.Return) { return d, nvml.SUCCESS },
		DeviceGetHandleByPciBusIdFunc: func(string) (nvml.Device, nvml.Return) { return d, nvml.SUCCESS },
		ExtensionsFunc: func() nvml.ExtendedInterface {
			return &mock.ExtendedInterface{LookupSymbolFunc: func(name string) error {
				if slices.Contains(lacks, name) {
					return errors.New("undefined symbol")
				}
				return nil
			}}
		},
		GpmSampleAllocFunc: func() (nvml.GpmSample, nvml.Return) {
			return &mock.GpmSample{FreeFunc: func() nvml.Return { return nvml.SUCCESS }}, nvml.SUCCESS
		},
		GpmMetricsGetFunc: func(q *nvml.GpmMetricsGetType) nvml.Return {
			if q.NumMetrics != 1 || q.Metrics[0].MetricId != uint32(nvml.GPM_METRIC_DRAM_BW_UTIL) {
				return nvml.ERROR_INVALID_ARGUMENT
			}
			q.Metrics[0].Value = 37.5
			return nvml.SUCCESS
		},
	}
	return lib, d
}

func open(t *testing.T, lib nvml.Interface, pci string) (power.Meter, error) {
	t.Helper()
	s := Source(func() nvml.Interface { return lib }, func(pid int) bool { return pid == 11 })
	return power.Find(t.Context(), []power.Source{s}, power.Env{}, power.Device{ID: "cuda:0", Platform: "cuda", PCI: pci})
}

func TestTheEnergyOfARecordedTraceIsFound(t *testing.T) {
	clock := &powertest.Clock{}
	lib, _ := h200(func() time.Duration { return clock.T })
	m, err := open(t, lib, "00000000:1B:00.0")
	if err != nil {
		t.Fatal(err)
	}
	notes := m.Facts().Notes
	if m.Name() != "nvml total energy" || m.Facts().LimitWatts != 700 || notes["ecc"] != "enabled" || notes["mig"] != "disabled" ||
		notes["driver"] != "580.82.07" || notes["other processes"] != "pid 4242 (512 MiB)" || notes[power.NotePCIeGeneration] != "5" || notes[power.NotePCIeLanes] != "16" {
		t.Errorf("%s, facts %+v", m.Name(), m.Facts())
	}
	o := power.NewObserver(m, clock.Power(), nil)
	clock.T = 800 * time.Millisecond // the load runs since 400 ms
	ws, err := o.Measure(t.Context(), power.Plan{Windows: 2, Length: 5 * time.Second}, func() float64 { return 0.3 })
	if err != nil {
		t.Fatal(err)
	}
	got := power.Combine(ws)
	if mean := got.MeanWatts(); math.Abs(mean-695) > 5 || math.Abs(got.Joules-mean*got.Seconds) > 1e-6 || got.Uncertainty > 0.02*got.Joules {
		t.Errorf("%.1f W, %.1f ± %.1f J in %.2f s", mean, got.Joules, got.Uncertainty, got.Seconds)
	}
	if got.MaxWatts < 697 || got.MaxWatts > 702 || got.ClockMHz != [2]float64{1755, 1755} || got.TemperatureC[1] != 58 ||
		!slices.Equal(got.Throttled, []string{"power cap"}) || got.Disagrees() != "" {
		t.Errorf("%+v; %s", got, got.Disagrees())
	}
	if v, why := ws[0].DRAMShare, ws[0].NoDRAMShare; v != 0.375 || why != "" {
		t.Errorf("DRAM share %v %q", v, why)
	}
	if err := m.Close(); err != nil || len(lib.ShutdownCalls()) != 1 {
		t.Errorf("closed %v, %d times", err, len(lib.ShutdownCalls()))
	}
}

// The library aborts the process when anything is called after a failed Init: the mock panics.
func TestNothingIsCalledUnlessInitSucceeded(t *testing.T) {
	for ret, want := range map[nvml.Return]string{
		nvml.ERROR_LIBRARY_NOT_FOUND:       "libnvidia-ml.so.1 is not found; to change that: install the driver's compute libraries",
		nvml.ERROR_DRIVER_NOT_LOADED:       "the driver is not loaded",
		nvml.ERROR_LIB_RM_VERSION_MISMATCH: "reboot",
		nvml.Return(777):                   "NVML error 777",
	} {
		lib := &mock.Interface{InitFunc: func() nvml.Return { return ret }}
		if m, err := open(t, lib, ""); m != nil || !errors.Is(err, power.ErrNoData) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, %v", ret, m, err)
		}
	}
}

// With the real library: on a machine without a driver this gives the reason too.
func TestTheRealLibraryIsNeverCalledWithoutADriver(t *testing.T) {
	m, err := power.Find(t.Context(), []power.Source{Source(New, nil)}, power.Env{}, power.Device{ID: "cuda:0", Platform: "cuda"})
	if err != nil {
		if !errors.Is(err, power.ErrNoData) {
			t.Fatal(err)
		}
		t.Skipf("no GPU here: %v", err)
	}
	defer m.Close()
	if _, err := m.Read(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestOlderDriversAreAskedWhatTheyKnow(t *testing.T) {
	now := func() time.Duration { return time.Second }
	lib, d := h200(now, "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetFieldValues", "nvmlGpmMetricsGet")
	d.GetCurrentClocksEventReasonsFunc, d.GetFieldValuesFunc = nil, nil // calling them panics
	m, err := open(t, lib, "")
	if err != nil {
		t.Fatal(err)
	}
	r, err := m.Read(t.Context())
	if err != nil || r.Throttled != "hardware slowdown" || r.PowerWatts != 0 || !strings.Contains(m.Facts().Notes["power of the moment"], "no field") {
		t.Errorf("%+v, %v, %v", r, m.Facts().Notes, err)
	}
	if err := m.(power.TrafficMeter).BeginTraffic(); err == nil || !strings.Contains(err.Error(), "no GPM function nvmlGpmMetricsGet") {
		t.Errorf("traffic: %v", err)
	}
}

// Each function that came with a driver is looked up by itself; the mock panics when one is called that is not there.
func TestEachFunctionOfANewerDriverMayBeMissing(t *testing.T) {
	for _, symbol := range []string{"nvmlGpmQueryDeviceSupport", "nvmlGpmSampleAlloc", "nvmlGpmSampleGet", "nvmlGpmSampleFree", "nvmlGpmMetricsGet"} {
		lib, d := h200(func() time.Duration { return time.Second }, symbol)
		d.GpmQueryDeviceSupportFunc, d.GpmSampleGetFunc, lib.GpmSampleAllocFunc, lib.GpmMetricsGetFunc = nil, nil, nil, nil
		m, err := open(t, lib, "")
		if err != nil {
			t.Fatal(err)
		}
		if err := m.(power.TrafficMeter).BeginTraffic(); err == nil || !strings.Contains(err.Error(), symbol) {
			t.Errorf("without %s: %v", symbol, err)
		}
		if _, err := m.(power.TrafficMeter).EndTraffic(); err == nil {
			t.Errorf("without %s a share was given", symbol)
		}
	}
	lib, d := h200(func() time.Duration { return time.Second }, "nvmlDeviceGetMigMode", "nvmlDeviceGetTotalEnergyConsumption",
		"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")
	d.GetMigModeFunc, d.GetTotalEnergyConsumptionFunc, d.GetCurrentClocksEventReasonsFunc, d.GetCurrentClocksThrottleReasonsFunc = nil, nil, nil, nil
	m, err := open(t, lib, "")
	if err != nil {
		t.Fatal(err)
	}
	r, err := m.Read(t.Context())
	if n := m.Facts().Notes; err != nil || m.Name() != "nvml instantaneous power" || r.Throttled != "" || !strings.Contains(n["mig"], "does not know") || !strings.Contains(n["energy counter"], "does not know") {
		t.Errorf("%s, %+v, facts %v, %v", m.Name(), r, n, err)
	}
}

// What the counters of traffic may answer: a reason, never a share that cannot be, and every sample is given back.
func TestTrafficCountersThatFailGiveAReason(t *testing.T) {
	for name, tc := range map[string]struct {
		set  func(*mock.Interface, *mock.Device)
		want string
	}{
		"an older GPU": {func(_ *mock.Interface, d *mock.Device) {
			d.GpmQueryDeviceSupportFunc = func() (nvml.GpmSupport, nvml.Return) { return nvml.GpmSupport{}, nvml.SUCCESS }
		}, "needs Hopper"},
		"no permission": {func(_ *mock.Interface, d *mock.Device) {
			d.GpmSampleGetFunc = func(nvml.GpmSample) nvml.Return { return nvml.ERROR_NO_PERMISSION }
		}, "no permission"},
		"no memory for a sample": {func(l *mock.Interface, _ *mock.Device) {
			l.GpmSampleAllocFunc = func() (nvml.GpmSample, nvml.Return) { return nil, nvml.ERROR_MEMORY }
		}, "NVML error"},
		"a metric that fails alone": {func(l *mock.Interface, _ *mock.Device) {
			l.GpmMetricsGetFunc = func(q *nvml.GpmMetricsGetType) nvml.Return {
				q.Metrics[0].NvmlReturn = uint32(nvml.ERROR_NOT_SUPPORTED)
				return nvml.SUCCESS
			}
		}, "not supported"},
		"more than all": {func(l *mock.Interface, _ *mock.Device) {
			l.GpmMetricsGetFunc = func(q *nvml.GpmMetricsGetType) nvml.Return { q.Metrics[0].Value = 250; return nvml.SUCCESS }
		}, "250 %"},
		"not a number": {func(l *mock.Interface, _ *mock.Device) {
			l.GpmMetricsGetFunc = func(q *nvml.GpmMetricsGetType) nvml.Return { q.Metrics[0].Value = math.NaN(); return nvml.SUCCESS }
		}, "NaN"},
	} {
		lib, d := h200(func() time.Duration { return time.Second })
		taken, freed := 0, 0
		lib.GpmSampleAllocFunc = func() (nvml.GpmSample, nvml.Return) {
			taken++
			return &mock.GpmSample{FreeFunc: func() nvml.Return { freed++; return nvml.SUCCESS }}, nvml.SUCCESS
		}
		tc.set(lib, d)
		m, err := open(t, lib, "")
		if err != nil {
			t.Fatal(err)
		}
		err = m.(power.TrafficMeter).BeginTraffic()
		share := 0.0
		if err == nil {
			share, err = m.(power.TrafficMeter).EndTraffic()
		}
		if err == nil || !strings.Contains(err.Error(), tc.want) || share != 0 || taken != freed {
			t.Errorf("%s: share %v, %v; %d samples taken, %d given back", name, share, err, taken, freed)
		}
	}
	lib, _ := h200(func() time.Duration { return time.Second })
	taken, freed := 0, 0
	lib.GpmSampleAllocFunc = func() (nvml.GpmSample, nvml.Return) {
		taken++
		return &mock.GpmSample{FreeFunc: func() nvml.Return { freed++; return nvml.SUCCESS }}, nvml.SUCCESS
	}
	m, err := open(t, lib, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := m.(power.TrafficMeter).BeginTraffic(); err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil || taken != 1 || freed != 1 { // a load that ended between the samples
		t.Errorf("closed %v, %d samples taken, %d given back", err, taken, freed)
	}
}

func TestAGPUWithoutACounterIsMeteredByItsPower(t *testing.T) {
	unsupported := func() (uint64, nvml.Return) { return 0, nvml.ERROR_NOT_SUPPORTED }
	for _, tc := range []struct {
		lacks []string
		name  string
		avg   time.Duration
	}{{nil, "nvml instantaneous power", 0}, {[]string{"nvmlDeviceGetFieldValues"}, "nvml average power", time.Second}} {
		lib, d := h200(func() time.Duration { return time.Minute }, tc.lacks...)
		d.GetTotalEnergyConsumptionFunc = unsupported
		m, err := open(t, lib, "")
		if err != nil {
			t.Fatal(err)
		}
		r, err := m.Read(t.Context())
		if x := m.Domains()[0]; err != nil || m.Name() != tc.name || x.Unit != power.Watts || x.Averaging != tc.avg || float64(r.Counts[0])*x.Scale != 694 {
			t.Errorf("%s: %+v, %+v, %v", m.Name(), x, r, err)
		}
	}
}

func TestDevicesWhoseFigureWouldBeAnothersAreRefused(t *testing.T) {
	now := func() time.Duration { return 0 }
	lib, d := h200(now)
	d.GetMigModeFunc = func() (int, int, nvml.Return) { return nvml.DEVICE_MIG_ENABLE, nvml.DEVICE_MIG_ENABLE, nvml.SUCCESS }
	if _, err := open(t, lib, ""); !errors.Is(err, power.ErrNoData) || !strings.Contains(err.Error(), "MIG is enabled") || len(lib.ShutdownCalls()) != 1 {
		t.Errorf("MIG: %v", err)
	}
	lib, _ = h200(now)
	lib.DeviceGetCountFunc = func() (int, nvml.Return) { return 8, nvml.SUCCESS }
	if _, err := open(t, lib, ""); err == nil || !strings.Contains(err.Error(), "8 devices") {
		t.Errorf("one of eight without an address: %v", err)
	}
	lib, d = h200(now)
	m, err := open(t, lib, "")
	if err != nil {
		t.Fatal(err)
	}
	d.GetTotalEnergyConsumptionFunc = func() (uint64, nvml.Return) { return 0, nvml.ERROR_GPU_IS_LOST }
	if _, err := m.Read(t.Context()); !errors.Is(err, power.ErrNoData) || !strings.Contains(err.Error(), "the GPU is lost") {
		t.Errorf("a lost GPU: %v", err)
	}
}

func TestAProcessWhoseMemoryTheDriverDoesNotTellIsNamedWithoutAFigure(t *testing.T) {
	lib, d := h200(func() time.Duration { return 0 })
	d.GetComputeRunningProcessesFunc = func() ([]nvml.ProcessInfo, nvml.Return) {
		return []nvml.ProcessInfo{{Pid: 7, UsedGpuMemory: math.MaxUint64}}, nvml.SUCCESS
	}
	m, err := open(t, lib, "")
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Facts().Notes["other processes"]; got != "pid 7 (memory unknown)" {
		t.Errorf("%q", got)
	}
}

func TestThrottleReasonsAreDecoded(t *testing.T) {
	for bits, want := range map[uint64]string{
		0: "", nvml.ClocksEventReasonGpuIdle: "", nvml.ClocksEventReasonSwPowerCap: "power cap",
		nvml.ClocksThrottleReasonHwSlowdown | nvml.ClocksThrottleReasonHwThermalSlowdown: "hardware slowdown, thermal (hardware)",
		1 << 40: "unknown 0x10000000000",
	} {
		if got := Reasons(bits); got != want {
			t.Errorf("%#x: %q, want %q", bits, got, want)
		}
	}
}
