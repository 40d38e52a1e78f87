package power

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"
)

// closes notes that it was closed.
type closes struct {
	Meter
	done chan struct{}
}

func (m closes) Close() error { close(m.done); return nil }

// A driver that hangs when it is asked costs the meter and not the run.
func TestAMeterThatHangsWhileItIsOpenedGivesAReason(t *testing.T) {
	release, late := make(chan struct{}), closes{done: make(chan struct{})}
	s := []Source{{Name: "hung", Platform: "cpu", Open: func(context.Context, Env, Device) (Meter, error) { <-release; return late, nil }}}
	if m, err := find(t.Context(), s, Env{}, cpu, 20*time.Millisecond); m != nil || !errors.Is(err, ErrNoData) || !strings.Contains(err.Error(), "hung: it did not answer within 20ms") {
		t.Errorf("%v, %v", m, err)
	}
	close(release)
	select {
	case <-late.done: // what came too late is not left open
	case <-time.After(time.Minute):
		t.Error("the late meter is still open")
	}
}

// What is shown beside the total may fail; a part of the total may not.
func TestAnEventOfTheTotalThatFailsCostsTheMeterAndAnotherDoesNot(t *testing.T) {
	var value uint64
	refuse := func(config uint64) PerfOpener {
		return func(_ uint32, c uint64, _ int) (PerfCounter, error) {
			if c == config {
				return nil, errors.New("no such event")
			}
			return fakeCounter{&value}, nil
		}
	}
	m, err := Find(t.Context(), Builtin(), Env{Root: fixture(t, "perf"), Perf: refuse(5)}, cpu)
	if err != nil || !strings.Contains(m.Facts().Notes["energy-psys"], "no such event") {
		t.Errorf("without psys: %v", err)
	}
	if m, err := Find(t.Context(), Builtin(), Env{Root: fixture(t, "perf"), Perf: refuse(3)}, cpu); m != nil || !errors.Is(err, ErrNoData) {
		t.Errorf("without the DRAM: %v, %v", m, err)
	}
	root := fixture(t, "perf")
	set(t, root, perfDir+"/events/energy-ram.scale", "none")
	if m, err := Find(t.Context(), Builtin(), Env{Root: root, Perf: refuse(99)}, cpu); m != nil || !errors.Is(err, ErrNoData) || !strings.Contains(err.Error(), "energy-ram") {
		t.Errorf("without the DRAM's scale: %v, %v", m, err)
	}
}

// A sum without one of the packages would be a wrong number.
func TestAPackageWhoseCounterFailsIsNotLeftOutOfTheTotal(t *testing.T) {
	root := fixture(t, "intel-two-socket")
	for zone, want := range map[string]string{"intel-rapl:1": "package-1", "intel-rapl:1:0": "package-1/dram", "intel-rapl:0:1": "", "intel-rapl:2": "", "intel-rapl-mmio:1": ""} {
		bad := func(p string) ([]byte, error) {
			if strings.HasSuffix(p, zone+"/energy_uj") {
				return nil, errors.New("input/output error")
			}
			return os.ReadFile(p)
		}
		m, err := Find(t.Context(), Builtin(), Env{Root: root, ReadFile: bad}, cpu)
		if want == "" {
			if err != nil || !strings.Contains(m.Facts().Notes[zone], "input/output error") {
				t.Errorf("%s: %v", zone, err)
			}
			continue
		}
		if m != nil || !errors.Is(err, ErrNoData) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "input/output error") {
			t.Errorf("%s: %v, %v", zone, m, err)
		}
	}
}

var cpu = Device{ID: "cpu", Platform: "cpu"}

func names(m Meter) (main, apart []string) {
	for _, d := range m.Domains() {
		if d.Apart {
			apart = append(apart, d.Name)
		} else {
			main = append(main, d.Name)
		}
	}
	return main, apart
}

func TestPowercapFindsEveryPackageOnceAndKeepsTheBoardApart(t *testing.T) {
	for _, tc := range []struct {
		fixture     string
		main, apart []string
		first       uint64
		wrap        uint64
	}{
		{"intel-two-socket", []string{"package-0", "package-1", "package-0/dram", "package-1/dram"}, []string{"psys", "package-0/core", "psys/dram"}, 262143000000, 262143328850},
		{"amd", []string{"package-0"}, []string{"package-0/core"}, 1234567, 65532610987},
		{"mmio-alone", []string{"package-0"}, nil, 77, 262143328850},
	} {
		m, err := Find(t.Context(), Builtin(), Env{Root: fixture(t, tc.fixture)}, cpu)
		if err != nil {
			t.Errorf("%s: %v", tc.fixture, err)
			continue
		}
		main, apart := names(m)
		if !reflect.DeepEqual(main, tc.main) || !reflect.DeepEqual(apart, tc.apart) {
			t.Errorf("%s: domains %q, apart %q", tc.fixture, main, apart)
		}
		r, err := m.Read(t.Context())
		if err != nil || r.Counts[0] != tc.first || m.Domains()[0].Range != tc.wrap || m.Domains()[0].Scale != 1e-6 {
			t.Errorf("%s: reading %+v, %v", tc.fixture, r, err)
		}
	}
}

func TestMissingMetersSayWhatWouldHelp(t *testing.T) {
	two := fixture(t, "intel-two-socket")
	closed := func(uint32, uint64, int) (PerfCounter, error) { return nil, errors.New("permission denied") }
	for _, tc := range []struct {
		name string
		env  Env
		want []string
	}{
		{"counters that only root may read", Env{Root: two, ReadFile: denied("energy_uj")}, []string{"energy_uj is not readable by this user", "chmod a+r /sys/class/powercap/*/energy_uj"}},
		{"one package of two unreadable", Env{Root: two, ReadFile: denied("intel-rapl:1/energy_uj")}, []string{"intel-rapl:1/energy_uj is not readable"}},
		{"events that are closed", Env{Root: fixture(t, "perf"), Perf: closed}, []string{"no RAPL zone", "modprobe intel_rapl_msr", "perf_event_paranoid is 2", "kernel.perf_event_paranoid=0"}},
		{"a virtual machine", Env{Root: t.TempDir(), Virtual: "KVM"}, []string{"a virtual machine (KVM) has no access to the host's counters", "measure on the host"}},
	} {
		m, err := Find(t.Context(), Builtin(), tc.env, cpu)
		if m != nil || !errors.Is(err, ErrNoData) {
			t.Errorf("%s: %v, %v", tc.name, m, err)
			continue
		}
		for _, w := range tc.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %q lacks %q", tc.name, err, w)
			}
		}
		if strings.Contains(err.Error(), os.TempDir()) {
			t.Errorf("%s: %q names the fixture's place", tc.name, err)
		}
	}
	if _, err := Find(t.Context(), Builtin(), Env{}, Device{ID: "cuda:0", Platform: "cuda"}); err == nil || !strings.Contains(err.Error(), "no energy meter for devices of platform cuda") {
		t.Errorf("a platform without a meter: %v", err)
	}
}

// What files may hold while a run goes on: each gives a reason that tells what happened, and no number.
func TestFilesThatFailDuringTheRunGiveAReason(t *testing.T) {
	for _, tc := range []struct {
		fixture, file string
		d             Device
	}{
		{"amd", powercapDir + "/intel-rapl:0/energy_uj", cpu},
		{"amdgpu", "/sys/class/hwmon/hwmon10/energy1_input", Device{ID: "hip:1", Platform: "hip", PCI: "0000:83:00.0"}},
	} {
		for text, want := range map[string]string{
			"":                                "vanished during the run",
			"-5":                              `reading the XX failed during the run: FILE holds "-5", not a count`,
			"NaN":                             `holds "NaN", not a count`,
			"1e9":                             `holds "1e9", not a count`,
			"\x00\xff":                        "not a count",
			"99999999999999999999999":         "not a count",
			strings.Repeat("123456789", 5000): "1234…\", not a count",
			strings.Repeat("1", 4<<20):        "FILE: it holds more than 65536 bytes",
		} {
			root := fixture(t, tc.fixture)
			m, err := Find(t.Context(), Builtin(), Env{Root: root}, tc.d)
			if err != nil {
				t.Fatal(err)
			}
			if text == "" {
				err = os.Remove(filepath.Join(root, tc.file))
			} else {
				err = os.WriteFile(filepath.Join(root, tc.file), []byte(text), 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
			_, err = m.Read(t.Context())
			what := map[bool]string{true: "counter", false: "sensor"}[tc.d == cpu]
			want := strings.NewReplacer("XX", what, "FILE", tc.file).Replace(want)
			if !errors.Is(err, ErrNoData) || !strings.Contains(fmt.Sprint(err), want) || text != "" && strings.Contains(err.Error(), "vanished") || len(err.Error()) > 300 {
				t.Errorf("%s with %q: %v, want %q", tc.fixture, clip(text), err, want)
			}
		}
	}
}

// A pipe in the place of a counter would be waited for, a device that never ends would fill the memory.
func TestWhatIsNotAFileIsNotRead(t *testing.T) {
	for name, put := range map[string]func(file string) error{
		"a pipe":       func(file string) error { return syscall.Mkfifo(file, 0o600) },
		"a device":     func(file string) error { return os.Symlink("/dev/zero", file) },
		"a directory":  func(file string) error { return os.Mkdir(file, 0o700) },
		"a broken one": func(file string) error { return os.Symlink("nowhere", file) },
	} {
		root := fixture(t, "amd")
		file := filepath.Join(root, powercapDir, "intel-rapl:0/energy_uj")
		m, err := Find(t.Context(), Builtin(), Env{Root: root}, cpu)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Remove(file), put(file)); err != nil {
			t.Skipf("%s: %v", name, err)
		}
		done := make(chan error, 2)
		go func() {
			_, err := m.Read(t.Context())
			done <- err
			_, err = Find(t.Context(), Builtin(), Env{Root: root}, cpu)
			done <- err
		}()
		for range 2 {
			select {
			case err := <-done:
				if !errors.Is(err, ErrNoData) || len(err.Error()) > 500 || name != "a broken one" && !strings.Contains(err.Error(), "energy_uj: it is not a file") {
					t.Errorf("%s: %v", name, err)
				}
			case <-time.After(time.Minute):
				t.Fatalf("%s: the reading does not end", name)
			}
		}
	}
}

// Memory without the processor, or one zone nobody can name, is not the energy of a CPU.
func TestATotalWithoutItsPackagesIsNone(t *testing.T) {
	root := fixture(t, "perf")
	if err := os.Remove(filepath.Join(root, perfDir, "events/energy-pkg")); err != nil {
		t.Fatal(err)
	}
	var value uint64
	open := func(uint32, uint64, int) (PerfCounter, error) { return fakeCounter{&value}, nil }
	if m, err := Find(t.Context(), Builtin(), Env{Root: root, Perf: open}, cpu); m != nil || !errors.Is(err, ErrNoData) || !strings.Contains(err.Error(), "no event energy-pkg") {
		t.Errorf("events of the DRAM alone: %v", err)
	}
	root = fixture(t, "intel-two-socket")
	if err := os.Remove(filepath.Join(root, powercapDir, "intel-rapl:1/name")); err != nil {
		t.Fatal(err)
	}
	if m, err := Find(t.Context(), Builtin(), Env{Root: root}, cpu); m != nil || !errors.Is(err, ErrNoData) || !strings.Contains(err.Error(), "the zone intel-rapl:1: ") {
		t.Errorf("a zone without a name: %v", err)
	}
	only := "<plist><dict><key>elapsed_ns</key><integer>100000000</integer><key>processor</key><dict><key>dram_energy</key><integer>100</integer></dict></dict></plist>"
	env := Env{Root: t.TempDir(), Powermetrics: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(only)), nil }}
	if m, err := Find(t.Context(), Builtin(), env, cpu); m != nil || !errors.Is(err, ErrNoData) || !strings.Contains(err.Error(), "names no energy of the cpu") {
		t.Errorf("a list of the DRAM alone: %v", err)
	}
	// What is not in the total may be closed.
	two := fixture(t, "intel-two-socket")
	for _, zone := range []string{"intel-rapl:0:1/energy_uj", "intel-rapl:2/energy_uj"} {
		if m, err := Find(t.Context(), Builtin(), Env{Root: two, ReadFile: denied(zone)}, cpu); err != nil || len(m.Facts().Notes) == 0 {
			t.Errorf("%s closed: %v", zone, err)
		}
	}
}

// Of two packages of one name one would be missing in the total, or one counted twice. Two boards of one name are in no total.
func TestTwoPackagesOfOneNameGiveNoTotal(t *testing.T) {
	for name, want := range map[string]string{"package-0": "two zones of intel-rapl are called package-0", "psys": ""} {
		root := fixture(t, "intel-two-socket")
		for file, value := range map[string]string{"name": name, "energy_uj": "5", "max_energy_range_uj": "262143328850"} {
			set(t, root, powercapDir+"/intel-rapl:3/"+file, value)
		}
		m, err := Find(t.Context(), Builtin(), Env{Root: root}, cpu)
		if want == "" && err != nil || want != "" && (m != nil || !errors.Is(err, ErrNoData) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
}

// A stream that stops in the middle of a list: while it is open the counter stands still, at its end the meter is gone.
func TestAStreamThatStopsWithinAListGivesNoEnergy(t *testing.T) {
	const list = "<plist><dict><key>elapsed_ns</key><integer>100000000</integer><key>processor</key><dict><key>cpu_energy</key><integer>900</integer></dict></dict></plist>"
	for _, tc := range []struct {
		ends bool
		want string
	}{{false, "cpu did not move for"}, {true, "ended during the run"}} {
		r, w := io.Pipe()
		go func() {
			_, _ = io.WriteString(w, list+"\x00"+list[:90])
			if tc.ends {
				_ = w.Close()
			}
		}()
		m, err := Find(t.Context(), Builtin(), Env{Root: t.TempDir(), Powermetrics: func(context.Context) (io.ReadCloser, error) { return r, nil }}, cpu)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		o := NewObserver(m, Clock{Now: func() time.Duration { return time.Since(began) + time.Second }, Sleep: Sleep}, nil)
		if ws, err := o.Measure(t.Context(), Plan{Windows: 1, Length: 100 * time.Millisecond}, func() float64 { return 0 }); len(ws) > 0 || !errors.Is(err, ErrNoData) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%d windows, %v, want %q", len(ws), err, tc.want)
		}
		o.Close()
	}
}

type fakeCounter struct{ value *uint64 }

func (c fakeCounter) Read() (uint64, error) { return *c.value, nil }
func (c fakeCounter) Close() error          { *c.value = 0; return nil }

func TestPerfEventsAreOpenedAsTheSystemDescribesThem(t *testing.T) {
	var opened []string
	var values [8]uint64
	perf := func(pmu uint32, config uint64, cpu int) (PerfCounter, error) {
		opened = append(opened, fmt.Sprintf("%d/%#x@%d", pmu, config, cpu))
		values[len(opened)-1] = uint64(len(opened)) << 32
		return fakeCounter{&values[len(opened)-1]}, nil
	}
	m, err := Find(t.Context(), Builtin(), Env{Root: fixture(t, "perf"), Perf: perf}, cpu)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"22/0x2@0", "22/0x2@16", "22/0x3@0", "22/0x3@16", "22/0x5@0", "22/0x5@16"}; !reflect.DeepEqual(opened, want) {
		t.Errorf("opened %q, want %q", opened, want)
	}
	main, apart := names(m)
	if !reflect.DeepEqual(main, []string{"package-0", "package-1", "dram-0", "dram-1"}) || !reflect.DeepEqual(apart, []string{"psys-0", "psys-1"}) {
		t.Errorf("domains %q, apart %q", main, apart)
	}
	r, err := m.Read(t.Context())
	if j := float64(r.Counts[2]) * m.Domains()[2].Scale; err != nil || j != 3 {
		t.Errorf("3·2³² counts of 2⁻³² J read as %v J, %v", j, err)
	}
	if why := m.Facts().Notes["energy-odd"]; !strings.Contains(why, "mystery") {
		t.Errorf("an event of an unknown form: %q", why)
	}
	if err := m.Close(); err != nil || values[0] != 0 {
		t.Error("the counters are still open")
	}
}

func TestAMDGPUsAreFoundByTheirAddress(t *testing.T) {
	env := Env{Root: fixture(t, "amdgpu")}
	for _, tc := range []struct {
		d     Device
		name  string
		unit  Unit
		value float64
	}{
		{Device{ID: "hip:0", Platform: "hip", PCI: "0000:43:00.0"}, "amdgpu-hwmon power1_average", Watts, 231},
		{Device{ID: "hip:1", Platform: "hip", PCI: "0000:83:00.0"}, "amdgpu-hwmon energy1_input", Joules, 9000},
	} {
		m, err := Find(t.Context(), Builtin(), env, tc.d)
		if err != nil {
			t.Errorf("%+v: %v", tc.d, err)
			continue
		}
		r, err := m.Read(t.Context())
		d := m.Domains()[0]
		if v := float64(r.Counts[0]) * d.Scale; err != nil || m.Name() != tc.name || d.Unit != tc.unit || v != tc.value {
			t.Errorf("%+v: %s shows %v %s, %v", tc.d, m.Name(), v, d.Unit, err)
		}
		if tc.unit == Watts && (r.ClockMHz != 2100 || r.TemperatureC != 61 || m.Facts().LimitWatts != 300) {
			t.Errorf("sensors %+v, limit %v", r.Sensors, m.Facts().LimitWatts)
		}
	}
	if _, err := Find(t.Context(), Builtin(), env, Device{ID: "hip:7", Platform: "hip", PCI: "0000:ff:00.0"}); err == nil || !strings.Contains(err.Error(), "none of 2 amdgpu devices is hip:7") {
		t.Errorf("an address that is not there: %v", err)
	}
	// The numbers of hwmon are not those of the platform: a guess would meter another GPU.
	if _, err := Find(t.Context(), Builtin(), env, Device{ID: "hip:0", Platform: "hip"}); !errors.Is(err, ErrNoData) || !strings.Contains(err.Error(), "2 amdgpu devices and the bus address of hip:0 is not known") {
		t.Errorf("two devices without an address: %v", err)
	}
	one := Env{Root: fixture(t, "amdgpu")}
	if err := os.RemoveAll(filepath.Join(one.Root, "sys/class/hwmon/hwmon10")); err != nil {
		t.Fatal(err)
	}
	if m, err := Find(t.Context(), Builtin(), one, Device{ID: "hip:0", Platform: "hip"}); err != nil || m.Name() != "amdgpu-hwmon power1_average" {
		t.Errorf("the only device: %v", err)
	}
}

func TestPropertyListsOfPowermetricsBecomeCounters(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "power", "powermetrics-m1.plists"))
	if err != nil {
		t.Fatal(err)
	}
	stream := strings.ReplaceAll(string(text), "\n--NUL--\n", "\n\x00")
	for _, tc := range []struct {
		d      Device
		main   []string
		joules []float64
	}{
		{cpu, []string{"cpu"}, []float64{0.25 + 1.75, 0.02 + 0.04, 0}},
		{Device{ID: "metal:0", Platform: "metal"}, []string{"gpu"}, []float64{0.02 + 0.04, 0.25 + 1.75}},
	} {
		r, w := io.Pipe()
		env := Env{Root: t.TempDir(), Powermetrics: func(context.Context) (io.ReadCloser, error) { return r, nil }}
		go func() { _, _ = io.WriteString(w, stream) }()
		m, err := Find(t.Context(), Builtin(), env, tc.d)
		if err != nil {
			t.Fatal(err)
		}
		if main, _ := names(m); !reflect.DeepEqual(main, tc.main) {
			t.Errorf("domains %q", main)
		}
		reach := func(done func(Reading, error) bool) (Reading, error) {
			for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
				if r, err := m.Read(t.Context()); done(r, err) || time.Now().After(end) {
					return r, err
				}
			}
		}
		last := uint64(tc.joules[0]*1e3 + 0.5)
		got, err := reach(func(r Reading, err error) bool { return err != nil || r.Counts[0] >= last })
		for i, j := range tc.joules {
			if err != nil || float64(got.Counts[i])/1e3 != j {
				t.Errorf("%s: %v mJ of %s, want %v J (%v)", tc.d.ID, got.Counts, m.Domains()[i].Name, j, err)
			}
		}
		_ = w.Close()
		if _, err := reach(func(_ Reading, err error) bool { return err != nil }); !errors.Is(err, ErrNoData) || !strings.Contains(err.Error(), "ended during the run") {
			t.Errorf("the end of the stream: %v", err)
		}
	}
	// Macs with Intel chips count the package too, which holds the cores and the memory.
	whole := "<plist><dict><key>elapsed_ns</key><integer>100000000</integer><key>processor</key><dict><key>cpu_energy</key><integer>900</integer><key>dram_energy</key><integer>100</integer><key>package_joules</key><real>1.5</real></dict></dict></plist>"
	m, err := Find(t.Context(), Builtin(), Env{Root: t.TempDir(), Powermetrics: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(whole)), nil }}, cpu)
	if err != nil {
		t.Fatal(err)
	}
	if main, apart := names(m); !reflect.DeepEqual(main, []string{"package"}) || !reflect.DeepEqual(apart, []string{"cpu", "dram"}) {
		t.Errorf("with a package: domains %q, apart %q", main, apart)
	}
	for name, bad := range map[string]string{
		"nothing": "", "no list": "hello\n", "torn": "<plist><dict><key>a", "not a dictionary": "<plist><array></array></plist>",
		"no energy": "<plist><dict><key>elapsed_ns</key><integer>1</integer></dict></plist>",
	} {
		env := Env{Root: t.TempDir(), Powermetrics: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(bad)), nil }}
		if m, err := Find(t.Context(), Builtin(), env, cpu); m != nil || !errors.Is(err, ErrNoData) {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
}

func TestTheClockOfAppleGPUsIsInEitherUnit(t *testing.T) {
	for _, tc := range []struct {
		hz   string
		want float64
	}{{"4.5e+08", 450}, {"1398.22", 1398.22}, {"338", 338}, {"0", 0}} {
		list := "<plist><dict><key>elapsed_ns</key><integer>100000000</integer><key>processor</key><dict><key>gpu_energy</key><integer>20</integer></dict><key>gpu</key><dict><key>freq_hz</key><real>" + tc.hz + "</real></dict></dict></plist>"
		r, w := io.Pipe()
		go func() { _, _ = io.WriteString(w, list) }() // and stays open
		m, err := Find(t.Context(), Builtin(), Env{Root: t.TempDir(), Powermetrics: func(context.Context) (io.ReadCloser, error) { return r, nil }}, Device{ID: "metal:0", Platform: "metal"})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := m.Read(t.Context()); err != nil || got.ClockMHz != tc.want {
			t.Errorf("freq_hz %s: %v MHz, want %v (%v)", tc.hz, got.ClockMHz, tc.want, err)
		}
		_ = m.Close()
	}
}
