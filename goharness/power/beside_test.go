package power

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// A counter beside the total that fails while a window goes on costs its own figure; one of the total costs the window.
func TestACounterBesideTheTotalThatFailsDuringTheRunCostsItsFigureAlone(t *testing.T) {
	for _, tc := range []struct{ zone, domain, why, err string }{
		{"intel-rapl:2", "psys", "vanished during the run", ""},
		{"intel-rapl:0:1", "package-0/core", "vanished during the run", ""},
		{"intel-rapl:1:0", "package-1/dram", "", "vanished during the run"},
		{"intel-rapl:1", "package-1", "", "vanished during the run"},
	} {
		root, now, gone := fixture(t, "intel-two-socket"), time.Duration(0), false
		read := func(name string) ([]byte, error) {
			if filepath.Base(name) != "energy_uj" {
				return os.ReadFile(name)
			}
			if gone && strings.HasSuffix(filepath.Dir(name), "/"+tc.zone) {
				return nil, fs.ErrNotExist
			}
			return fmt.Appendln(nil, 50*now.Truncate(time.Millisecond).Microseconds()), nil
		}
		m, err := Find(t.Context(), Builtin(), Env{Root: root, ReadFile: read}, cpu)
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(m.Domains(), func(d Domain) bool { return d.Name == tc.domain })
		if at < 0 {
			t.Fatalf("no domain %s in %+v", tc.domain, m.Domains())
		}
		o := NewObserver(m, Clock{Now: func() time.Duration { return now }, Sleep: func(_ context.Context, d time.Duration) error {
			now += d
			gone = gone || now > time.Second
			return nil
		}}, nil)
		ws, err := o.Measure(t.Context(), Plan{Windows: 3, Length: 500 * time.Millisecond}, func() float64 { return 0 })
		if tc.err != "" {
			if len(ws) > 1 || !errors.Is(err, ErrNoData) || !strings.Contains(fmt.Sprint(err), tc.err) {
				t.Errorf("%s: %d windows, %v", tc.domain, len(ws), err)
			}
			continue
		}
		if err != nil || len(ws) != 3 {
			t.Errorf("%s: %d windows, %v", tc.domain, len(ws), err)
			continue
		}
		got := Combine(ws)
		if math.Abs(got.MeanWatts()-200) > 0.5 || !math.IsNaN(got.Watts[at]) || !strings.Contains(o.LeftOut()[tc.domain], tc.why) || len(o.LeftOut()) != 1 {
			t.Errorf("%s: %v W, domains %v, left out %q", tc.domain, got.MeanWatts(), got.Watts, o.LeftOut())
		}
	}
}

// The same in the lists of powermetrics: one without the GPU, then one that has it again.
func TestAListWithoutACounterBesideTheTotalCostsItsFigureAlone(t *testing.T) {
	list := func(gpu string) string {
		return "<plist><dict><key>elapsed_ns</key><integer>100000000</integer><key>processor</key><dict><key>cpu_energy</key><integer>900</integer>" + gpu + "</dict></dict></plist>\x00"
	}
	const gpu = "<key>gpu_energy</key><integer>400</integer>"
	r, w := io.Pipe()
	m, err := Find(t.Context(), Builtin(), Env{Root: t.TempDir(), Powermetrics: func(context.Context) (io.ReadCloser, error) {
		go func() { _, _ = io.WriteString(w, list(gpu)) }()
		return r, nil
	}}, cpu)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for i, x := range []struct {
		list string
		gpu  uint64
	}{{list(gpu), 800}, {list(""), Missing}, {list(gpu), Missing}} {
		if _, err := io.WriteString(w, x.list); err != nil {
			t.Fatal(err)
		}
		want := []uint64{uint64(900 * (i + 2)), x.gpu}
		var got Reading
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) { // what was read is counted at once, by another goroutine
			if got, err = m.Read(t.Context()); err != nil || got.Counts[0] == want[0] {
				break
			}
		}
		if err != nil || !slices.Equal(got.Counts, want) || (got.Failed[1] != nil) != (x.gpu == Missing) {
			t.Errorf("list %d: %+v, %v, want %d", i, got, err, want)
		}
	}
}

// A stream that is cut off at any byte, for good or to go on with the next list: what was counted are whole lists, and then there is a reason.
func TestAStreamCutOffAtAnyByteCountsWholeListsAlone(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "power", "powermetrics-m1.plists"))
	if err != nil {
		t.Fatal(err)
	}
	stream := strings.ReplaceAll(string(text), "\n--NUL--\n", "\n\x00")
	first := strings.Index(stream, "</plist>") + len("</plist>")
	for cut := range len(stream) {
		for _, rest := range []string{"", stream[first:]} {
			m, err := Find(t.Context(), Builtin(), Env{Root: t.TempDir(), Powermetrics: func(context.Context) (io.ReadCloser, error) {
				return io.NopCloser(strings.NewReader(stream[:cut] + rest)), nil
			}}, cpu)
			if err != nil {
				if !errors.Is(err, ErrNoData) || rest == "" && cut >= first {
					t.Fatalf("cut at %d: %v", cut, err)
				}
				continue
			}
			if rest == "" && cut < first {
				t.Fatalf("cut at %d: half a list is a meter", cut)
			}
			for {
				r, err := m.Read(t.Context())
				if err != nil {
					if !errors.Is(err, ErrNoData) {
						t.Errorf("cut at %d: %v", cut, err)
					}
					break
				}
				if at := r.Counts[0]; at%250 != 0 || at > 250+1750+1750 {
					t.Fatalf("cut at %d: %d mJ, which no whole lists add up to", cut, at)
				}
				runtime.Gosched()
			}
		}
	}
}
