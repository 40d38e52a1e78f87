//go:build cgo && linux && (amd64 || arm64)

package native

import (
	"testing"

	"ridge/goharness/backend"
	"ridge/native/sample"
)

// Two programs take turns; ticks come every 10 ns on one thread, and an event counts 7 between two of them.
func TestTicksGoToTheProgramInWhoseWindowsTheyLie(t *testing.T) {
	var ticks []sample.Tick
	for at := int64(0); at < 100; at += 10 {
		k := sample.Tick{AtNS: at, PC: uint64(0x1000 + at%20)}
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

func TestMappingsAreReadWithTheirOffsets(t *testing.T) {
	got := parseMaps("00400000-00500000 r-xp 00001000 08:01 12 /opt/a b/ridge\n00500000-00600000 rw-p 00000000 00:00 0\n7000-8000 r-xp 00000000 00:00 0                  [vdso]\nrubbish\nzz-yy r-xp 0 0 0 /x\n")
	want := []backend.CodeMapping{{Start: 0x400000, Limit: 0x500000, Offset: 0x1000, File: "/opt/a b/ridge"}, {Start: 0x7000, Limit: 0x8000, File: "[vdso]"}}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("%+v", got)
	}
}
