package runner_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"ridge/goharness/backend"
	"ridge/goharness/record"
	"ridge/goharness/runner"
	"ridge/internal/fakebackend"
)

// sampledToy is the toy platform with a device that can tell where its threads are.
type sampledToy struct {
	*fakebackend.Backend
	refuse  error // what starting answers
	rates   []int // that sampling was started with
	windows []int // that each program had, when it was stopped
}

func (b *sampledToy) Open(id string, o backend.OpenOptions) (backend.Device, error) {
	d, err := b.Backend.Open(id, o)
	return sampledDevice{d, b}, err
}

type sampledDevice struct {
	backend.Device
	b *sampledToy
}

func (d sampledDevice) StartSampling(hz int) error {
	d.b.rates = append(d.b.rates, hz)
	return d.b.refuse
}

func (d sampledDevice) StopSampling(windows ...[]backend.Sample) ([]backend.CodeSamples, error) {
	var out []backend.CodeSamples
	for i, w := range windows {
		d.b.windows = append(d.b.windows, len(w))
		c := backend.CodeSamples{PeriodNS: 1e6, Samples: []backend.CodeSample{{Address: uint64(i + 1), Count: int64(len(w))}}}
		for _, x := range w {
			c.WindowNS += x.EndNS - x.StartNS
		}
		out = append(out, c)
	}
	return out, nil
}

func sampledServer(b *sampledToy) *runner.Server {
	s := toy(b.Backend)
	s.Backends = []backend.Backend{b}
	return s
}

// taken is what a Taker got.
type taken struct {
	id   string
	arms []string
	code []backend.CodeSamples
}

func taker(to *[]taken) runner.Taker {
	return func(c record.Case, p runner.Prepared, code []backend.CodeSamples) {
		t := taken{id: c.ID, code: code}
		for _, a := range p.Arms {
			t.arms = append(t.arms, a.Name)
		}
		*to = append(*to, t)
	}
}

func all(record.Case) bool { return true }

func TestASampledMeasurementGivesWhatFellIntoItsWindows(t *testing.T) {
	b := &sampledToy{Backend: &fakebackend.Backend{}}
	var got []taken
	r := &runner.Runner{Launch: runner.Sampled(runner.InProcess(sampledServer(b)), 700, func(c record.Case) bool { return len(c.Arms) > 0 }, taker(&got))}
	defer r.Close()
	for _, c := range []record.Case{copyCase("100"), twoArms("100")} {
		if res, err := r.Run(context.Background(), c); err != nil || !res.Status.Counts() {
			t.Fatalf("%s: %s %s %v", c.ID, res.Status, res.Reason, err)
		}
	}
	if len(got) != 1 || !slices.Equal(got[0].arms, []string{"fast", "plain"}) || !slices.Equal(b.rates, []int{700}) {
		t.Fatalf("%+v, rates %v", got, b.rates)
	}
	for _, x := range got[0].code {
		if x.WindowNS <= 0 {
			t.Errorf("%+v", got[0].code)
		}
	}
}

// The measurement is over before anything is sampled: each arm then runs on by itself.
func TestSamplingAfterTheMeasurementLeavesItAlone(t *testing.T) {
	b := &sampledToy{Backend: &fakebackend.Backend{}}
	var got []taken
	var verbs []string
	watched := func(ctx context.Context) (runner.Worker, error) {
		w, err := runner.InProcess(sampledServer(b))(ctx)
		return mortal{w, func(q runner.Request) error {
			if q.Verb == runner.VerbMeasure && q.SampleHz != 0 {
				t.Error("the measurement was sampled")
			}
			if q.Verb == runner.VerbMeasure || q.Verb == runner.VerbSoak {
				verbs = append(verbs, q.Verb)
			}
			return nil
		}}, err
	}
	r := &runner.Runner{Launch: runner.SampledAfter(watched, 1000, 0.01, all, taker(&got))}
	defer r.Close()
	res, err := r.Run(context.Background(), twoArms("100"))
	if err != nil || !res.Status.Counts() {
		t.Fatalf("%s %s %v", res.Status, res.Reason, err)
	}
	if want := []string{runner.VerbMeasure, runner.VerbSoak, runner.VerbSoak}; !slices.Equal(verbs, want) || !slices.Equal(b.rates, []int{1000, 1000}) {
		t.Errorf("verbs %v, rates %v", verbs, b.rates)
	}
	if len(got) != 1 || len(got[0].code) != 2 {
		t.Fatalf("%+v", got)
	}
	for _, x := range got[0].code {
		if x.Unavailable != "" || x.WindowNS < 10e6 || len(x.Samples) != 1 {
			t.Errorf("%+v", x)
		}
	}
}

func TestWhatCannotBeSampledSaysWhyAndIsMeasured(t *testing.T) {
	fault := &runner.CrashError{Exit: -1, Signal: "SIGSEGV"}
	b := &sampledToy{Backend: &fakebackend.Backend{}, refuse: errors.New("no timers left")}
	for _, tc := range []struct {
		name   string
		launch runner.Launcher
		kernel string
		want   string // the reason
	}{
		{"a device that cannot", runner.InProcess(toy(&fakebackend.Backend{})), "stream_copy_fast", "device toy cannot tell"},
		{"a device that fails to", runner.InProcess(sampledServer(b)), "stream_copy_fast", "no timers left"},
		{"a kernel that dies when it runs on", dying(sampledServer(&sampledToy{Backend: &fakebackend.Backend{}}), runner.VerbSoak, 1, fault), "stream_copy_plain", ""},
	} {
		var got []taken
		r := &runner.Runner{Launch: runner.SampledAfter(tc.launch, 1000, 0.01, all, taker(&got))}
		res, err := r.Run(context.Background(), copyCase("100"))
		if err != nil || !res.Status.Counts() || res.Kernel != tc.kernel {
			t.Errorf("%s: %s by %s (%s), %v", tc.name, res.Status, res.Kernel, res.Reason, err)
		}
		if len(got) != 1 || !strings.Contains(got[0].code[0].Unavailable, tc.want) || (tc.want == "") != (got[0].code[0].Unavailable == "") {
			t.Errorf("%s: %+v", tc.name, got)
		}
		r.Close()
	}
}
