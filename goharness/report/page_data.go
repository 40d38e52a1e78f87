package report

import (
	"encoding/json"
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"

	"ridge/goharness/record"
)

// pageData is what the page's scripts read. Texts that repeat stand once in Strings; a row holds their index.
type pageData struct {
	Columns []string  `json:"columns"`
	Texts   []string  `json:"texts"` // the columns that hold an index into Strings
	Docs    []pageDoc `json:"docs"`
	Strings []string  `json:"strings"`
}

type pageDoc struct {
	Label   string       `json:"label"`
	Devices []pageDevice `json:"devices"`
	Rows    []pageRow    `json:"rows"`
}

// pageDevice is what the charts of one device show beside the results.
type pageDevice struct {
	ID      string        `json:"id"`
	Name    string        `json:"name"`
	Roof    roof          `json:"roof"`
	Read    []sweepPoint  `json:"read"`
	Latency []sweepPoint  `json:"latency"`
	Levels  []pageLevel   `json:"levels"`
	Fusion  []pagePattern `json:"fusion"`
}

// pageLevel is a plateau of the latency sweep.
type pageLevel struct {
	Name    string  `json:"name"`
	From    int64   `json:"from"`
	To      int64   `json:"to"`
	Latency float64 `json:"latency"`
}

type pagePattern struct {
	Name      string            `json:"name"`
	Verdict   string            `json:"verdict"`
	Reason    string            `json:"reason"`
	Crossover *record.Crossover `json:"crossover,omitempty"`
	Shapes    []pageShape       `json:"shapes"`
}

type pageShape struct {
	Shape    string  `json:"shape"`
	Size     float64 `json:"size"` // the crossover's parameter where there is one, else FLOP
	Speedup  float64 `json:"speedup"`
	Low      float64 `json:"low"` // 0 with High: no interval
	High     float64 `json:"high"`
	Verdict  string  `json:"verdict"`
	AtLeast  string  `json:"atLeast,omitempty"`
	Unfused  float64 `json:"unfused"` // ms
	Fused    float64 `json:"fused"`   // ms
	Baseline string  `json:"baseline"`
	Note     string  `json:"note,omitempty"`
	// Energy of a launch, where both programs have it; the ratio is unfused over fused.
	Joules      float64 `json:"joules,omitempty"`
	FusedJoules float64 `json:"fusedJoules,omitempty"`
	EnergyRatio float64 `json:"energyRatio,omitempty"`
	EnergyLow   float64 `json:"energyLow,omitempty"`
	EnergyHigh  float64 `json:"energyHigh,omitempty"`
}

// MarshalJSON writes [bytes, value, low, high, threads, status].
func (p sweepPoint) MarshalJSON() ([]byte, error) {
	b := []byte{'['}
	b = strconv.AppendInt(b, p.Bytes, 10)
	for _, v := range []float64{p.Value, p.Low, p.High} {
		b = appendShort(append(b, ','), v)
	}
	b = strconv.AppendInt(append(b, ','), int64(p.Threads), 10)
	status, err := json.Marshal(clean(string(p.Status)))
	return append(append(append(b, ','), status...), ']'), err
}

// pageRow is one result as a list of cells, which strings stand in as indices.
type pageRow []byte

// MarshalJSON gives the list.
func (r pageRow) MarshalJSON() ([]byte, error) { return r, nil }

// stringTable holds each text once.
type stringTable struct {
	at   map[string]int
	list []string
}

func (t *stringTable) index(s string) int {
	if i, have := t.at[s]; have {
		return i
	}
	t.at[s] = len(t.list)
	t.list = append(t.list, s)
	return len(t.list) - 1
}

// appendShort writes a number with five significant digits, which is more than an interval allows.
func appendShort(b []byte, v float64) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(b, '0')
	}
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return strconv.AppendInt(b, int64(v), 10)
	}
	return strconv.AppendFloat(b, v, 'g', 5, 64)
}

// pageColumns are the cells of a row in order. Those marked are texts.
var pageColumns = []struct {
	name string
	text bool
}{
	{"id", true}, // empty: device/op/dtype/shape/threads=N/mode[@forced]
	{"device", true}, {"status", true}, {"suite", true}, {"op", true}, {"shape", true}, {"use", true}, {"dtype", true},
	{"threads", false}, {"mode", true}, {"forced", true}, {"kernel", true},
	{"unit", true}, {"value", false}, {"low", false}, {"high", false}, // performance and its interval; an end of 0 is open
	{"ns", false}, {"lowNS", false}, {"highNS", false}, {"arms", true}, {"half", false},
	{"fraction", false}, {"bound", true}, {"peak", false}, {"intensity", false}, {"executed", false}, {"bytes", false},
	{"joules", false}, {"watts", false}, {"perWatt", false}, {"energyHalf", false},
	{"probe", false}, {"verdict", true}, {"remarks", true}, {"conditions", true}, {"clocks", true}, {"checked", true}, {"spread", true}, {"reproduce", true},
}

// composed gives a case's id as the scripts put it together from the cells of its row; "" where that is not its id.
func composed(r *record.Result) (shape, forced string, same bool) {
	id, err := record.ParseCaseID(r.ID)
	if err != nil {
		return "", "", false
	}
	var ps []string
	for _, p := range id.Params {
		ps = append(ps, clean(p.Name+"="+p.Value))
	}
	shape, forced = strings.Join(ps, ","), clean(id.Kernel)
	made := clean(r.Device) + "/" + clean(r.Op) + "/" + clean(string(r.DType)) + "/" + shape
	if shape == "" {
		made += "-"
	}
	made += "/threads=" + strconv.Itoa(r.Threads) + "/" + clean(r.Mode)
	if forced != "" {
		made += "@" + forced
	}
	return shape, forced, made == r.ID
}

// row gives a result's cells; verdict is that of a fusion shape, "" of any other result.
func (t *stringTable) row(r *record.Result, verdict string) pageRow {
	b := []byte{'['}
	text := func(s string) {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(t.index(s)), 10)
	}
	num := func(v float64) { b = appendShort(append(b, ','), v) }
	shape, forced, same := composed(r)
	id := clean(r.ID)
	if same {
		text("")
	} else {
		text(id)
	}
	if shape == "" && !same {
		shape = sortedParams(r.Params)
	}
	for _, s := range []string{r.Device, string(r.Status), r.Suite, r.Op, shape, r.UseCase, string(r.DType)} {
		text(clean(s))
	}
	num(float64(r.Threads))
	for _, s := range []string{r.Mode, forced, kernel(r)} {
		text(clean(s))
	}
	p := performanceOf(r)
	text(p.unit)
	num(p.value)
	num(p.low)
	num(p.high)
	arms := ""
	if r.Time != nil && r.HasFigure() && len(r.Arms) == 0 {
		num(r.Time.MedianNS)
		num(max(0, r.Time.CI95NS[0]))
		num(r.Time.CI95NS[1])
	} else {
		num(0)
		num(0)
		num(0)
		if len(r.Arms) == 2 {
			arms = latency(r)
		}
	}
	text(arms)
	num(p.half)
	fraction, peak, bytes := 0.0, 0.0, float64(r.Bytes)
	if r.Ceiling != nil && r.Status.Counts() {
		fraction, peak = r.Ceiling.Fraction, r.Ceiling.ComputeGFLOPS/products(r)
	}
	num(fraction)
	text(bound(r))
	num(peak)
	intensity, executed, _ := onRoofline(r)
	num(intensity)
	num(executed)
	num(bytes)
	e := energyShown(r)
	num(e.joules)
	num(e.watts)
	num(e.perWatt)
	num(e.half)
	if r.Probe() {
		num(1)
	} else {
		num(0)
	}
	text(clean(verdict))
	text(remarks(r))
	text(conditionsText(r.Conditions))
	text(clocksText(r.Conditions))
	text(checkedText(r.Verification))
	text(spreadText(r.Time))
	command := clean(r.Reproduce)
	if id != "" {
		command = strings.Replace(command, id, "\x00", 1)
	}
	text(command)
	return append(b, ']')
}

// figure is a result's performance with its interval; an end of 0 is not there.
type figure struct {
	unit                   string
	value, low, high, half float64
}

func performanceOf(r *record.Result) figure {
	switch {
	case !r.HasFigure():
		return figure{}
	case r.Ratio != nil:
		f := figure{unit: "×", value: r.Ratio.Value, low: max(0, r.Ratio.CI95[0]), high: r.Ratio.CI95[1]}
		if f.value > 0 { // the ends may be as large as numbers get
			f.half = min(f.high/f.value/2-f.low/f.value/2, largest)
		}
		return f
	case r.Time == nil || r.Time.MedianNS <= 0:
		return figure{}
	}
	f := figure{half: r.Time.RelHalfWidth}
	switch metricOf(r) {
	case computeRate:
		f.unit, f.value = rateUnit(r.DType), r.GFLOPS
		f.low, f.high = overTime(f.value, r.Time)
	case memoryRate:
		f.unit, f.value = "GB/s", r.BandwidthGBps
		f.low, f.high = overTime(f.value, r.Time)
	default:
		n := float64(max(1, r.Items))
		f.unit, f.value, f.low, f.high = "ns", r.Time.MedianNS/n, max(0, r.Time.CI95NS[0]/n), r.Time.CI95NS[1]/n
	}
	return f
}

func sortedParams(ps map[string]string) string {
	var out []string
	for k, v := range ps {
		out = append(out, clean(k+"="+v))
	}
	sort.Strings(out)
	return strings.Join(out, ",")
}

// conditionsText is what most results of a run share.
func conditionsText(c *record.Conditions) string {
	if c == nil {
		return ""
	}
	part := []string{fmt.Sprintf("affinity %s on CPUs %v", c.Affinity, c.CPUs), "inputs " + c.InputDistribution + fmt.Sprintf(", seed %d", c.Seed)}
	add := func(name, value string) {
		if value != "" {
			part = append(part, name+" "+value)
		}
	}
	add("NUMA", fact(c.NUMA, func(s string) string { return s }))
	add("quota", fact(c.QuotaCPUs, func(v float64) string { return digits(v) + " CPUs" }))
	add("flush denormals", fact(c.FlushDenormals, strconv.FormatBool))
	add("compiler", strings.TrimSpace(c.Compiler+" "+c.CompilerFlags))
	add("driver", c.Driver)
	add("priority", c.Priority)
	add("throttled", fact(c.Throttled, func(s string) string { return s }))
	add("board", boardText(c.Board))
	add("measured beside", strings.Join(c.With(), ", "))
	if c.BufferSets > 1 {
		add("buffer sets", strconv.Itoa(c.BufferSets))
	}
	return clean(strings.Join(part, " · "))
}

// clocksText is what differs from result to result.
func clocksText(c *record.Conditions) string {
	if c == nil {
		return ""
	}
	ghz := func(v float64) string { return digits(v) + " GHz" }
	part := []string{"clock before " + fact(c.ClockBeforeGHz, ghz) + ", after " + fact(c.ClockAfterGHz, ghz)}
	add := func(name string, f record.Fact[int64], show func(int64) string) {
		if v, known := f.Get(); known && v != 0 {
			part = append(part, name+" "+show(v))
		}
	}
	ns := func(v int64) string { return duration(float64(v)) }
	add("run-queue delay", c.RunDelayNS, ns)
	add("steal", c.StealNS, ns)
	add("involuntary switches", c.InvoluntarySwitches, func(v int64) string { return strconv.FormatInt(v, 10) })
	if v, known := c.TemperatureC.Get(); known {
		part = append(part, digits(v)+" °C")
	}
	part = append(part, "pages "+c.PageSize)
	return clean(strings.Join(part, " · "))
}

// fact shows a value, or why there is none.
func fact[T any](f record.Fact[T], show func(T) string) string {
	if v, known := f.Get(); known {
		return show(v)
	}
	if f.Unavailable == "" {
		return ""
	}
	return "unknown (" + f.Unavailable + ")"
}

func checkedText(v *record.Verification) string {
	if v == nil {
		return ""
	}
	how := "all"
	if v.Checked < v.Elements {
		how = strconv.FormatInt(v.Checked, 10)
	}
	s := fmt.Sprintf("%s of %d elements", how, v.Elements)
	if v.Projection {
		s += " and a projection of all"
	}
	s += fmt.Sprintf("; worst error %.2g of its bound; integers %s", v.WorstBound, v.IntegerTest)
	if v.Repeatable {
		s += "; repeatable bit for bit"
	}
	if !v.Passed {
		s = "failed: " + s
	}
	return clean(s)
}

func spreadText(t *record.Time) string {
	if t == nil {
		return ""
	}
	s := fmt.Sprintf("%d samples of %d launches; min %s, p90 %s, p99 %s, max %s", len(t.SamplesNS), t.Launches, duration(t.MinNS), duration(t.P90NS), duration(t.P99NS), duration(t.MaxNS))
	if n := len(t.Disturbed); n > 0 {
		s += fmt.Sprintf("; %d disturbed", n)
	}
	if t.StopRule != "" {
		s += "; stopped by " + t.StopRule
	}
	return clean(s)
}

// dataOf gathers what the scripts need, as JSON that is safe inside a script element.
func dataOf(docs []record.Calibration) ([]byte, error) {
	data := pageData{Docs: []pageDoc{}}
	for _, c := range pageColumns {
		data.Columns = append(data.Columns, c.name)
		if c.text {
			data.Texts = append(data.Texts, c.name)
		}
	}
	table := stringTable{at: map[string]int{}}
	names := labels(docs)
	for i := range docs {
		d := &docs[i]
		doc := pageDoc{Label: names[i], Devices: []pageDevice{}, Rows: []pageRow{}}
		profiles, err := record.FusionProfiles(d)
		if err != nil {
			return nil, err
		}
		for _, dev := range d.Devices {
			doc.Devices = append(doc.Devices, deviceOf(d, dev, profiles))
		}
		shapes := shapesOf(profiles)
		for n := range d.Results {
			id := d.Results[n].ID
			doc.Rows = append(doc.Rows, table.row(&d.Results[n], shapes[id].Verdict))
			delete(shapes, id)
		}
		// Shapes whose results are not in the document: those of a profile that joined it.
		for n := range profiles {
			for _, q := range profiles[n].Patterns {
				for _, s := range q.Shapes {
					if _, left := shapes[s.CaseID]; left {
						r := shapeResult(&profiles[n], q, s)
						doc.Rows = append(doc.Rows, table.row(&r, s.Verdict))
						delete(shapes, s.CaseID)
					}
				}
			}
		}
		data.Docs = append(data.Docs, doc)
	}
	data.Strings = table.list
	if data.Strings == nil {
		data.Strings = []string{}
	}
	return json.Marshal(data) // escapes <, > and &
}

func deviceOf(d *record.Calibration, dev record.Device, profiles []record.Fusion) pageDevice {
	out := pageDevice{ID: clean(dev.ID), Name: clean(dev.Name), Roof: roofOf(d, dev.ID), Levels: []pageLevel{}, Fusion: []pagePattern{}}
	out.Read, out.Latency = sweepPoints(d, dev.ID)
	if len(out.Latency) > 0 {
		for _, p := range plateausOf(d) {
			out.Levels = append(out.Levels, pageLevel{clean(p.Level), p.FromBytes, p.ToBytes, p.LatencyNS})
		}
	}
	for i := range profiles {
		if profiles[i].Device.ID != dev.ID {
			continue
		}
		for _, p := range profiles[i].Patterns {
			out.Fusion = append(out.Fusion, patternOf(p))
		}
	}
	return out
}

func patternOf(p record.FusionPattern) pagePattern {
	r := p.Recommendation
	out := pagePattern{Name: clean(p.Pattern) + " " + precisionAndMode(p), Verdict: clean(r.Verdict), Reason: clean(r.Reason), Crossover: r.Crossover, Shapes: []pageShape{}}
	if c := r.Crossover; c != nil {
		out.Crossover = &record.Crossover{Parameter: clean(c.Parameter), Between: c.Between, FuseAbove: c.FuseAbove, Value: c.Value}
	}
	for _, s := range p.Shapes {
		if s.Trials == 0 || s.Speedup <= 0 || !s.Status.Counts() {
			continue
		}
		row := fusionRow(p, s)
		shape := pageShape{Shape: row.cells[1], Size: float64(s.FLOPs), Speedup: s.Speedup, Low: max(0, s.SpeedupCI95[0]), High: s.SpeedupCI95[1], Verdict: clean(s.Verdict), AtLeast: clean(s.AtLeast),
			Unfused: s.UnfusedMS, Fused: s.FusedMS, Baseline: clean(s.Baseline), Note: row.below}
		if s.Energy.Known() && s.FusedEnergy.Known() && s.EnergyRatio > 0 {
			shape.EnergyRatio = s.EnergyRatio
			shape.Joules, _ = s.Energy.PerLaunch()
			shape.FusedJoules, _ = s.FusedEnergy.PerLaunch()
			if ci := s.EnergyRatioCI95; ci != nil {
				shape.EnergyLow, shape.EnergyHigh = max(0, ci[0]), ci[1]
			}
		}
		if s.Explanation != "" {
			shape.Note = strings.TrimPrefix(shape.Note+"; "+clean(s.Explanation), "; ")
		}
		if c := r.Crossover; c != nil {
			shape.Size = 0
			if v, err := strconv.ParseFloat(s.Params[c.Parameter], 64); err == nil {
				shape.Size = v
			}
		}
		out.Shapes = append(out.Shapes, shape)
	}
	sort.SliceStable(out.Shapes, func(i, j int) bool { return out.Shapes[i].Size < out.Shapes[j].Size })
	return out
}
