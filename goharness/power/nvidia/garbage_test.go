//go:build cgo

package nvidia

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"

	"ridge/goharness/power"
	"ridge/goharness/power/powertest"
)

// spoil makes one function of the driver answer with bits and a code.
var spoil = map[string]func(l *mock.Interface, d *mock.Device, bits uint64, ret nvml.Return){
	"the energy": func(_ *mock.Interface, d *mock.Device, bits uint64, ret nvml.Return) {
		d.GetTotalEnergyConsumptionFunc = func() (uint64, nvml.Return) { return bits, ret }
	},
	"the power": func(_ *mock.Interface, d *mock.Device, bits uint64, ret nvml.Return) {
		d.GetPowerUsageFunc = func() (uint32, nvml.Return) { return uint32(bits), ret }
	},
	"the power of the moment": func(_ *mock.Interface, d *mock.Device, bits uint64, ret nvml.Return) {
		d.GetFieldValuesFunc = func(v []nvml.FieldValue) nvml.Return {
			v[0].ValueType, v[0].NvmlReturn = uint32(nvml.VALUE_TYPE_UNSIGNED_INT), uint32(ret)
			binary.NativeEndian.PutUint64(v[0].Value[:], bits)
			return nvml.SUCCESS
		}
	},
	"the type of the field": func(_ *mock.Interface, d *mock.Device, bits uint64, ret nvml.Return) {
		d.GetFieldValuesFunc = func(v []nvml.FieldValue) nvml.Return { v[0].ValueType = uint32(bits); return ret }
	},
	"clocks": func(_ *mock.Interface, d *mock.Device, bits uint64, ret nvml.Return) {
		d.GetClockInfoFunc = func(nvml.ClockType) (uint32, nvml.Return) { return uint32(bits), ret }
	},
	"the temperature": func(_ *mock.Interface, d *mock.Device, bits uint64, ret nvml.Return) {
		d.GetTemperatureFunc = func(nvml.TemperatureSensors) (uint32, nvml.Return) { return uint32(bits), ret }
	},
	"throttle reasons": func(_ *mock.Interface, d *mock.Device, bits uint64, ret nvml.Return) {
		d.GetCurrentClocksEventReasonsFunc = func() (uint64, nvml.Return) { return bits, ret }
	},
	"the limit": func(_ *mock.Interface, d *mock.Device, bits uint64, ret nvml.Return) {
		d.GetEnforcedPowerLimitFunc = func() (uint32, nvml.Return) { return uint32(bits), ret }
	},
	"the link": func(_ *mock.Interface, d *mock.Device, bits uint64, ret nvml.Return) {
		d.GetMaxPcieLinkGenerationFunc = func() (int, nvml.Return) { return int(uint32(bits)), ret }
		d.GetMaxPcieLinkWidthFunc = func() (int, nvml.Return) { return int(uint32(bits)), ret }
	},
	"MIG": func(_ *mock.Interface, d *mock.Device, bits uint64, ret nvml.Return) {
		d.GetMigModeFunc = func() (int, int, nvml.Return) { return int(uint32(bits)), 0, ret }
	},
	"ECC": func(_ *mock.Interface, d *mock.Device, bits uint64, ret nvml.Return) {
		d.GetEccModeFunc = func() (nvml.EnableState, nvml.EnableState, nvml.Return) {
			return nvml.EnableState(uint32(bits)), nvml.FEATURE_DISABLED, ret
		}
	},
	"processes": func(_ *mock.Interface, d *mock.Device, bits uint64, ret nvml.Return) {
		d.GetComputeRunningProcessesFunc = func() ([]nvml.ProcessInfo, nvml.Return) {
			return []nvml.ProcessInfo{{Pid: uint32(bits), UsedGpuMemory: bits}}, ret
		}
	},
	"the number of devices": func(l *mock.Interface, _ *mock.Device, bits uint64, ret nvml.Return) {
		l.DeviceGetCountFunc = func() (int, nvml.Return) { return int(int32(bits)), ret }
	},
	"the traffic": func(l *mock.Interface, _ *mock.Device, bits uint64, ret nvml.Return) {
		l.GpmMetricsGetFunc = func(q *nvml.GpmMetricsGetType) nvml.Return {
			q.Metrics[0].Value = math.Float64frombits(bits)
			return ret
		}
	},
}

// Whatever one function of the driver answers, before the run or from the middle of a window on: an energy that is given is that of the trace, and
// beside it stands nothing that no board shows.
func TestNoAnswerOfTheDriverBecomesAFigure(t *testing.T) {
	const noCode = nvml.Return(-7)
	for name, set := range spoil {
		for _, metered := range []string{"nvml total energy", "nvml instantaneous power", "nvml average power"} {
			for _, ret := range []nvml.Return{nvml.SUCCESS, nvml.ERROR_NOT_SUPPORTED, nvml.ERROR_GPU_IS_LOST, nvml.ERROR_UNKNOWN, noCode} {
				for _, bits := range []uint64{0, 1 << 31, math.MaxUint32, 1 << 63, math.MaxUint64} {
					for _, late := range []bool{false, true} {
						is := fmt.Sprintf("%s: %s is %#x with code %d, late %v", metered, name, bits, ret, late)
						clock := &powertest.Clock{}
						var lacks []string
						if metered == "nvml average power" {
							lacks = []string{"nvmlDeviceGetFieldValues"}
						}
						lib, d := h200(func() time.Duration { return clock.T }, lacks...)
						if metered != "nvml total energy" {
							d.GetTotalEnergyConsumptionFunc = func() (uint64, nvml.Return) { return 0, nvml.ERROR_NOT_SUPPORTED }
						}
						if !late {
							set(lib, d, bits, ret)
						}
						judge(t, is, clock, lib, func() {
							if late {
								set(lib, d, bits, ret)
							}
						})
					}
				}
			}
		}
	}
}

func judge(t *testing.T, is string, clock *powertest.Clock, lib nvml.Interface, middle func()) {
	t.Helper()
	m, err := open(t, lib, "")
	if err != nil {
		if !errors.Is(err, power.ErrNoData) {
			t.Errorf("%s: opened with %v", is, err)
		}
		return
	}
	defer m.Close()
	sleep := clock.Power().Sleep
	o := power.NewObserver(m, power.Clock{Now: func() time.Duration { return clock.T }, Sleep: func(ctx context.Context, d time.Duration) error {
		if clock.T > 3*time.Second && middle != nil { // within the first window
			middle()
			middle = nil
		}
		return sleep(ctx, d)
	}}, nil)
	if _, err := o.Read(t.Context()); err != nil && !errors.Is(err, power.ErrNoData) {
		t.Errorf("%s: %v", is, err)
	}
	clock.T = 2 * time.Second
	plan := power.Plan{Windows: 1, Length: 2 * time.Second}
	var ws []power.Window
	for range 2 {
		w, err := o.Measure(t.Context(), plan, func() float64 { return 0.5 })
		if err != nil && !errors.Is(err, power.ErrNoData) {
			t.Errorf("%s: %v", is, err)
		}
		ws = append(ws, w...)
	}
	if limit := m.Facts().LimitWatts; limit != 0 && limit != 700 {
		t.Errorf("%s: limit %v W", is, limit)
	}
	for _, note := range []string{power.NotePCIeGeneration, power.NotePCIeLanes} {
		if n, err := strconv.Atoi(m.Facts().Notes[note]); err == nil && n != 5 && n != 16 {
			t.Errorf("%s: %s is %d", is, note, n)
		}
	}
	for _, w := range ws {
		if mean := w.MeanWatts(); !(math.Abs(mean-696) < 6) || w.MaxWatts > 710 || w.MaxWatts < mean || w.PowerWatts != 0 && math.Abs(w.PowerWatts-696) > 6 ||
			w.ClockMHz[1] != 0 && w.ClockMHz[1] != 1755 || w.TemperatureC[1] != 0 && w.TemperatureC[1] != 58 || !(w.DRAMShare >= 0 && w.DRAMShare <= 1.05) {
			t.Errorf("%s: %+v", is, w)
		}
	}
}
