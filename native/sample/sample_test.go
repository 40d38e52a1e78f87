//go:build cgo && linux && (amd64 || arm64)

package sample_test

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"ridge/native/internal/badguard"
	"ridge/native/internal/teamkernel"
	"ridge/native/sample"
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

// spin runs a kernel that keeps every thread busy for about d and gives the window it ran in.
func spin(t *testing.T, tm *team.Team, d time.Duration) (from, to int64) {
	t.Helper()
	k := teamkernel.NewSpin(1e6, -1)
	defer k.Free()
	l := team.NewList([][]team.Step{{{Fn: k.Fn(), Args: k.Args()}}})
	defer l.Free()
	got, err := tm.Measure(context.Background(), l, 1, int(d/time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	return got[0].StartNS, got[len(got)-1].EndNS
}

func TestEveryThreadTicksAtTheRateInOrder(t *testing.T) {
	for _, threads := range []int{1, 2} {
		tm := start(t, threads)
		s, err := sample.Start(tm, 1000, nil)
		if err != nil {
			t.Fatal(err)
		}
		from, to := spin(t, tm, 300*time.Millisecond)
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
		for i, ticks := range s.Ticks {
			inside, last := 0, int64(0)
			for _, k := range ticks {
				if k.AtNS < last {
					t.Fatalf("thread %d: a tick at %d after one at %d", i, k.AtNS, last)
				}
				last = k.AtNS
				if k.PC == 0 {
					t.Fatal("a tick without a program counter")
				}
				if k.AtNS >= from && k.AtNS < to {
					inside++
				}
			}
			// Ticks that came late with the next are not among them: a busy machine loses some.
			want := int((to - from) / 1e6)
			if inside+int(s.Late) < want*8/10 || inside > want+2 {
				t.Errorf("%d threads: thread %d has %d ticks (%d late) in a window of %d ms", threads, i, inside, s.Late, want)
			}
		}
		if s.Full != 0 {
			t.Errorf("%d ticks found no room", s.Full)
		}
	}
}

// A team waits for its slowest thread: ticks one after the other would cost every thread the interruptions of all. Threads that tick by
// themselves have half of their ticks within 250 µs of another's; a busy host delays some of those meant to coincide.
func TestTheThreadsTickAtOnce(t *testing.T) {
	tm := start(t, 2)
	share, quiet := 0.0, 0
	for try := 0; try < 16 && share < 0.8; try++ {
		s, err := sample.Start(tm, 1000, nil)
		if err != nil {
			t.Fatal(err)
		}
		spin(t, tm, 200*time.Millisecond)
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
		near := 0
		if evenly(s.Ticks[0]) && evenly(s.Ticks[1]) {
			quiet++
		}
		for _, a := range s.Ticks[0] {
			for _, b := range s.Ticks[1] {
				if d := a.AtNS - b.AtNS; d > -250e3 && d < 250e3 {
					near++
					break
				}
			}
		}
		share = max(share, float64(near)/float64(max(1, len(s.Ticks[0]))))
	}
	switch {
	case share < 0.8 && quiet == 0:
		t.Skipf("this machine is too busy: no try had even ticks on both threads (at most %.0f %% coincide)", 100*share)
	case share < 0.8:
		t.Errorf("at most %.0f %% of the first thread's ticks have one of the second within 250 µs", 100*share)
	}
}

// evenly: nine of ten ticks come a period of 1 ms, by a quarter more or less, after the one before.
func evenly(ticks []sample.Tick) bool {
	even := 0
	for i := 1; i < len(ticks); i++ {
		if d := ticks[i].AtNS - ticks[i-1].AtNS; d > 750e3 && d < 1250e3 {
			even++
		}
	}
	return 10*even > 9*len(ticks)
}

func TestTicksLieInTheKernelThatRuns(t *testing.T) {
	if badguard.Sanitized() {
		t.Skip("the kernel is a loop around the clock, and a sanitizer's interceptor of the clock takes all of the time")
	}
	// The kernel is a short loop around the clock: most ticks are in the clock itself, whose serializing instruction an interrupt
	// waits for; on Zen 5 now and then all of 400 are. A starved thread ticks hardly at all: a minute is enough for one.
	all := 0
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		n, own := ticksInSpin(t)
		if own > 0 {
			return
		}
		all += n
	}
	t.Errorf("none of %d ticks is in the kernel that spins", all)
}

// ticksInSpin lets a thread spin for 200 ms and counts its ticks then, and those of them in the kernel's code.
func ticksInSpin(t *testing.T) (all, own int) {
	t.Helper()
	tm := start(t, 1)
	s, err := sample.Start(tm, 2000, nil)
	if err != nil {
		t.Fatal(err)
	}
	from, to := spin(t, tm, 200*time.Millisecond)
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	k := teamkernel.NewSpin(0, -1)
	defer k.Free()
	code := uint64(uintptr(k.Fn()))
	for _, x := range s.Ticks[0] {
		if x.AtNS >= from && x.AtNS < to {
			all++
			if x.PC >= code && x.PC < code+256 {
				own++
			}
		}
	}
	return all, own
}

func TestAStoppedSamplerLeavesNoTimerAndCanStartAgain(t *testing.T) {
	tm := start(t, 2)
	for range 5 {
		s, err := sample.Start(tm, 10_000, nil)
		if err != nil {
			t.Fatal(err)
		}
		spin(t, tm, 5*time.Millisecond)
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
		if err := s.Stop(); err != nil {
			t.Errorf("a second stop: %v", err)
		}
	}
	spin(t, tm, 20*time.Millisecond) // a timer that is left would write to freed memory
	text, err := os.ReadFile("/proc/self/timers")
	if err != nil {
		t.Skipf("timers of the process: %v", err)
	}
	if strings.TrimSpace(string(text)) != "" {
		t.Errorf("timers are left:\n%s", text)
	}
}

func TestTheSignalToAnyOtherThreadDoesNothing(t *testing.T) {
	tm := start(t, 1)
	s, err := sample.Start(tm, 100, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	// The team blocks it, so a thread of the Go runtime gets it: the process must go on.
	for range 20 {
		if err := syscall.Kill(os.Getpid(), syscall.Signal(34+9)); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(10 * time.Millisecond)
}

// Software events stand in for the hardware's, which virtual machines hide.
func TestEventsAreCountedOnTheThread(t *testing.T) {
	tm := start(t, 2)
	s, err := sample.Start(tm, 1000, []sample.Event{{Name: "task_clock", Type: 1, Config: 1}, {Name: "page_faults", Type: 1, Config: 2}})
	if err != nil {
		t.Fatal(err)
	}
	before := cpuTime(t)
	from, to := spin(t, tm, 100*time.Millisecond)
	used := cpuTime(t) - before
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if len(s.Events()) != 2 {
		t.Skipf("software events: %+v", s.Refused)
	}
	counted := int64(0)
	for i, ticks := range s.Ticks {
		var first, last uint64
		for _, k := range ticks {
			if k.AtNS >= from && k.AtNS < to {
				if first == 0 {
					first = k.Counts[0]
				}
				last = k.Counts[0]
			}
		}
		ran := int64(last - first)
		if counted += ran; ran <= 0 || ran > (to-from)+int64(5*time.Millisecond) {
			t.Errorf("thread %d ran %d ns of a window of %d ns by its own clock", i, ran, to-from)
		}
	}
	// A busy machine gives the threads little of the window, but what it gave them the process was charged for.
	if counted < used.Nanoseconds()/2 {
		t.Errorf("the threads ran %d ns by their own clocks, the process %d ns", counted, used.Nanoseconds())
	}
}

// cpuTime is what all threads of the process have run.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func TestEventsThatDoNotExistHaveAReason(t *testing.T) {
	tm := start(t, 1)
	s, err := sample.Start(tm, 1000, []sample.Event{{Name: "nothing", Type: 12345, Config: 1}})
	if err != nil {
		t.Fatal(err)
	}
	spin(t, tm, 10*time.Millisecond)
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if len(s.Refused) != 1 || s.Refused[0].Event != "nothing" || s.Refused[0].Reason == "" || len(s.Events()) != 0 {
		t.Errorf("refused %+v, events %v", s.Refused, s.Events())
	}
	if len(s.Ticks[0]) == 0 {
		t.Error("no ticks without events")
	}
}

func TestRatesOutOfRangeAreRefused(t *testing.T) {
	tm := start(t, 1)
	for _, hz := range []int{-1, 0, sample.MinHz - 1, sample.MaxHz + 1} {
		if _, err := sample.Start(tm, hz, nil); err == nil {
			t.Errorf("%d Hz was accepted", hz)
		}
	}
}
