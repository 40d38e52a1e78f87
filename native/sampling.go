//go:build cgo && linux && (amd64 || arm64)

package native

import (
	"cmp"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"ridge/goharness/backend"
	"ridge/native/sample"
)

// sampling is a sampler at work.
type sampling struct {
	s  *sample.Sampler
	hz int
	// hosted are the starts of samples that a vendor library computed, on threads of its own.
	hosted map[int64]bool
}

// measured is called after every measurement, also where nothing is sampled (nil).
func (s *sampling) measured(samples []backend.Sample, hosted bool) {
	if s == nil {
		return
	}
	for _, x := range samples {
		if hosted {
			s.hosted[x.StartNS] = true
		}
	}
	s.s.Drain()
}

// StartSampling samples the team's threads (backend.CodeSampler).
func (d *device) StartSampling(hz int) error {
	if d.sampling != nil {
		return errors.New("start sampling: it is going on already")
	}
	s, err := sample.Start(d.team, hz, sample.HardwareEvents())
	if err != nil {
		return err
	}
	d.sampling = &sampling{s: s, hz: hz, hosted: map[int64]bool{}}
	return nil
}

// StopSampling ends it (backend.CodeSampler).
func (d *device) StopSampling(windows ...[]backend.Sample) ([]backend.CodeSamples, error) {
	if d.sampling == nil {
		return nil, errors.New("stop sampling: nothing is being sampled")
	}
	s := d.sampling
	d.sampling = nil
	if err := s.s.Stop(); err != nil {
		return nil, err
	}
	return s.answers(s.s.Ticks, s.s.Events(), windows)
}

// answers are what was found in each program's windows. Ticks in none of them, and lost ones, are counted in the first.
func (s *sampling) answers(ticks [][]sample.Tick, events []string, windows [][]backend.Sample) ([]backend.CodeSamples, error) {
	var out []backend.CodeSamples
	outside := int64(0)
	for _, list := range ticks {
		outside += int64(len(list))
	}
	for _, w := range windows {
		x := collect(ticks, w, int64(1e9/s.hz), events)
		for _, c := range x.Samples {
			outside -= c.Count
		}
		if slices.ContainsFunc(w, func(b backend.Sample) bool { return s.hosted[b.StartNS] }) {
			x = backend.CodeSamples{Unavailable: "a vendor library computes on threads of its own, which are not sampled"}
		}
		x.Refused = append(x.Refused, s.s.Refused...)
		var err error
		if x.Mappings, err = mappings(x.Samples); err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	if len(out) > 0 {
		out[0].Outside, out[0].Lost = outside, s.s.Full+s.s.Late
	}
	return out, nil
}

// mostBetween is the share of the time between two ticks that may lie between samples. From one sample to the next of the same call the team
// writes its records: 2 to 3 µs of the 200 µs that a sample takes at least. Other programs' samples and launches that are not timed take more.
const mostBetween = 0.05

// collect counts the ticks of each thread that fell into windows by address. What the events
// counted since the tick before goes to the address of the later one; a tick whose predecessor is
// missing or lies outside of the windows tells nothing, nor does one before which another program ran.
func collect(ticks [][]sample.Tick, windows []backend.Sample, period int64, events []string) backend.CodeSamples {
	windows = slices.Clone(windows)
	slices.SortFunc(windows, func(a, b backend.Sample) int { return cmp.Compare(a.StartNS, b.StartNS) })
	out := backend.CodeSamples{PeriodNS: period, Threads: len(ticks), Events: events}
	for _, w := range windows {
		out.WindowNS += w.EndNS - w.StartNS
	}
	window := func(at int64) int { // the last that began by then; -1: none
		i, exact := slices.BinarySearchFunc(windows, at, func(w backend.Sample, at int64) int { return cmp.Compare(w.StartNS, at) })
		if !exact {
			i--
		}
		return i
	}
	inside := func(at int64) bool { i := window(at); return i >= 0 && at < windows[i].EndNS }
	// own: both lie in windows, and so does the time between them.
	own := func(from, to int64) bool {
		if !inside(from) || to-from >= 2*period {
			return false
		}
		outside := int64(0)
		for i := window(from); i+1 < len(windows) && windows[i+1].StartNS <= to; i++ {
			outside += max(0, windows[i+1].StartNS-windows[i].EndNS)
		}
		return float64(outside) <= mostBetween*float64(to-from)
	}
	shares := make([]share, len(ticks))
	for thread, list := range ticks {
		at := map[uint64]int{}
		for i, t := range list {
			if !inside(t.AtNS) {
				continue
			}
			k, seen := at[t.PC]
			if !seen {
				k = len(out.Samples)
				at[t.PC] = k
				out.Samples = append(out.Samples, backend.CodeSample{Thread: thread, Address: t.PC, Events: make([]int64, len(events))})
			}
			x := &out.Samples[k]
			x.Count++
			if i > 0 && own(list[i-1].AtNS, t.AtNS) && shares[thread].add(list[i-1], t) {
				for e := range x.Events {
					x.Events[e] += int64(t.Counts[e] - list[i-1].Counts[e])
				}
			}
		}
	}
	if why := notCounted(shares); why != "" && len(events) > 0 {
		out.Events = nil
		for _, e := range events {
			out.Refused = append(out.Refused, backend.RefusedEvent{Event: e, Reason: why})
		}
		for i := range out.Samples {
			out.Samples[i].Events = nil
		}
	}
	slices.SortFunc(out.Samples, func(a, b backend.CodeSample) int {
		return cmp.Or(cmp.Compare(a.Thread, b.Thread), cmp.Compare(a.Address, b.Address))
	})
	return out
}

// share is for how long the counters of a thread were wanted, for how long of it they counted, and for how long they could not be read.
type share struct{ wanted, counted, unread int64 }

// add takes the time from one tick to the next; false where the counters were not read at both.
func (s *share) add(from, to sample.Tick) bool {
	if from.EnabledNS == 0 || to.EnabledNS == 0 {
		s.unread += to.AtNS - from.AtNS
		return false
	}
	s.wanted += int64(to.EnabledNS - from.EnabledNS)
	s.counted += int64(to.CountedNS - from.CountedNS)
	return true
}

// leastCounted is the share of the time below which a thread's counts are refused: the rest would have to be guessed, and
// the ticks within it would show none.
const leastCounted = 0.99

// notCounted says why the counts of a program are not shown; "" where each thread's counters counted all of the time. A thread without two
// ticks in a row tells nothing, unless none has them.
func notCounted(threads []share) string {
	const what = "perf_event_open: "
	known := false
	for _, s := range threads {
		all := s.wanted + s.unread
		switch {
		case all == 0:
			continue
		case float64(s.unread) > (1-leastCounted)*float64(all):
			return fmt.Sprintf("%sthe counters could not be read in %.0f %% of the time", what, 100*float64(s.unread)/float64(all))
		case float64(s.counted) < leastCounted*float64(all):
			return fmt.Sprintf("%sthey counted in %.0f %% of the time, as others use the processor's counters too: end the other user (perf, the kernel's NMI watchdog: sysctl kernel.nmi_watchdog=0)", what, 100*float64(s.counted)/float64(all))
		}
		known = true
	}
	if !known {
		return what + "no two ticks in a row lie in the samples: take more with --trials, or raise --rate"
	}
	return ""
}

// mappings lists the executable memory that samples lie in, the program's own first.
func mappings(samples []backend.CodeSample) ([]backend.CodeMapping, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the program's file: %w", err)
	}
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil, fmt.Errorf("read the program's mappings: %w", err)
	}
	var out []backend.CodeMapping
	for _, m := range parseMaps(string(text)) {
		own := m.File == self
		used := slices.ContainsFunc(samples, func(s backend.CodeSample) bool { return s.Address >= m.Start && s.Address < m.Limit })
		if !own && !used {
			continue
		}
		m.BuildID = buildID(m.File)
		if own {
			out = slices.Insert(out, 0, m)
		} else {
			out = append(out, m)
		}
	}
	return out, nil
}

// parseMaps reads the executable mappings of /proc/PID/maps.
func parseMaps(text string) []backend.CodeMapping {
	var out []backend.CodeMapping
	for _, line := range strings.Split(text, "\n") {
		f := strings.Fields(line)
		if len(f) < 6 || !strings.Contains(f[1], "x") {
			continue
		}
		from, to, _ := strings.Cut(f[0], "-")
		start, err1 := strconv.ParseUint(from, 16, 64)
		limit, err2 := strconv.ParseUint(to, 16, 64)
		offset, err3 := strconv.ParseUint(f[2], 16, 64)
		if err1 != nil || err2 != nil || err3 != nil {
			continue
		}
		out = append(out, backend.CodeMapping{Start: start, Limit: limit, Offset: offset, File: strings.Join(f[5:], " ")})
	}
	return out
}

// buildID is the linker's identification of a file; "" where it has none or cannot be read.
func buildID(file string) string {
	f, err := elf.Open(file)
	if err != nil {
		return "" // [vdso] and the like
	}
	defer f.Close()
	s := f.Section(".note.gnu.build-id")
	if s == nil {
		return ""
	}
	b, err := s.Data()
	if err != nil || len(b) < 16 {
		return ""
	}
	name, desc := int(f.ByteOrder.Uint32(b)), int(f.ByteOrder.Uint32(b[4:]))
	at := 12 + (name+3)&^3
	if at < 0 || desc < 0 || at+desc > len(b) {
		return ""
	}
	return hex.EncodeToString(b[at : at+desc])
}
