//go:build cgo

package nvidia

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"ridge/goharness/power"
)

// The counter holds what the board's sensor saw, and on Hopper that sees 25 of every 100 ms.
const (
	interval  = 100 * time.Millisecond
	jitter    = 25 * time.Millisecond
	averaging = time.Second // of the power reading on Ampere and later
)

// Source of the meters. open gives the library, New by default; own tells processes of this run from
// others on the device.
func Source(open func() nvml.Interface, own func(pid int) bool) power.Source {
	return power.Source{Name: "nvml", Platform: "cuda", Open: func(_ context.Context, _ power.Env, d power.Device) (power.Meter, error) {
		return openMeter(open(), own, d)
	}}
}

// New is the driver's library.
func New() nvml.Interface { return nvml.New() }

type meter struct {
	lib     nvml.Interface
	dev     nvml.Device
	domain  power.Domain
	facts   power.Facts
	instant bool // the field of the power of the moment works
	reasons func() (uint64, nvml.Return)

	gpm       bool
	gpmReason string
	before    nvml.GpmSample
}

func none(what string, ret nvml.Return) error {
	return &power.NoData{Reason: what + ": " + text(ret)}
}

// text names a return code without asking the library, which may be what is missing.
func text(ret nvml.Return) string {
	for code, s := range map[nvml.Return]string{
		nvml.ERROR_NOT_SUPPORTED: "not supported by this GPU", nvml.ERROR_NO_PERMISSION: "no permission", nvml.ERROR_NOT_FOUND: "not found",
		nvml.ERROR_GPU_IS_LOST: "the GPU is lost", nvml.ERROR_DRIVER_NOT_LOADED: "the driver is not loaded", nvml.ERROR_LIBRARY_NOT_FOUND: "libnvidia-ml.so.1 is not found",
		nvml.ERROR_FUNCTION_NOT_FOUND: "the driver does not know the function", nvml.ERROR_UNINITIALIZED: "not initialised", nvml.ERROR_TIMEOUT: "timed out",
		nvml.ERROR_LIB_RM_VERSION_MISMATCH: "driver and library have different versions", nvml.ERROR_IN_USE: "in use"} {
		if ret == code {
			return s
		}
	}
	return fmt.Sprintf("NVML error %d", int32(ret))
}

func openMeter(lib nvml.Interface, own func(int) bool, d power.Device) (power.Meter, error) {
	if ret := lib.Init(); ret != nvml.SUCCESS {
		e := &power.NoData{Reason: "NVML: " + text(ret)}
		switch ret {
		case nvml.ERROR_LIBRARY_NOT_FOUND:
			e.Remedy = "install the driver's compute libraries; in a container, add the capability utility (NVIDIA_DRIVER_CAPABILITIES=compute,utility)"
		case nvml.ERROR_LIB_RM_VERSION_MISMATCH:
			e.Remedy = "reboot, or reload the driver after its update"
		}
		return nil, e
	}
	m := &meter{lib: lib, facts: power.Facts{Notes: map[string]string{}}}
	if err := m.start(own, d); err != nil {
		_ = lib.Shutdown()
		return nil, err
	}
	return m, nil
}

// has looks a function up that older drivers lack: calling one that is missing ends the process.
func (m *meter) has(symbol string) bool {
	return m.lib.Extensions().LookupSymbol(symbol) == nil
}

func (m *meter) start(own func(int) bool, d power.Device) error {
	if err := m.find(d); err != nil {
		return err
	}
	if !m.has("nvmlDeviceGetMigMode") {
		m.facts.Notes["mig"] = text(nvml.ERROR_FUNCTION_NOT_FOUND)
	} else if current, _, ret := m.dev.GetMigMode(); ret == nvml.SUCCESS {
		m.facts.Notes["mig"] = map[bool]string{true: "enabled", false: "disabled"}[current == nvml.DEVICE_MIG_ENABLE]
		if current == nvml.DEVICE_MIG_ENABLE {
			return &power.NoData{Reason: "MIG is enabled: the counter is that of the whole GPU, which others may use", Remedy: "nvidia-smi -mig 0 (as root)"}
		}
	} else {
		m.facts.Notes["mig"] = text(ret)
	}
	m.instant = m.has("nvmlDeviceGetFieldValues")
	if m.instant {
		_, ok := m.powerNow()
		m.instant = ok
	}
	if !m.instant {
		m.facts.Notes["power of the moment"] = "the driver has no field for it"
	}
	if err := m.choose(); err != nil {
		return err
	}
	m.domain.Name = "board of " + d.ID
	switch {
	case m.has("nvmlDeviceGetCurrentClocksEventReasons"):
		m.reasons = m.dev.GetCurrentClocksEventReasons
	case m.has("nvmlDeviceGetCurrentClocksThrottleReasons"):
		m.reasons = m.dev.GetCurrentClocksThrottleReasons
	}
	if mw, ret := m.dev.GetEnforcedPowerLimit(); ret == nvml.SUCCESS {
		m.facts.Limit(float64(mw) / 1e3)
	} else {
		m.facts.Notes["power limit"] = text(ret)
	}
	if on, _, ret := m.dev.GetEccMode(); ret == nvml.SUCCESS {
		m.facts.Notes["ecc"] = map[bool]string{true: "enabled", false: "disabled"}[on == nvml.FEATURE_ENABLED]
	} else {
		m.facts.Notes["ecc"] = text(ret)
	}
	for note, ask := range map[string]func() (int, nvml.Return){power.NotePCIeGeneration: m.dev.GetMaxPcieLinkGeneration, power.NotePCIeLanes: m.dev.GetMaxPcieLinkWidth} {
		switch n, ret := ask(); { // the most that device and system can do: an idle link is slower
		case ret != nvml.SUCCESS:
			m.facts.Notes[note] = text(ret)
		case n < 1 || n > 32: // PCI Express has at most 32 lanes, and fewer generations
			m.facts.Notes[note] = fmt.Sprintf("the driver shows %d", n)
		default:
			m.facts.Notes[note] = strconv.Itoa(n)
		}
	}
	if v, ret := m.lib.SystemGetDriverVersion(); ret == nvml.SUCCESS {
		m.facts.Notes[power.NoteDriver] = v
	}
	m.facts.Notes["other processes"] = m.others(own)
	m.gpm = m.gpmWorks()
	return nil
}

// find the device: by its bus address; by number only where there is one, since CUDA orders devices
// in its own way.
func (m *meter) find(d power.Device) error {
	if d.PCI != "" {
		dev, ret := m.lib.DeviceGetHandleByPciBusId(d.PCI)
		if ret != nvml.SUCCESS {
			return none("NVML has no device at "+d.PCI, ret)
		}
		m.dev = dev
		return nil
	}
	n, ret := m.lib.DeviceGetCount()
	if ret != nvml.SUCCESS {
		return none("counting the devices", ret)
	}
	if n != 1 {
		return &power.NoData{Reason: fmt.Sprintf("NVML sees %d devices and the bus address of %s is not known", n, d.ID)}
	}
	if m.dev, ret = m.lib.DeviceGetHandleByIndex(0); ret != nvml.SUCCESS {
		return none("opening the device", ret)
	}
	return nil
}

// choose the counter of energy, else the power of the moment, else the averaged power.
func (m *meter) choose() error {
	if !m.has("nvmlDeviceGetTotalEnergyConsumption") {
		m.facts.Notes["energy counter"] = text(nvml.ERROR_FUNCTION_NOT_FOUND)
	} else if _, ret := m.dev.GetTotalEnergyConsumption(); ret == nvml.SUCCESS {
		m.domain = power.Domain{Unit: power.Joules, Scale: 1e-3, Interval: interval, Jitter: jitter}
		return nil
	} else {
		m.facts.Notes["energy counter"] = text(ret)
	}
	if m.instant {
		m.domain = power.Domain{Unit: power.Watts, Scale: 1e-3, Interval: interval}
		return nil
	}
	if _, ret := m.dev.GetPowerUsage(); ret != nvml.SUCCESS {
		return none("the GPU gives neither energy nor power", ret)
	}
	m.domain = power.Domain{Unit: power.Watts, Scale: 1e-3, Interval: interval, Averaging: averaging}
	return nil
}

// powerNow is the field POWER_INSTANT in mW. The call succeeds while a field in it fails.
func (m *meter) powerNow() (uint32, bool) {
	v := []nvml.FieldValue{{FieldId: nvml.FI_DEV_POWER_INSTANT}}
	if m.dev.GetFieldValues(v) != nvml.SUCCESS || nvml.Return(v[0].NvmlReturn) != nvml.SUCCESS || nvml.ValueType(v[0].ValueType) != nvml.VALUE_TYPE_UNSIGNED_INT {
		return 0, false
	}
	return binary.NativeEndian.Uint32(v[0].Value[:4]), true
}

// memoryUnknown is NVML_VALUE_NOT_AVAILABLE: what drivers say to processes that may not know, as in containers.
const memoryUnknown = math.MaxUint64

// others on the device, whose work is in every figure of it.
func (m *meter) others(own func(int) bool) string {
	list, ret := m.dev.GetComputeRunningProcesses()
	if ret != nvml.SUCCESS {
		return text(ret)
	}
	var out []string
	for _, p := range list {
		if own == nil || !own(int(p.Pid)) {
			memory := fmt.Sprintf("%d MiB", p.UsedGpuMemory>>20)
			if p.UsedGpuMemory == memoryUnknown {
				memory = "memory unknown"
			}
			out = append(out, fmt.Sprintf("pid %d (%s)", p.Pid, memory))
		}
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}

func (m *meter) Name() string {
	if m.domain.Unit == power.Joules {
		return "nvml total energy"
	}
	if m.domain.Averaging > 0 {
		return "nvml average power"
	}
	return "nvml instantaneous power"
}
func (m *meter) Domains() []power.Domain { return []power.Domain{m.domain} }
func (m *meter) Facts() power.Facts      { return m.facts }

func (m *meter) Close() error {
	m.endTraffic()
	if ret := m.lib.Shutdown(); ret != nvml.SUCCESS {
		return none("NVML shutdown", ret)
	}
	return nil
}

// Read the counter or power, and the sensors that answer.
func (m *meter) Read(context.Context) (power.Reading, error) {
	var r power.Reading
	now, moment := uint32(0), false
	if m.instant {
		now, moment = m.powerNow()
	}
	switch {
	case m.domain.Unit == power.Joules:
		mj, ret := m.dev.GetTotalEnergyConsumption()
		if ret != nvml.SUCCESS {
			return r, none("the energy counter", ret)
		}
		r.Counts = []uint64{mj}
		if moment {
			r.PowerWatts = float64(now) / 1e3
		}
	case m.instant:
		if !moment {
			return r, &power.NoData{Reason: "the field of the power of the moment stopped answering"}
		}
		r.Counts = []uint64{uint64(now)}
	default:
		mw, ret := m.dev.GetPowerUsage()
		if ret != nvml.SUCCESS {
			return r, none("the power reading", ret)
		}
		r.Counts = []uint64{uint64(mw)}
	}
	if mhz, ret := m.dev.GetClockInfo(nvml.CLOCK_SM); ret == nvml.SUCCESS {
		r.ClockMHz = float64(mhz)
	}
	if mhz, ret := m.dev.GetClockInfo(nvml.CLOCK_MEM); ret == nvml.SUCCESS {
		r.MemoryClockMHz = float64(mhz)
	}
	if c, ret := m.dev.GetTemperature(nvml.TEMPERATURE_GPU); ret == nvml.SUCCESS {
		r.TemperatureC = float64(c)
	}
	if m.reasons != nil {
		if bits, ret := m.reasons(); ret == nvml.SUCCESS {
			r.Throttled = Reasons(bits)
		}
	}
	return r, nil
}

// reasonNames of nvml.h, nvmlClocksEventReasons; being idle and clocks that somebody set are no throttling.
var reasonNames = []struct {
	bit  uint64
	name string
}{
	{nvml.ClocksEventReasonSwPowerCap, "power cap"},
	{nvml.ClocksThrottleReasonHwSlowdown, "hardware slowdown"},
	{nvml.ClocksEventReasonSyncBoost, "sync boost with another GPU"},
	{nvml.ClocksEventReasonSwThermalSlowdown, "thermal (software)"},
	{nvml.ClocksThrottleReasonHwThermalSlowdown, "thermal (hardware)"},
	{nvml.ClocksThrottleReasonHwPowerBrakeSlowdown, "power brake"},
	{nvml.ClocksEventReasonApplicationsClocksSetting, "application clocks"},
	{nvml.ClocksEventReasonDisplayClockSetting, "display clocks"},
}

// Reasons decodes why the clock is below its maximum; "" when nothing holds it.
func Reasons(bits uint64) string {
	var out []string
	for _, r := range reasonNames {
		if bits&r.bit != 0 {
			out = append(out, r.name)
		}
		bits &^= r.bit
	}
	if bits &^= nvml.ClocksEventReasonGpuIdle; bits != 0 {
		out = append(out, fmt.Sprintf("unknown %#x", bits))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}
