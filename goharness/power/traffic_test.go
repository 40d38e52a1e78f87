package power

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// controllers writes the files of PMUs below a root: "name/file" → text.
func controllers(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		file := filepath.Join(root, "sys/bus/event_source/devices", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// imc are the files of one controller as servers of Intel show them: a count is a line of 64 bytes.
func imc(files map[string]string, name, kind string) {
	for file, text := range map[string]string{"type": kind, "cpumask": "0,16", "events/cas_count_read": "event=0x04,umask=0x03", "events/cas_count_write": "event=0x04,umask=0x0c",
		"events/cas_count_read.scale": "6.103515625e-5", "events/cas_count_write.scale": "6.103515625e-5", "events/cas_count_read.unit": "MiB", "events/cas_count_write.unit": "MiB"} {
		files[name+"/"+file] = text
	}
}

// recordedPerf plays counters that rise by step at each reading.
type recordedPerf struct {
	value, step uint64
	err         error
	closed      *int
}

func (c *recordedPerf) Read() (uint64, error) { c.value += c.step; return c.value, c.err }
func (c *recordedPerf) Close() error          { *c.closed++; return nil }

func TestTheTrafficOfAllMemoryControllersIsAdded(t *testing.T) {
	intel := map[string]string{"uncore_imc_free_running_0/type": "90", "uncore_imc_free_running_0/cpumask": "0", "uncore_imc_free_running_0/events/data_read": "event=0xff,umask=0x20"}
	imc(intel, "uncore_imc_0", "24")
	imc(intel, "uncore_imc_1", "25")
	umc := map[string]string{"amd_umc_0/type": "31", "amd_umc_0/cpumask": "0", "amd_umc_1/type": "32", "amd_umc_1/cpumask": "0"}
	for _, tc := range []struct {
		name     string
		files    map[string]string
		counters int
		config   uint64
	}{{"Intel, two controllers of two sockets, reads and writes", intel, 8, 0x0304}, {"AMD", umc, 2, 0x0a}} {
		var opened []uint64
		closed := 0
		m, err := OpenTraffic(Env{Root: controllers(t, tc.files), Perf: func(pmu uint32, config uint64, cpu int) (PerfCounter, error) {
			opened = append(opened, config)
			return &recordedPerf{value: 1 << 40, step: 1e6, closed: &closed}, nil
		}})
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		if len(opened) != tc.counters || opened[0] != tc.config {
			t.Errorf("%s: opened %#x", tc.name, opened)
		}
		a, err1 := m.Read()
		b, err2 := m.Read()
		rate, err3 := m.Rate(a, b, 2*time.Second)
		if err := errors.Join(err1, err2, err3); err != nil || rate < float64(tc.counters)*32e6*0.999 || rate > float64(tc.counters)*32e6*1.001 {
			t.Errorf("%s: %v bytes per second, %v", tc.name, rate, err)
		}
		if _ = m.Close(); closed != tc.counters {
			t.Errorf("%s: %d of %d counters were closed", tc.name, closed, tc.counters)
		}
	}
}

func TestTrafficThatCannotBeCountedHasAReason(t *testing.T) {
	good := map[string]string{}
	imc(good, "uncore_imc_0", "24")
	with := func(file, text string) map[string]string {
		out := map[string]string{}
		imc(out, "uncore_imc_0", "24")
		out["uncore_imc_0/"+file] = text
		return out
	}
	for _, tc := range []struct {
		name    string
		files   map[string]string
		virtual string
		err     error
		want    string
	}{
		{"a virtual machine", nil, "kvm", nil, "a virtual machine (kvm) has no access"},
		{"no driver", nil, "", nil, "CONFIG_PERF_EVENTS_INTEL_UNCORE"},
		{"no permission", good, "", syscall.EACCES, "permission denied (perf_event_paranoid is unknown); to change that: sysctl"},
		{"another unit", with("events/cas_count_write.unit", "Joules"), "", nil, "not MiB"},
		{"an unknown encoding", with("events/cas_count_read", "event=0x1,thresh=2"), "", nil, "thresh is not known"},
		{"no list of CPUs", with("cpumask", "all"), "", nil, "not a list of CPUs"},
		{"other events", map[string]string{"uncore_imc_0/type": "24", "uncore_imc_0/cpumask": "0", "uncore_imc_0/events/clockticks": "event=0"}, "", nil, "names none of the events"},
	} {
		closed := 0
		m, err := OpenTraffic(Env{Root: controllers(t, tc.files), Virtual: tc.virtual, Perf: func(uint32, uint64, int) (PerfCounter, error) {
			return &recordedPerf{closed: &closed}, tc.err
		}})
		if m != nil || !errors.Is(err, ErrNoData) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

func TestGarbageOfMemoryControllersIsNoTraffic(t *testing.T) {
	m := &Traffic{bytes: []float64{64, 64}, names: []string{"a", "b"}}
	for _, tc := range []struct {
		from, to []uint64
		dt       time.Duration
		want     string
	}{
		{[]uint64{5, 5}, []uint64{5, 4}, time.Second, "counter b went backwards"},
		{[]uint64{5, 5}, []uint64{5, 1 << 60}, time.Second, "garbage"},
		{[]uint64{5, 5}, []uint64{5, 5}, time.Second, "counted nothing"},
		{[]uint64{5, 5}, []uint64{6, 6}, 0, "at once"},
	} {
		if rate, err := m.Rate(tc.from, tc.to, tc.dt); rate != 0 || err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v to %v: %v, %v", tc.from, tc.to, rate, err)
		}
	}
}

// sharedPerf is a counter whose register others have at times: the times of its readings, in turn.
type sharedPerf struct {
	times [][2]uint64 // enabled, ran
	n     int
	seen  shared
}

func (c *sharedPerf) Read() (uint64, error) {
	x := c.times[c.n]
	c.n++
	return uint64(c.n) << 20, c.seen.check(x[0], x[1])
}
func (c *sharedPerf) Close() error { return nil }

// A count of a part of the time is refused with the share, whatever the share was before the window began.
func TestACounterThatOthersHadMeanwhileIsRefused(t *testing.T) {
	const s = 1_000_000_000
	for _, tc := range []struct {
		name  string
		times [][2]uint64
		want  []string // of each reading; "" for a count
	}{
		{"alone", [][2]uint64{{0, 0}, {s, s}, {2 * s, 2 * s}}, []string{"", "", ""}},
		{"read twice at once", [][2]uint64{{s, s}, {s, s}}, []string{"", ""}},
		{"half of one window in a long run", [][2]uint64{{1000 * s, 1000 * s}, {1001 * s, 1000*s + s/2}, {1002 * s, 1001*s + s/2}}, []string{"", "counted for 50 % of the time", ""}},
		{"before the window alone", [][2]uint64{{10 * s, 5 * s}, {11 * s, 6 * s}}, []string{"for 50 %", ""}},
		{"never", [][2]uint64{{s, 0}, {2 * s, 0}}, []string{"for 0 %", "for 0 %"}},
		{"a hundredth is within what is allowed", [][2]uint64{{100 * s, 99 * s}}, []string{""}},
		{"times that go back", [][2]uint64{{2 * s, 2 * s}, {s, s}}, []string{"", "garbage"}},
		{"more than all of the time", [][2]uint64{{s, 2 * s}}, []string{"garbage"}},
	} {
		m := &Traffic{counters: []PerfCounter{&sharedPerf{times: tc.times}}, bytes: []float64{64}, names: []string{"imc"}}
		for i, want := range tc.want {
			counts, err := m.Read()
			if (want == "") != (err == nil) || want != "" && (counts != nil || !errors.Is(err, ErrNoData) || !strings.Contains(err.Error(), "reading imc: ") || !strings.Contains(err.Error(), want)) {
				t.Errorf("%s, reading %d: %v, %v, want %q", tc.name, i, counts, err, want)
			}
		}
	}
}
