//go:build cgo && linux

package team_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ridge/native/internal/teamkernel"
	"ridge/native/team"
)

func start(t *testing.T, n int) *team.Team {
	t.Helper()
	tm, err := team.New(n, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tm.Close)
	return tm
}

// ordered is a list of sets of one logging step each; set s logs s.
func ordered(t *testing.T, sets int) (teamkernel.Order, *team.List) {
	t.Helper()
	o := teamkernel.NewOrder(1 << 12)
	var steps [][]team.Step
	for s := range sets {
		steps = append(steps, []team.Step{{Fn: o.Fn(), Args: o.Step(s)}})
	}
	l := team.NewList(steps)
	t.Cleanup(l.Free)
	return o, l
}

func TestSetsTakeTurnsOverSamplesAndCalls(t *testing.T) {
	for _, threads := range []int{1, 3} {
		tm := start(t, threads)
		o, l := ordered(t, 5)
		want, before := 0, 0
		for _, c := range []struct{ launches, samples int }{{1, 3}, {1, 4}, {3, 2}, {7, 1}, {1, 1}} {
			got, err := tm.Measure(context.Background(), l, c.launches, c.samples)
			if err != nil {
				t.Fatal(err)
			}
			want += c.launches * c.samples
			if c.launches > 1 {
				want += c.launches // untimed
			}
			said := 0
			for _, x := range got {
				said += x.Launches + x.Untimed
			}
			if ran := len(o.Log()); said+before != ran {
				t.Errorf("%d launches of %d: the samples tell of %d, %d ran", c.launches, c.samples, said, ran-before)
			}
			before = len(o.Log())
		}
		log := o.Log()
		if len(log) != want {
			t.Fatalf("%d threads: %d launches, want %d", threads, len(log), want)
		}
		for i, s := range log {
			if s != i%5 {
				t.Fatalf("%d threads: launch %d ran set %d, want %d: %v", threads, i, s, i%5, log)
			}
		}
	}
}

func TestUntimedRunsStayOnTheFirstSet(t *testing.T) {
	tm := start(t, 2)
	o, l := ordered(t, 3)
	if err := tm.Run(l.First(), 4); err != nil {
		t.Fatal(err)
	}
	if log := o.Log(); !slices.Equal(log, []int{0, 0, 0, 0}) {
		t.Errorf("sets %v", log)
	}
}

func TestSamplesLastAsLongAsTheirLaunches(t *testing.T) {
	// Dispatch and barrier take 0.1 to 3 µs a launch on two CPUs, waking a thread 20 to 100. An emulator or a sanitizer
	// (-short) has its own costs between the clock and the barrier.
	limit := 6_000.0
	if testing.Short() {
		limit = 100_000
	}
	for _, c := range []struct {
		name          string
		threads, only int
		ns            int64
		launches      int
	}{
		{"one thread", 1, -1, 20_000, 20},
		{"two threads", 2, -1, 20_000, 20},
		// The others have gone to sleep when thread 0 arrives: their wake-up is not in the sample.
		{"the leader alone works", 2, 0, 1_000_000, 1},
		{"the leader waits", 2, 1, 1_000_000, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.threads > runtime.NumCPU() {
				t.Skip("fewer CPUs than threads")
			}
			tm, err := team.New(c.threads, []int{0, 1}[:c.threads])
			if err != nil {
				t.Fatal(err)
			}
			defer tm.Close()
			spin := teamkernel.NewSpin(c.ns, c.only)
			defer spin.Free()
			l := team.NewList([][]team.Step{{{Fn: spin.Fn(), Args: spin.Args()}}})
			defer l.Free()
			best := 0.0
			for end := time.Now().Add(time.Minute); time.Now().Before(end); { // neighbours only ever lengthen a sample: one quiet one is enough
				s, err := tm.Measure(context.Background(), l, c.launches, 15)
				if err != nil {
					t.Fatal(err)
				}
				for _, x := range s {
					if best == 0 || x.NS() < best {
						best = x.NS()
					}
				}
				if best < float64(c.ns)+limit {
					break
				}
			}
			if over := best - float64(c.ns); over < 0 || over > limit {
				t.Errorf("the fastest launch of %d ns was measured as %.0f ns", c.ns, best)
			}
		})
	}
}

func TestAnEndedContextStopsBetweenSamples(t *testing.T) {
	tm := start(t, 2)
	spin := teamkernel.NewSpin(2_000_000, -1)
	defer spin.Free()
	l := team.NewList([][]team.Step{{{Fn: spin.Fn(), Args: spin.Args()}}})
	defer l.Free()
	var ctx context.Context
	for within := 50 * time.Millisecond; ; within *= 10 { // of samples of 2 ms; a busy machine may not finish one in the first
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.Background(), within)
		defer cancel()
		s, err := tm.Measure(ctx, l, 1, 100_000)
		if !errors.Is(err, context.DeadlineExceeded) || len(s) == 100_000 {
			t.Fatalf("%d samples, error %v", len(s), err)
		}
		if len(s) > 0 {
			break
		}
		if within > 10*time.Second {
			t.Fatalf("no sample within %v", within)
		}
	}
	if _, err := tm.Measure(ctx, l, 1, 1); err == nil {
		t.Error("an ended context measured")
	}
	if err := tm.Run(l, 1); err != nil {
		t.Errorf("the team is of no use after it was stopped: %v", err)
	}
}

func TestAThreadThatLostItsCPUIsSeen(t *testing.T) {
	cpus := []int{0, 0, 0} // three threads share a CPU: they take turns
	tm, err := team.New(len(cpus), cpus)
	if err != nil {
		t.Fatal(err)
	}
	defer tm.Close()
	if tm.CPUs()[0] != 0 {
		t.Skip("threads cannot be pinned here")
	}
	spin := teamkernel.NewSpin(30_000_000, -1)
	defer spin.Free()
	l := team.NewList([][]team.Step{{{Fn: spin.Fn(), Args: spin.Args()}}})
	defer l.Free()
	s, err := tm.Measure(context.Background(), l, 1, 3)
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range s {
		if x.Switches == 0 || x.RunDelayNS == 0 {
			t.Errorf("sample %d: %d switches, %d ns of waiting, with three threads on one CPU", i, x.Switches, x.RunDelayNS)
		}
	}
}

// A step of one thread alone and one of the team never overlap; two of one thread follow each other without a meeting.
func TestStepsOfOneThreadAloneKeepTheirPlace(t *testing.T) {
	for _, threads := range []int{1, 2, 5} {
		tm := start(t, threads)
		r := teamkernel.NewRelay(threads)
		defer r.Free()
		all := team.Step{Fn: r.Copy(), Args: r.Args()}
		change := team.Step{Fn: r.Change(), Args: r.Args(), Alone: true}
		recopy := team.Step{Fn: r.Recopy(), Args: r.Args(), Alone: true}
		for _, sets := range [][][]team.Step{
			{{all, change}}, {{change, recopy}}, {{recopy, change}, {all, change}}, {{all, change, all, change, recopy, change}}, {{recopy, change, recopy}, {change, all, all}},
		} {
			r.Reset()
			l := team.NewList(sets)
			defer l.Free()
			const launches, samples = 30, 40
			got, err := tm.Measure(context.Background(), l, launches, samples)
			if err != nil || len(got) != samples {
				t.Fatalf("%d samples, %v", len(got), err)
			}
			changes := 0
			for i := range launches * (samples + 1) {
				for _, st := range sets[i%len(sets)] {
					if st.Fn == change.Fn {
						changes++
					}
				}
			}
			if r.Value() != changes || r.Wrong() != 0 {
				t.Errorf("%d threads, %d sets of %d steps: the value is %d, want %d; %d mistakes", threads, len(sets), len(sets[0]), r.Value(), changes, r.Wrong())
			}
		}
	}
}

// While the team works the runtime's other threads sleep: a monitor that looks in every 20 µs takes its CPU from one of the team's threads.
func TestTheGoRuntimeSleepsWhileTheTeamWorks(t *testing.T) {
	tm := start(t, 2)
	spin := teamkernel.NewSpin(2_000_000, -1)
	defer spin.Free()
	l := team.NewList([][]team.Step{{{Fn: spin.Fn(), Args: spin.Args()}}})
	defer l.Free()
	// A monitor that is awake wakes thirty to sixty times in 10 ms. The time is the clock's: beside other work, or emulated, the kernel takes ten times as long.
	const most = 12.5
	var each []float64
	for range 41 { // the end of a garbage collection may lie in some
		before, begin := wakeUps(t), time.Now()
		if _, err := tm.Measure(context.Background(), l, 1, 10); err != nil {
			t.Fatal(err)
		}
		took := time.Since(begin)
		each = append(each, float64(wakeUps(t)-before)/(took.Seconds()*100))
	}
	slices.Sort(each)
	if each[len(each)/2] > most {
		t.Errorf("the other threads woke up %.3g times in 10 ms, want a median of at most %g", each, most)
	}
}

// wakeUps is how often threads other than a team's have given up their CPUs to wait.
func wakeUps(t *testing.T) int {
	t.Helper()
	tasks, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil || len(tasks) == 0 {
		t.Skip("the threads of this process cannot be read: ", err)
	}
	n := 0
	for _, f := range tasks {
		text, err := os.ReadFile(f)
		if err != nil || strings.Contains(string(text), "ridge-team-") {
			continue
		}
		_, after, ok := strings.Cut(string(text), "\nvoluntary_ctxt_switches:")
		if !ok {
			t.Skip("the system does not count the switches of threads")
		}
		k, err := strconv.Atoi(strings.TrimSpace(strings.SplitN(after, "\n", 2)[0]))
		if err != nil {
			t.Fatal(err)
		}
		n += k
	}
	return n
}
