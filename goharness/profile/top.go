package profile

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"

	pprof "github.com/google/pprof/profile"
)

// WriteTop prints the first n functions by the time over the roofline, or by the profile's default type where it has none of that
// (no ceilings were probed, or instructions sampled), each with its value and share, as go tool pprof -top does, and the default
// type beside it where that is another. Phases are added up.
func WriteTop(w io.Writer, p *pprof.Profile, n int) error {
	index := func(name string) int {
		return slices.IndexFunc(p.SampleType, func(t *pprof.ValueType) bool { return t.Type == name })
	}
	also := index(p.DefaultSampleType)
	if also < 0 {
		return fmt.Errorf("list the functions that cost most: the profile has no sample type %q, its default", p.DefaultSampleType)
	}
	key := index(TimeOverRoofline)
	if key < 0 || !slices.ContainsFunc(p.Sample, func(s *pprof.Sample) bool { return s.Value[key] > 0 }) {
		key = also
	}
	type row struct{ value, also, count int64 }
	rows := map[string]*row{}
	var total int64
	for _, s := range p.Sample {
		at := 0
		if len(s.Label["phase"]) > 0 { // a part of the kernel's time, which stands with the kernel
			at = 1
		}
		name := s.Location[at].Line[0].Function.Name
		if rows[name] == nil {
			rows[name] = &row{}
		}
		rows[name].value += s.Value[key]
		rows[name].also += s.Value[also]
		rows[name].count += s.Value[0]
		total += s.Value[key]
	}
	names := slices.Sorted(maps.Keys(rows))
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(rows[b].value, rows[a].value) })
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	head := p.SampleType[key].Type + "\tshare\t"
	if also != key {
		head += p.DefaultSampleType + "\t"
	}
	fmt.Fprintf(out, "%s%s\tfunction\n", head, p.SampleType[0].Type)
	for _, name := range names[:min(n, len(names))] {
		r := rows[name]
		if r.value == 0 {
			break
		}
		fmt.Fprintf(out, "%s\t%.1f %%\t", duration(r.value), 100*float64(r.value)/float64(max(1, total)))
		if also != key {
			fmt.Fprintf(out, "%s\t", duration(r.also))
		}
		fmt.Fprintf(out, "%d\t%s\n", r.count, printable(name))
	}
	return out.Flush()
}

// printable keeps a name from a file on its line and from commanding the terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return '?'
		}
		return r
	}, s)
}
