package campaign

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ridge/goharness/power"
	"ridge/goharness/power/powertest"
	"ridge/internal/fakebackend"
)

// channel is a memory controller that moves a line of 64 bytes each nanosecond.
type channel struct{ clock *powertest.Clock }

func (c channel) Read() (uint64, error) { return uint64(c.clock.T), nil }
func (channel) Close() error            { return nil }

func TestMeasuredBytesComeFromTheMemoryControllers(t *testing.T) {
	root := t.TempDir()
	for file, text := range map[string]string{"type": "31", "cpumask": "0"} {
		dir := filepath.Join(root, "sys/bus/event_source/devices/amd_umc_0")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		name string
		err  error
		want string
	}{{"counted", nil, ""}, {"not permitted", syscall.EACCES, "permission denied"}} {
		cfg, _ := toy(t, &fakebackend.Backend{}, t.TempDir(), copies(1)...)
		clock := virtual(&cfg, toyMeter(50), 0)
		cfg.EnergyOf.Traffic = func(power.Env) (*power.Traffic, error) {
			return power.OpenTraffic(power.Env{Root: root, Perf: func(uint32, uint64, int) (power.PerfCounter, error) { return channel{clock}, tc.err }})
		}
		doc := mustRun(t, cfg)
		e := find(t, doc, copies(1)[0]).Energy
		if !e.Known() || e.MeasuredBytes == nil {
			t.Fatalf("%s: %+v", tc.name, e)
		}
		bytes, ok := e.MeasuredBytes.Get()
		if tc.want != "" {
			if ok || !strings.Contains(e.MeasuredBytes.Unavailable, tc.want) {
				t.Errorf("%s: %+v", tc.name, e.MeasuredBytes)
			}
			continue
		}
		launch := float64(e.WindowNS) / e.Launches // ns
		if want := 64 * launch; !ok || math.Abs(bytes-want) > 1e-6*want || !strings.Contains(e.MeasuredBytes.Source, "1 counters") {
			t.Errorf("%s: %v bytes of a launch of %v ns, %+v", tc.name, bytes, launch, e.MeasuredBytes)
		}
	}
}
