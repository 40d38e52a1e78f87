//go:build cgo && linux && (amd64 || arm64)

package native

import (
	"strings"
	"testing"

	"ridge/goharness/backend"
	"ridge/native/sample"
)

// Two programs take turns; ticks come every 10 ns on one thread, and an event counts 7 between two of them.
func TestTicksGoToTheProgramInWhoseWindowsTheyLie(t *testing.T) {
	var ticks []sample.Tick
	for at := int64(0); at < 100; at += 10 {
		k := sample.Tick{AtNS: at, PC: uint64(0x1000 + at%20), EnabledNS: uint64(1 + at), CountedNS: uint64(1 + at)}
		k.Counts[0] = uint64(7 * at / 10)
		ticks = append(ticks, k)
	}
	first := []backend.Sample{{StartNS: 65, EndNS: 85}, {StartNS: 15, EndNS: 45}} // 70 80, 20 30 40
	second := []backend.Sample{{StartNS: 45, EndNS: 65}}                          // 50 60
	s := &sampling{s: &sample.Sampler{Full: 1, Late: 2}, hz: 100_000_000, hosted: map[int64]bool{}}
	got, err := s.answers([][]sample.Tick{ticks}, []string{"cycles"}, [][]backend.Sample{first, second})
	if err != nil {
		t.Fatal(err)
	}
	sum := func(c backend.CodeSamples) (n, events int64) {
		for _, x := range c.Samples {
			n, events = n+x.Count, events+x.Events[0]
		}
		return n, events
	}
	// Of the first's five ticks three have one of its own before them: 30, 40 and 80.
	if n, events := sum(got[0]); n != 5 || events != 3*7 || got[0].WindowNS != 50 {
		t.Errorf("first: %d ticks, %d events: %+v", n, events, got[0])
	}
	if n, events := sum(got[1]); n != 2 || events != 7 || got[1].WindowNS != 20 {
		t.Errorf("second: %d ticks, %d events: %+v", n, events, got[1])
	}
	if got[0].Outside != 3 || got[1].Outside != 0 || got[0].Lost != 3 || got[1].Lost != 0 {
		t.Errorf("outside %d and %d, lost %d and %d", got[0].Outside, got[1].Outside, got[0].Lost, got[1].Lost)
	}
	// A library's program has none, the other its own.
	s.hosted[45] = true
	if got, err = s.answers([][]sample.Tick{ticks}, nil, [][]backend.Sample{first, second}); err != nil || got[0].Unavailable != "" || got[1].Unavailable == "" || len(got[1].Samples) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

// Ticks come every 1000 ns and an event counts one each ns. What was counted while another program ran, or nothing that is timed, is nobody's,
// also where both ticks lie in samples of one program.
func TestCountsOfTheTimeBetweenTwoSamplesGoToNobody(t *testing.T) {
	var list []sample.Tick
	for at := int64(500); at < 20_000; at += 1000 {
		k := sample.Tick{AtNS: at, PC: 0x1000, EnabledNS: uint64(at), CountedNS: uint64(at)}
		k.Counts[0] = uint64(at)
		list = append(list, k)
	}
	for _, tc := range []struct {
		name    string
		windows []backend.Sample
		want    int64 // events
	}{
		{"one sample", []backend.Sample{{StartNS: 0, EndNS: 5000}}, 4000},
		{"samples in a row, with the team's records between them", []backend.Sample{{StartNS: 0, EndNS: 2000}, {StartNS: 2010, EndNS: 4000}, {StartNS: 4010, EndNS: 5000}}, 4000},
		{"short samples in a row, in any order", []backend.Sample{{StartNS: 3000, EndNS: 3290}, {StartNS: 3300, EndNS: 3590}, {StartNS: 2400, EndNS: 2690}, {StartNS: 2700, EndNS: 2995}}, 1000},
		{"another program's short sample between two", []backend.Sample{{StartNS: 0, EndNS: 2600}, {StartNS: 3400, EndNS: 5000}}, 3000},
		{"another program's sample, in which a tick lies", []backend.Sample{{StartNS: 0, EndNS: 2400}, {StartNS: 2600, EndNS: 5000}}, 2000},
	} {
		got := collect([][]sample.Tick{list}, tc.windows, 1000, []string{"cycles"})
		if len(got.Samples) != 1 || len(got.Events) != 1 || got.Samples[0].Events[0] != tc.want {
			t.Errorf("%s: %+v, refused %+v, want %d events", tc.name, got.Samples, got.Refused, tc.want)
		}
	}
	// The third tick was lost: what was counted in its time and the next tick's belongs to no instruction that is known.
	lost := append(append([]sample.Tick(nil), list[:2]...), list[3:]...)
	if got := collect([][]sample.Tick{lost}, []backend.Sample{{StartNS: 0, EndNS: 5000}}, 1000, []string{"cycles"}); got.Samples[0].Count != 4 || got.Samples[0].Events[0] != 2000 {
		t.Errorf("a tick was lost: %+v, want 4 ticks and 2000 events", got.Samples)
	}
}

// Ticks come every 1000 ns on two threads; the counters of the second are shared or cannot be read.
func TestCountsOfAPartOfTheTimeAreRefused(t *testing.T) {
	const n = 1000
	whole := []backend.Sample{{StartNS: 0, EndNS: 1000 * n}}
	for _, tc := range []struct {
		name    string
		window  []backend.Sample
		perMill uint64           // for which they count from the 500th tick on
		unread  func(i int) bool // of the second thread
		want    string           // part of the reason; "" for counts
	}{
		{"alone", whole, 1000, nil, ""},
		{"a little is missed", whole, 990, nil, ""},
		{"a fortieth is missed in all, a twentieth of the second half", whole, 950, nil, "they counted in 98 % of the time, as others use"},
		{"the same in a window of the second half", []backend.Sample{{StartNS: 600e3, EndNS: 700e3}}, 950, nil, "they counted in 95 % of the time"},
		{"nothing is missed in the first half", []backend.Sample{{StartNS: 0, EndNS: 400e3}}, 0, nil, ""},
		{"they never counted", []backend.Sample{{StartNS: 600e3, EndNS: 700e3}}, 0, nil, "they counted in 0 % of the time"},
		{"unreadable", whole, 1000, func(int) bool { return true }, "could not be read in 100 % of the time"},
		{"one unreadable tick", whole, 1000, func(i int) bool { return i == 7 }, ""},
		{"a tenth unreadable", whole, 1000, func(i int) bool { return i%20 == 7 }, "could not be read in 10 % of the time"},
		{"no two ticks in a row", []backend.Sample{{StartNS: 9500, EndNS: 10500}}, 1000, nil, "no two ticks in a row lie in the samples"},
	} {
		var ticks [2][]sample.Tick
		for thread := range ticks {
			at, counted := uint64(0), uint64(1)
			for i := range n {
				x := sample.Tick{AtNS: int64(1000 * i), PC: 0x1000, EnabledNS: 1 + at, CountedNS: counted}
				x.Counts[0], x.Counts[1] = uint64(3*i), uint64(5*i)
				if thread == 1 && tc.unread != nil && tc.unread(i) {
					x.EnabledNS, x.CountedNS, x.Counts = 0, 0, [len(x.Counts)]uint64{}
				}
				ticks[thread] = append(ticks[thread], x)
				at += 1000
				if thread == 1 && i >= n/2 {
					counted += tc.perMill
				} else {
					counted += 1000
				}
			}
		}
		got := collect(ticks[:], tc.window, 1000, []string{"cycles", "instructions"})
		if tc.want == "" {
			if len(got.Events) != 2 || len(got.Refused) != 0 || 3*got.Samples[0].Events[1] != 5*got.Samples[0].Events[0] || got.Samples[0].Events[0] == 0 {
				t.Errorf("%s: %v, %+v, %+v", tc.name, got.Events, got.Refused, got.Samples)
			}
			continue
		}
		if len(got.Events) != 0 || len(got.Refused) != 2 || got.Refused[1].Event != "instructions" || !strings.Contains(got.Refused[0].Reason, tc.want) {
			t.Errorf("%s: %v, refused %+v", tc.name, got.Events, got.Refused)
		}
		for _, x := range got.Samples {
			if x.Count == 0 || len(x.Events) != 0 {
				t.Errorf("%s: a number without its time: %+v", tc.name, x)
			}
		}
	}
}

func TestMappingsAreReadWithTheirOffsets(t *testing.T) {
	got := parseMaps("00400000-00500000 r-xp 00001000 08:01 12 /opt/a b/ridge\n00500000-00600000 rw-p 00000000 00:00 0\n7000-8000 r-xp 00000000 00:00 0                  [vdso]\nrubbish\nzz-yy r-xp 0 0 0 /x\n")
	want := []backend.CodeMapping{{Start: 0x400000, Limit: 0x500000, Offset: 0x1000, File: "/opt/a b/ridge"}, {Start: 0x7000, Limit: 0x8000, File: "[vdso]"}}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("%+v", got)
	}
}
