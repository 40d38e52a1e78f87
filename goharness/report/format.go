package report

import (
	"math"
	"strconv"
	"strings"
	"unicode"

	"ridge/goharness/measure"
	"ridge/goharness/record"
)

// none stands where there is nothing to show.
const none = "–"

// metric is the figure that fits an op.
type metric int

const (
	computeRate metric = iota // GFLOPS, GOPS for integers
	memoryRate                // GB/s
	plainTime                 // ns per item: one dependent load, one dispatch
)

// metricOf picks the figure by which an op is judged: operations per second where the work
// is arithmetic, bytes per second where it is movement, time where it is one access.
func metricOf(r *record.Result) metric {
	switch r.Suite {
	case "latency", "launch":
		return plainTime
	case "memory", "stream", "bandwidth", "elementwise", "normalization", "reduction":
		if r.Op != "chase" {
			return memoryRate
		}
	}
	switch {
	case r.Op == "chase" || strings.HasPrefix(r.Op, "dispatch"):
		return plainTime
	case r.FLOPs > 0:
		return computeRate
	case r.Bytes > 0:
		return memoryRate
	}
	return plainTime
}

// performance shows the figure of a result; of a comparison the speed-up. Only results whose status counts have one:
// a speed above its physical limit or of a wrong answer is not shown as a speed.
func performance(r *record.Result) string {
	switch {
	case !r.HasFigure():
		return none
	case r.Ratio != nil:
		return "×" + times(r.Ratio.Value, 3)
	case r.Time == nil:
		return none
	}
	switch metricOf(r) {
	case computeRate:
		return digits(r.GFLOPS) + " " + rateUnit(r.DType)
	case memoryRate:
		return digits(r.BandwidthGBps) + " GB/s"
	}
	return digits(r.Time.MedianNS/float64(max(1, r.Items))) + " ns"
}

// rateUnit is GFLOPS for floating-point formats and GOPS for integers.
func rateUnit(d record.DType) string {
	if d.Float() {
		return "GFLOPS"
	}
	return "GOPS"
}

// latency shows the median time of one launch; of a comparison those of both arms that its ratio is formed of.
func latency(r *record.Result) string {
	if !r.HasFigure() {
		return none
	}
	if arms, ok := measure.ArmTimes(r); ok {
		return duration(arms[0]) + " → " + duration(arms[1])
	}
	if r.Time == nil {
		return none
	}
	return duration(r.Time.MedianNS)
}

// half shows the half width of the 95 % interval relative to the value.
func half(r *record.Result) string {
	var h float64
	switch {
	case !r.HasFigure():
		return none
	case r.Ratio != nil && r.Ratio.Value > 0:
		h = r.Ratio.CI95[1]/r.Ratio.Value/2 - r.Ratio.CI95[0]/r.Ratio.Value/2 // halves: the ends may be as large as numbers get
	case r.Time == nil:
		return none
	default:
		h = r.Time.RelHalfWidth
	}
	if h > 1 { // few independent samples: the width itself says nothing
		return "> 100 %"
	}
	return percent(h)
}

// largestRatio that is shown as a number. The interval of a ratio of few quartets has no upper end to speak of; documents
// hold one as large as numbers get.
const largestRatio = 1000

// times shows a ratio with its decimals.
func times(v float64, decimals int) string {
	if v > largestRatio {
		return "> " + strconv.Itoa(largestRatio)
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// timesBetween shows the interval of a ratio.
func timesBetween(ci [2]float64) string {
	if ci[1] > largestRatio {
		return times(ci[0], 2) + " to > " + strconv.Itoa(largestRatio)
	}
	return times(ci[0], 2) + "–" + times(ci[1], 2)
}

// ofRoof shows the fraction of the result's limit.
func ofRoof(r *record.Result) string {
	if r.Ceiling == nil || !r.Status.Counts() || r.Ceiling.Fraction <= 0 {
		return none
	}
	return percent(r.Ceiling.Fraction)
}

// ofGiven is the fraction of the peaks that the user gave.
func ofGiven(r *record.Result) string {
	if r.Ceiling == nil || !r.Status.Counts() || r.Ceiling.UserFraction <= 0 {
		return none
	}
	return percent(r.Ceiling.UserFraction)
}

// boardText is what a device's sensors showed, in one line; "" where none were looked for.
func boardText(b *record.Board) string {
	switch {
	case b == nil:
		return ""
	case b.Unavailable != "":
		return "unavailable: " + b.Unavailable
	}
	var out []string
	for _, x := range []struct {
		value float64
		text  string
	}{{b.ClockMHz, "MHz"}, {b.LeastClockMHz, "MHz at least"}, {b.MemoryClockMHz, "MHz memory"}, {b.PowerWatts, "W"}, {b.TemperatureC, "°C"}} {
		if x.value != 0 {
			out = append(out, digits(x.value)+" "+x.text)
		}
	}
	return strings.Join(append(out, b.Beside...), ", ") + " (" + b.Source + ", " + strconv.Itoa(b.Readings) + " readings)"
}

// ofPeak is the fraction of a GPU's theoretical arithmetic peak at its nominal clock, or at the clock that it held.
func ofPeak(r *record.Result, held bool) string {
	if r.Ceiling == nil || !r.Status.Counts() {
		return none
	}
	h := r.Ceiling.Nominal
	if held {
		h = r.Ceiling.Held
	}
	if h == nil || h.Ratio <= 0 {
		return none
	}
	return percent(h.Ratio)
}

func bound(r *record.Result) string {
	if r.Ceiling == nil || !r.Status.Counts() || r.Ceiling.Bound == "" {
		return none
	}
	if r.Ceiling.Bound == "memory" && r.Ceiling.MemoryLevel != "" {
		return clean(r.Ceiling.MemoryLevel)
	}
	return clean(r.Ceiling.Bound)
}

// digits shows three significant digits without an exponent, more before the point; beyond what anything here measures
// with one.
func digits(v float64) string {
	switch a := math.Abs(v); {
	case !finite(v):
		return none
	case a >= 1e12:
		return strconv.FormatFloat(v, 'e', 2, 64)
	case a == 0:
		return "0"
	case a >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 1:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// duration shows nanoseconds in the unit that fits.
func duration(ns float64) string {
	switch {
	case ns >= 1e9:
		return digits(ns/1e9) + " s"
	case ns >= 1e6:
		return digits(ns/1e6) + " ms"
	case ns >= 1e3:
		return digits(ns/1e3) + " µs"
	}
	return digits(ns) + " ns"
}

// percent shows a fraction.
func percent(f float64) string {
	switch v := 100 * f; {
	case !finite(v):
		return none
	case math.Abs(v) >= 1e12:
		return strconv.FormatFloat(v, 'e', 2, 64) + " %"
	default:
		return strconv.FormatFloat(v, 'f', 1, 64) + " %"
	}
}

// finite: a figure of numbers that a document may hold, and nothing measures, may be beyond all numbers.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// size shows bytes in binary units.
func size(b int64) string {
	switch {
	case b <= 0:
		return none
	case b >= 1<<30:
		return digits(float64(b)/(1<<30)) + " GiB"
	case b >= 1<<20:
		return digits(float64(b)/(1<<20)) + " MiB"
	case b >= 1<<10:
		return digits(float64(b)/(1<<10)) + " KiB"
	}
	return strconv.FormatInt(b, 10) + " B"
}

// params shows the parameters of a case in their declared order, which its id keeps.
func params(caseID string) string {
	id, err := record.ParseCaseID(caseID)
	if err != nil || len(id.Params) == 0 {
		return none
	}
	var out []string
	for _, p := range id.Params {
		out = append(out, p.Name+"="+p.Value)
	}
	return strings.Join(out, " ")
}

// longestText in bytes that is shown of any one text.
const longestText = 8 << 10

// clean makes text from a document safe to print: one line, no control sequences, nothing that turns the direction of the text around it.
func clean(s string) string {
	if len(s) > longestText {
		s = strings.ToValidUTF8(s[:longestText], "") + "…"
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\u2028' || r == '\u2029':
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == unicode.ReplacementChar:
			return '?'
		}
		return r
	}, s)
}

// Plain makes text from a document safe to print outside of the views.
func Plain(s string) string { return clean(s) }

// orNone shows text, or that there is none.
func orNone(s string) string {
	if s == "" {
		return none
	}
	return clean(s)
}

// ceilingText names what a ceiling limits: precision, level, ISA and access.
func ceilingText(c *record.Ceiling) string {
	var out []string
	for _, s := range []string{string(c.DType), c.Level, c.Access, c.ISA} {
		if s != "" {
			out = append(out, clean(s))
		}
	}
	switch {
	case len(out) > 0:
		return strings.Join(out, " ")
	case c.Kind == record.CeilingLaunch && c.Device != "cpu": // beside those in a graph and of a kernel that stays
		return "stream"
	}
	return none
}

// theoretical and measured show a ceiling's two values.
func theoretical(c *record.Ceiling) string {
	if c.Theoretical.Unavailable != "" || c.Theoretical.Value == 0 {
		return none
	}
	return digits(c.Theoretical.Value)
}

func measured(c *record.Ceiling) string {
	if c.Measured.Unavailable != "" || c.Measured.Value == 0 {
		return none
	}
	return digits(c.Measured.Value)
}

// gap is the one line on a ceiling: its diagnosis and why a value is missing.
func gap(c *record.Ceiling) string {
	s := clean(c.Diagnosis)
	if u := c.Theoretical.Unavailable; u != "" && !strings.Contains(c.Diagnosis, u) {
		s += "; no theoretical value: " + clean(u)
	}
	if u := c.Measured.Unavailable; u != "" && u != c.Theoretical.Unavailable && !strings.Contains(c.Diagnosis, u) {
		s += "; not measured: " + clean(u)
	}
	return strings.TrimPrefix(s, "; ")
}
