package power_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"ridge/goharness/power"
	"ridge/goharness/power/powertest"
)

const traceHead = "time_s,power_watts,clock_mhz,temperature_c,throttled,phase,case,kernel\n"

// traceOf is the trace of a window of 0.3 s at 100 W, in which the sensors show see.
func traceOf(t *testing.T, see power.Sensors) string {
	t.Helper()
	clock := &powertest.Clock{T: 10 * time.Second}
	var out strings.Builder
	d := []power.Domain{rapl("package-0")}
	tr := power.NewTrace(&out, d, clock.T)
	m := &powertest.Counter{Of: d, Watts: []float64{100}, Now: func() time.Duration { return clock.T }, See: func(time.Duration) power.Sensors { return see }}
	o := power.NewObserver(m, clock.Power(), tr.Add)
	tr.Running("sustain", "cpu/gemm/fp32/m=1,n=1,k=1/threads=1/hot", "gemm_fp32")
	if _, err := o.Window(t.Context(), 300*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if err := tr.Flush(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestATraceHasARowForEachReadingThatTellsSomething(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(traceOf(t, power.Sensors{ClockMHz: 3500, TemperatureC: 51})), "\n")
	if lines[0] != strings.TrimSpace(traceHead) || len(lines) < 4 || len(lines) > 31 {
		t.Fatalf("%d rows, %q", len(lines), lines[0])
	}
	if !strings.Contains(lines[2], `,3500,51,,sustain,"cpu/gemm/fp32/m=1,n=1,k=1/threads=1/hot",gemm_fp32`) {
		t.Errorf("row %q", lines[2])
	}
}

func TestATraceIsReadAsItWasWritten(t *testing.T) {
	text := traceOf(t, power.Sensors{ClockMHz: 3500, TemperatureC: 51, Throttled: "power cap, thermal"})
	if !power.IsTrace([]byte(text)) || power.IsTrace([]byte(`{"schema"`)) || power.IsTrace([]byte("time_s,power")) {
		t.Error("the beginning does not tell what a trace is")
	}
	rows, err := power.ReadTrace(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	r := rows[len(rows)/2]
	if n := strings.Count(text, "\n") - 1; len(rows) != n || !r.HasWatts || r.Watts < 90 || r.Watts > 110 || r.At <= 0 || r.At > time.Second ||
		r.ClockMHz != 3500 || r.TemperatureC != 51 || r.Throttled != "power cap, thermal" || r.Phase != "sustain" || r.Case != "cpu/gemm/fp32/m=1,n=1,k=1/threads=1/hot" || r.Kernel != "gemm_fp32" {
		t.Errorf("%d rows of %d, %+v", len(rows), n, r)
	}
}

func TestATraceThatIsDamagedIsRefusedWithItsPlace(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"nothing":          {"", "line 1: expected the columns time_s"},
		"another table":    {"a,b,c\n1,2,3\n", "line 1: expected the columns time_s"},
		"no rows":          {traceHead, "no readings"},
		"a missing cell":   {traceHead + "0.1,5,,,,idle,\n", "line 2"},
		"not a number":     {traceHead + "0.1,5,,,,idle,,\n0.2,much,,,,idle,,\n", `line 3: power_watts: got "much"`},
		"NaN":              {traceHead + "0.1,NaN,,,,idle,,\n", "line 2: power_watts"},
		"infinite":         {traceHead + "0.1,1,+Inf,,,idle,,\n", "line 2: clock_mhz"},
		"no time":          {traceHead + ",1,,,,idle,,\n", "line 2: time_s"},
		"time goes back":   {traceHead + "0.2,1,,,,idle,,\n0.1,1,,,,idle,,\n", "line 3: time_s: 0.1 is before"},
		"an open quote":    {traceHead + "0.1,5,,,,\"idle,,\n", "line"},
		"a long bad cell":  {traceHead + strings.Repeat("9", 5000) + ",5,,,,idle,,\n", "line 2: time_s"},
		"bytes of no text": {traceHead + "0.1,\xff\x00,,,,idle,,\n", "line 2: power_watts"},
	} {
		rows, err := power.ReadTrace(strings.NewReader(tc.text))
		if err == nil || rows != nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") || len(err.Error()) > 300 {
			t.Errorf("%s: %d rows, %v", name, len(rows), err)
		}
	}
}

// endless is a trace that never ends.
type endless struct {
	head, line string
	at         int // of the line
}

func (e *endless) Read(p []byte) (int, error) {
	if e.head != "" {
		n := copy(p, e.head)
		e.head = e.head[n:]
		return n, nil
	}
	n := 0
	for n < len(p) {
		c := copy(p[n:], e.line[e.at:])
		n, e.at = n+c, (e.at+c)%len(e.line)
	}
	return n, nil
}

func TestATraceIsReadToALimit(t *testing.T) {
	if testing.Short() {
		t.Skip("it reads hundreds of MB")
	}
	for name, e := range map[string]*endless{"rows": {head: traceHead, line: "1,1,,,,,,\n"}, "one line": {head: traceHead + "1,1,,,,\"", line: "idle "}} {
		if _, err := power.ReadTrace(e); err == nil || !strings.Contains(err.Error(), "than") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A board's counter that moves every 100 ms, read every 5 ms as at the edges of windows: no row shows what is between two updates.
func TestATraceOfASlowCounterShowsItsPowerAndNotItsSteps(t *testing.T) {
	slow := power.Domain{Name: "board", Unit: power.Joules, Scale: 1e-3, Interval: 100 * time.Millisecond}
	var out strings.Builder
	never := rapl("dram") // as on many desktops
	tr := power.NewTrace(&out, []power.Domain{slow, never}, 0)
	stands := func(ms int) int { return min(ms, 6000) / 100 * 100 } // from 6 s to 8 s it stands still
	for ms := 0; ms <= 10_000; ms += 5 {
		at := stands(ms)
		if ms > 8000 {
			at = ms / 100 * 100
		}
		tr.Add(power.Reading{AtNS: int64(ms) * 1e6, Counts: []uint64{uint64(700 * at), 5}})
	}
	if err := tr.Flush(); err != nil {
		t.Fatal(err)
	}
	rows, err := power.ReadTrace(strings.NewReader(out.String()))
	if err != nil || len(rows) < 15 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	joules, since, blank := 0.0, time.Duration(0), 0
	for _, r := range rows {
		if !r.HasWatts {
			blank++
			continue
		}
		if r.Watts < 550 || r.Watts > 850 {
			t.Errorf("%v: %v W", r.At, r.Watts)
		}
		joules += r.Watts * (r.At - since).Seconds()
		since = r.At
	}
	if blank < 2 || math.Abs(joules-700*since.Seconds()) > 70 {
		t.Errorf("%d rows without watts, %v J until %v", blank, joules, since)
	}
}
