package power_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ridge/goharness/power"
	"ridge/goharness/power/powertest"
)

func rapl(name string) power.Domain {
	return power.Domain{Name: name, Unit: power.Joules, Scale: 61e-6, Range: 1 << 32, Interval: time.Millisecond, Jitter: 50 * time.Microsecond}
}

// Two packages that wrap within the window, dram, and a board's counter that is not added.
func TestAWindowAddsTheDomainsOfADeviceAcrossWraps(t *testing.T) {
	clock := &powertest.Clock{T: time.Hour}
	psys := rapl("psys")
	psys.Apart = true
	m := &powertest.Counter{Of: []power.Domain{rapl("package-0"), rapl("package-1"), rapl("dram"), psys}, Watts: []float64{120, 80, 20, 400},
		Start: []uint64{1<<32 - 1000, 1<<32 - 7, 5, 0}, Now: func() time.Duration { return clock.T }}
	o := power.NewObserver(m, clock.Power(), nil)
	ws, err := o.Measure(t.Context(), power.Plan{Windows: 3, Length: time.Second}, rand.New(rand.NewPCG(1, 2)).Float64)
	if err != nil {
		t.Fatal(err)
	}
	got := power.Combine(ws)
	if off := math.Abs(got.Joules - 220*got.Seconds); off > got.Uncertainty || got.Uncertainty > 0.002*got.Joules {
		t.Errorf("%.4f ± %.4f J in %.4f s, want %.4f", got.Joules, got.Uncertainty, got.Seconds, 220*got.Seconds)
	}
	if len(ws) != 3 || got.Seconds < 2.9 || math.Abs(got.Watts[3]-400) > 1 || math.Abs(got.MaxWatts-220) > 10 {
		t.Errorf("%+v", got)
	}
}

func TestNetEnergyStandsAboveTheMeanOfBothBaselines(t *testing.T) {
	clock := &powertest.Clock{}
	watts := 40.0
	m := &powertest.Counter{Of: []power.Domain{rapl("package-0")}, Draw: func(int, time.Duration) float64 { return watts }, Now: func() time.Duration { return clock.T }}
	o := power.NewObserver(m, clock.Power(), nil)
	var b power.Baseline
	var err error
	if b.Before, _, err = o.Idle(t.Context(), 2*time.Second); err != nil {
		t.Fatal(err)
	}
	watts = 100
	w, err := o.Window(t.Context(), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	watts = 44
	if b.After, _, err = o.Idle(t.Context(), 2*time.Second); err != nil {
		t.Fatal(err)
	}
	total := power.Combine([]power.Window{w})
	net, u := b.Net(total)
	if want := 58 * total.Seconds; math.Abs(net-want) > 0.2 || u < 2*total.Seconds || u > 2.3*total.Seconds {
		t.Errorf("net %.3f ± %.3f J, want %.3f ± 2", net, u, want)
	}
}

// What a meter may do wrong gives a reason and no number, and nothing waits for it.
func TestAMeterThatFailsGivesAReasonAndNoNumber(t *testing.T) {
	at := func(after time.Duration, err error) func(context.Context, time.Duration) error {
		return func(_ context.Context, now time.Duration) error {
			if now > after {
				return err
			}
			return nil
		}
	}
	const short, never = 30 * time.Millisecond, time.Hour // what never is waited for ends no starved process either
	for _, tc := range []struct {
		name        string
		stall, late time.Duration
		set         func(m *powertest.Counter)
		want        string
	}{
		{"a zone that vanishes", never, never, func(m *powertest.Counter) { m.Fail = at(600*time.Millisecond, errors.New("no such file")) }, "no such file"},
		{"a permission that is withdrawn", never, never, func(m *powertest.Counter) { m.Fail = at(0, errors.New("permission denied")) }, "permission denied"},
		{"a counter that stands still", never, never, func(m *powertest.Counter) {
			m.Draw = func(_ int, at time.Duration) float64 {
				if at > 500*time.Millisecond {
					return 0
				}
				return 50
			}
		}, "package-0 did not move for"},
		{"zeros", never, never, func(m *powertest.Counter) { m.Watts = []float64{0} }, "did not move"},
		{"garbage", never, never, func(m *powertest.Counter) { m.Watts = []float64{9e6} }, "reset or shows garbage"},
		{"far above the limit", never, never, func(m *powertest.Counter) { m.Watts, m.Info.LimitWatts = []float64{200}, 100 }, "far above the power limit"},
		{"an answer that heeds its context late", short, never, func(m *powertest.Counter) {
			m.Fail = func(ctx context.Context, _ time.Duration) error { <-ctx.Done(); return ctx.Err() }
		}, "did not answer within"},
		{"no answer at all", short, short, func(m *powertest.Counter) {
			m.Fail = func(context.Context, time.Duration) error { select {} }
		}, "stalled: no answer within"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			clock := &powertest.Clock{}
			m := &powertest.Counter{Of: []power.Domain{rapl("package-0")}, Watts: []float64{50}, Now: func() time.Duration { return clock.T }}
			tc.set(m)
			o := power.NewObserver(m, clock.Power(), nil)
			power.SetStall(o, tc.stall)
			power.SetLate(o, tc.late)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				ws, err := o.Measure(t.Context(), power.Plan{Windows: 1, Length: time.Second}, func() float64 { return 0 })
				if !errors.Is(err, power.ErrNoData) || !strings.Contains(fmt.Sprint(err), tc.want) || len(ws) != 0 {
					t.Errorf("%v, windows %v", err, ws)
				}
				o.Close()
			}()
			select {
			case <-ended:
			case <-time.After(time.Minute):
				t.Fatal("it does not end")
			}
		})
	}
}

// patiently tries with ever more patience: a process that is starved answers late too, and what hangs does with any.
func patiently(t *testing.T, try func(stall time.Duration) error) {
	t.Helper()
	for stall := 30 * time.Millisecond; ; stall *= 10 {
		err := try(stall)
		if err == nil {
			return
		}
		if stall > 10*time.Second {
			t.Error(err)
			return
		}
	}
}

// within bounds a hang.
func within(d time.Duration, what func() error) error {
	done := make(chan error, 1)
	go func() { done <- what() }()
	select {
	case err := <-done:
		return err
	case <-time.After(d):
		return errors.New("the windows never end")
	}
}

// traffic is a meter whose counters of DRAM traffic hang.
type traffic struct {
	*powertest.Counter
	begin, end func()
}

func (m traffic) BeginTraffic() error          { m.begin(); return nil }
func (m traffic) EndTraffic() (float64, error) { m.end(); return 0.5, nil }

func TestCountersOfTrafficThatHangCostTheMeterAndNotTheRun(t *testing.T) {
	hang, pass := func() { select {} }, func() {}
	for name, m := range map[string]traffic{"at the start": {begin: hang, end: pass}, "at the end": {begin: pass, end: hang}} {
		patiently(t, func(stall time.Duration) error {
			clock := &powertest.Clock{}
			m.Counter = &powertest.Counter{Of: []power.Domain{rapl("package-0")}, Watts: []float64{50}, Now: func() time.Duration { return clock.T }}
			o := power.NewObserver(m, clock.Power(), nil)
			power.SetStall(o, stall)
			return within(stall+time.Minute, func() error {
				ws, err := o.Measure(t.Context(), power.Plan{Windows: 1, Length: 100 * time.Millisecond}, func() float64 { return 0 })
				why := fmt.Sprint(err)
				if len(ws) > 0 {
					why += ws[0].NoDRAMShare
				}
				if !strings.Contains(why, "stalled") || o.Gone() == nil {
					return fmt.Errorf("%s: %s, gone %v", name, why, o.Gone())
				}
				return nil
			})
		})
	}
}

// hangs is a counter of a memory controller that answers so often and then no more.
type hangs struct{ answers int }

func (c *hangs) Read() (uint64, error) {
	if c.answers--; c.answers < 0 {
		select {}
	}
	return uint64(100 - c.answers), nil
}
func (c *hangs) Close() error { return nil }

func TestMemoryControllersThatHangCostTheirBytesAlone(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "sys/bus/event_source/devices/amd_umc_0")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{"type": "31", "cpumask": "0"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for answers, want := range map[int]string{0: "memory controllers stalled", 1: "memory controllers stalled", 2: ""} {
		patiently(t, func(stall time.Duration) error {
			clock := &powertest.Clock{}
			m := &powertest.Counter{Of: []power.Domain{rapl("package-0")}, Watts: []float64{50}, Now: func() time.Duration { return clock.T }}
			o := power.NewObserver(m, clock.Power(), nil)
			power.SetStall(o, stall)
			o.Controllers(power.OpenTraffic(power.Env{Root: root, Perf: func(uint32, uint64, int) (power.PerfCounter, error) { return &hangs{answers}, nil }}))
			err := within(stall+time.Minute, func() error {
				defer o.Close()
				ws, err := o.Measure(t.Context(), power.Plan{Windows: 1, Length: 100 * time.Millisecond}, noPhase)
				if err == nil && (!strings.Contains(ws[0].NoDRAMBytes, want) || (ws[0].DRAMBytes > 0) != (want == "")) {
					err = fmt.Errorf("%v bytes a second, %q", ws[0].DRAMBytes, ws[0].NoDRAMBytes)
				}
				return err
			})
			if err != nil {
				return fmt.Errorf("after %d answers: %w, want %q", answers, err, want)
			}
			return nil
		})
	}
}

// A sensor that fails in one of two windows says nothing of it: the mean is that of the other.
func TestTheMeanOfASensorIsThatOfTheWindowsThatHaveIt(t *testing.T) {
	w := power.Window{StartNS: 0, EndNS: 1e9, Joules: 100, Uncertainty: 1, PowerWatts: 101, PowerError: 2, Watts: []float64{100}}
	blind := w
	blind.PowerWatts, blind.PowerError = 0, 0
	if got := power.Combine([]power.Window{w, blind}); got.PowerWatts != 101 || got.PowerError != 2 || got.Disagrees() != "" {
		t.Errorf("%v ± %v W; %s", got.PowerWatts, got.PowerError, got.Disagrees())
	}
}

func TestACounterThatIsResetInAWindowIsRefused(t *testing.T) {
	clock := &powertest.Clock{}
	var points []powertest.Point
	for i := range 3000 { // 80 W, a reset to 0 after 700 ms
		n := uint64(i) * 1311
		if i > 700 {
			n = uint64(i-700) * 1311
		} else {
			n += 1 << 30
		}
		points = append(points, powertest.Point{At: time.Duration(i) * time.Millisecond, Counts: []uint64{n}})
	}
	for _, wraps := range []uint64{0, 1 << 32} {
		d := rapl("package-0")
		d.Range = wraps
		clock.T = 0
		o := power.NewObserver(&powertest.Recorded{Of: []power.Domain{d}, Points: points, Now: func() time.Duration { return clock.T }}, clock.Power(), nil)
		if w, err := o.Window(t.Context(), time.Second); !errors.Is(err, power.ErrNoData) || !strings.Contains(err.Error(), "reset") {
			t.Errorf("range %d: %+v, %v", wraps, w, err)
		}
	}
}

// A counter that stands still within a window and goes on before its end: whether it counted meanwhile, nothing tells.
func TestACounterThatStallsWithinAWindowIsRefused(t *testing.T) {
	for _, tc := range []struct {
		name    string
		stalls  time.Duration
		refused bool
	}{{"late by less than is waited for", 250 * time.Millisecond, false}, {"stalled", 600 * time.Millisecond, true}} {
		clock := &powertest.Clock{}
		m := &powertest.Counter{Of: []power.Domain{rapl("package-0")}, Now: func() time.Duration { return clock.T },
			Draw: func(_ int, at time.Duration) float64 {
				if at > 200*time.Millisecond && at < 200*time.Millisecond+tc.stalls {
					return 0
				}
				return 80
			}}
		w, err := power.NewObserver(m, clock.Power(), nil).Window(t.Context(), 2*time.Second)
		if refused := errors.Is(err, power.ErrNoData) && strings.Contains(err.Error(), "within a window: it stalled"); refused != tc.refused {
			t.Errorf("%s: %+v, %v", tc.name, w, err)
		}
	}
}

// A DRAM counter that moved before the load and stands still after it: a baseline without it would make the load's net energy too high.
func TestADRAMCounterThatStallsAfterTheLoadGivesNoBaseline(t *testing.T) {
	clock, dram := &powertest.Clock{}, 10.0
	m := &powertest.Counter{Of: []power.Domain{rapl("package-0"), rapl("package-0/dram")}, Now: func() time.Duration { return clock.T },
		Draw: func(domain int, _ time.Duration) float64 { return []float64{30, dram}[domain] }}
	o := power.NewObserver(m, clock.Power(), nil)
	if _, _, err := o.Idle(t.Context(), time.Second); err != nil {
		t.Fatal(err)
	}
	dram = 0
	w, out, err := o.Idle(t.Context(), time.Second)
	if !errors.Is(err, power.ErrNoData) || !strings.Contains(fmt.Sprint(err), "package-0/dram") || len(out) > 0 {
		t.Errorf("%v W, left out %v, %v", w.MeanWatts(), out, err)
	}
}

func TestADRAMCounterThatNeverMovesIsLeftOutByName(t *testing.T) {
	clock := &powertest.Clock{}
	m := &powertest.Counter{Of: []power.Domain{rapl("package-0"), rapl("package-0/dram")}, Watts: []float64{30, 0}, Now: func() time.Duration { return clock.T }}
	o := power.NewObserver(m, clock.Power(), nil)
	w, out, err := o.Idle(t.Context(), time.Second)
	if err != nil || math.Abs(w.MeanWatts()-30) > 0.1 || !strings.Contains(out["package-0/dram"], "never moved") {
		t.Errorf("%v W, left out %v, %v", w.MeanWatts(), out, err)
	}
}

// Counters whose updates are late and whose power is noise: the truth lies within the stated uncertainty, also where the reader loses
// its CPU for many updates, asleep or within a call.
func TestCountersStateTheirUncertainty(t *testing.T) {
	t.Run("idle host", func(t *testing.T) { countersState(t, 0, 0.005) })
	t.Run("busy host", func(t *testing.T) { countersState(t, 4*time.Millisecond, 0.01) })
}

func countersState(t *testing.T, lost time.Duration, wide float64) {
	const trials = 400
	inside, width, bias := 0, 0.0, 0.0
	r := rand.New(rand.NewPCG(3, 4))
	for range trials {
		clock := &powertest.Clock{T: time.Duration(r.Int64N(1e9))}
		s := powertest.NewSensor(r, nil, 5*time.Second, 0, 30, 150, 6, 4, 20, 70*time.Millisecond)
		// An update every millisecond, up to 50 µs early or late.
		late := func(k int64) time.Duration {
			return time.Duration(k)*time.Millisecond + time.Duration(int64(uint64(k)*2654435761%100_001))*time.Nanosecond - 50*time.Microsecond
		}
		at := func(x time.Duration) float64 { return s.True(0, x) }
		start := clock.T
		lose := func() {
			if lost > 0 && r.IntN(3) == 0 {
				clock.T += time.Duration(r.Int64N(int64(lost)))
			}
		}
		m := &shown{domain: rapl("package-0"), now: func() time.Duration { return clock.T - start }, value: func(x time.Duration) uint64 {
			k := int64((x + 50*time.Microsecond) / time.Millisecond)
			for late(k) > x {
				k--
			}
			return uint64(at(max(0, late(k)))/61e-6) + 1<<32 - 40000
		}, lose: lose}
		sleeps := clock.Power()
		sleep := sleeps.Sleep
		sleeps.Sleep = func(ctx context.Context, d time.Duration) error { lose(); return sleep(ctx, d) }
		// The counter's value is that of its update, whose moment varies; the observer does not know it.
		o := power.NewObserver(m, sleeps, nil)
		w, err := o.Window(t.Context(), 500*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		truth := at(time.Duration(w.EndNS)-start) - at(time.Duration(w.StartNS)-start)
		if math.Abs(w.Joules-truth) <= w.Uncertainty {
			inside++
		}
		width += w.Uncertainty / w.Joules / trials
		bias += (w.Joules - truth) / truth / trials
	}
	t.Logf("%.1f %% of %d trials inside ±%.3f %% on average, %+.3f %% off in all", 100*float64(inside)/trials, trials, 100*width, 100*bias)
	if inside < trials*95/100 || width > wide || math.Abs(bias) > width/3 {
		t.Errorf("%d of %d trials inside, ±%.2f %%, %+.3f %% off in all", inside, trials, 100*width, 100*bias)
	}
}

type shown struct {
	domain power.Domain
	now    func() time.Duration
	value  func(time.Duration) uint64
	lose   func() // the reader's CPU
}

func (m *shown) Name() string            { return "shown" }
func (m *shown) Domains() []power.Domain { return []power.Domain{m.domain} }
func (m *shown) Facts() power.Facts      { return power.Facts{} }
func (m *shown) Close() error            { return nil }
func (m *shown) Read(context.Context) (power.Reading, error) {
	if m.lose == nil {
		m.lose = func() {}
	}
	m.lose()
	defer m.lose()
	return power.Reading{Counts: []uint64{m.value(m.now()) % m.domain.Range}}, nil
}

// Trap 15: a sensor that shows the mean of the last second, taken from a quarter of the time. Loads of many
// kinds: the joules of the windows lie within their stated uncertainty.
func TestASensorOfAveragesStatesItsUncertainty(t *testing.T) {
	trials := 1000
	if testing.Short() {
		trials = 300
	}
	for _, plan := range []power.Plan{{Windows: 2, Length: 5 * time.Second}, {Windows: 2, Length: 2 * time.Second}} {
		inside, width := 0, 0.0
		r := rand.New(rand.NewPCG(5, 6))
		for range trials {
			clock := &powertest.Clock{}
			const from = 3 * time.Second
			idle, level := 70+60*r.Float64(), 250+450*r.Float64()
			s := powertest.NewSensor(r, func() time.Duration { return clock.T }, from+20*time.Second, from, idle, level,
				20*r.Float64(), 8*r.Float64()-4, 30*r.Float64(), time.Duration(3+r.IntN(400))*time.Millisecond)
			o := power.NewObserver(s, clock.Power(), nil)
			clock.T = from
			ws, err := o.Measure(t.Context(), plan, r.Float64)
			if err != nil {
				t.Fatal(err)
			}
			if clock.T > from+o.Needs(plan) {
				t.Fatalf("the windows took until %v, the load is asked for until %v", clock.T-from, o.Needs(plan))
			}
			got, truth := power.Combine(ws), drawn(s, ws)
			if math.Abs(got.Joules-truth) <= got.Uncertainty {
				inside++
			}
			width += got.Uncertainty / got.Joules / float64(trials)
		}
		t.Logf("%d windows of %v: %.1f %% of %d trials inside ±%.2f %% on average", plan.Windows, plan.Length, 100*float64(inside)/float64(trials), trials, 100*width)
		if inside < trials*95/100 {
			t.Errorf("%d windows of %v: %d of %d trials inside", plan.Windows, plan.Length, inside, trials)
		}
		if width > 0.12 {
			t.Errorf("%d windows of %v: ±%.1f %% says nothing", plan.Windows, plan.Length, 100*width)
		}
	}
}

func TestEnergyThatIsNotPowerTimesTimeIsSaid(t *testing.T) {
	for _, tc := range []struct {
		sensor float64
		want   bool
	}{{0, false}, {100, false}, {104, false}, {150, true}, {60, true}} {
		clock := &powertest.Clock{}
		m := &powertest.Counter{Of: []power.Domain{rapl("package-0")}, Watts: []float64{100}, Now: func() time.Duration { return clock.T },
			See: func(time.Duration) power.Sensors { return power.Sensors{PowerWatts: tc.sensor} }}
		o := power.NewObserver(m, clock.Power(), nil)
		w, err := o.Window(t.Context(), time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if got := power.Combine([]power.Window{w}).Disagrees(); (got != "") != tc.want {
			t.Errorf("sensor %v W, counter 100 W: %q", tc.sensor, got)
		}
	}
}
