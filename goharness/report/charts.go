package report

import (
	"math"
	"slices"
	"sort"
	"strconv"

	"ridge/goharness/record"
)

// limit is a ceiling as charts draw it: the best of its precision or level with the most threads that were measured.
type limit struct {
	Name        string  `json:"name"` // fp32, L2
	Value       float64 `json:"value"`
	Theoretical float64 `json:"theoretical,omitempty"`
	Unit        string  `json:"unit"`
	Detail      string  `json:"detail"` // how it was measured
	// Shared marks a precision that has no instructions of its own here: its kernels stand against another's ceiling.
	Shared   bool `json:"shared,omitempty"`
	ceiling  *record.Ceiling
	products float64 // above 1: operations of the ceiling for one of this precision
}

// roof are the limits of one device: of compute by precision, of bandwidth by level.
type roof struct {
	Compute []limit `json:"compute"`
	Memory  []limit `json:"memory"`
	Read    []limit `json:"read"`    // of bandwidth by level, by reading alone: beside the sweep, which reads
	Threads int     `json:"threads"` // of the compute limits
}

// levels of memory from the core outwards; others follow in the order of their names.
var levels = []string{"L1", "L2", "L3", "LLC", "DRAM", "HBM"}

func order(list []string, s string) int {
	if i := slices.Index(list, s); i >= 0 {
		return i
	}
	return len(list)
}

// roofOf picks a device's limits: measured ones with the most threads of their kind, the highest of their precision; of a
// level the highest of its accesses. Where the results of a precision are judged by a higher
// ceiling than its own (int8 kernels that use the instructions of u8·s8) or it has none (bf16 widened to fp32), that is the limit.
func roofOf(d *record.Calibration, device string) roof {
	widest := map[string]int{}
	for i := range d.Ceilings {
		if c := &d.Ceilings[i]; c.Device == device && measurable(c) {
			widest[c.Kind] = max(widest[c.Kind], c.Threads)
		}
	}
	best := map[string]*record.Ceiling{}
	for i := range d.Ceilings {
		c := &d.Ceilings[i]
		if c.Device != device || !measurable(c) || c.Threads != widest[c.Kind] {
			continue
		}
		var keys []string
		switch c.Kind {
		case record.CeilingCompute:
			keys = []string{"c" + string(c.DType)}
		case record.CeilingBandwidth:
			keys = []string{"b" + c.Level}
			if c.Access == "read" {
				keys = append(keys, "r"+c.Level)
			}
		}
		for _, key := range keys {
			if have := best[key]; have == nil || betterLimit(c, have) {
				best[key] = c
			}
		}
	}
	r := roof{Compute: []limit{}, Memory: []limit{}, Read: []limit{}, Threads: widest[record.CeilingCompute]}
	judged := judgedBy(d, device, widest[record.CeilingCompute])
	for key, c := range best {
		switch key[0] {
		case 'b':
			r.Memory = append(r.Memory, limitOf(c, clean(c.Level), c.Access))
			continue
		case 'r':
			r.Read = append(r.Read, limitOf(c, clean(c.Level), c.Access))
			continue
		}
		l := limitOf(c, clean(string(c.DType)), c.ISA)
		if by := judged[c.DType]; by.value() > c.Measured.Value {
			l = by.limit(l.Name)
		}
		r.Compute = append(r.Compute, l)
	}
	for dtype, by := range judged {
		if best["c"+string(dtype)] == nil {
			l := by.limit(clean(string(dtype)))
			if by.products == 1 {
				l.Detail = "computed as " + clean(string(by.ceiling.DType)) + ", " + l.Detail
			}
			l.Shared = true
			r.Compute = append(r.Compute, l)
		}
	}
	var precisions []string
	for _, p := range record.Precisions {
		precisions = append(precisions, string(p))
	}
	by := func(list []limit, names []string) {
		sort.Slice(list, func(i, j int) bool {
			a, b := order(names, list[i].Name), order(names, list[j].Name)
			return a < b || a == b && list[i].Name < list[j].Name
		})
	}
	by(r.Compute, precisions)
	by(r.Memory, levels)
	by(r.Read, levels)
	return r
}

// limitOf shows a ceiling under a name; how is the instruction set or the access by which it was measured.
func limitOf(c *record.Ceiling, name, how string) limit {
	l := limit{Name: name, Value: c.Measured.Value, Unit: clean(c.Unit), Detail: "1 thread", ceiling: c}
	if c.Theoretical.Unavailable == "" {
		l.Theoretical = c.Theoretical.Value
	}
	if c.Threads != 1 {
		l.Detail = strconv.Itoa(c.Threads) + " threads"
	}
	if how != "" {
		l.Detail = clean(how) + ", " + l.Detail
	}
	return l
}

// judge is a compute ceiling by which results of a precision are judged, and how many operations they execute for one that they count: 3 by 3×TF32.
type judge struct {
	ceiling  *record.Ceiling
	products float64
}

// value is the ceiling in operations that count; 0 without one.
func (j judge) value() float64 {
	if j.ceiling == nil {
		return 0
	}
	return j.ceiling.Measured.Value / j.products
}

func (j judge) limit(name string) limit {
	how := j.ceiling.ISA
	if j.products != 1 {
		how = strconv.FormatFloat(j.products, 'g', 3, 64) + " operations of " + string(j.ceiling.DType) + " for one, " + how
	}
	l := limitOf(j.ceiling, name, how)
	l.Value, l.Theoretical, l.products = l.Value/j.products, l.Theoretical/j.products, j.products
	return l
}

// products are the operations that a result executes for one that it counts, where they are more.
func products(r *record.Result) float64 {
	if r.FLOPs <= 0 {
		return 1
	}
	return max(1, float64(r.Executed())/float64(r.FLOPs))
}

// judgedBy are the compute ceilings by which the results of a precision are judged, the highest where there are several.
func judgedBy(d *record.Calibration, device string, threads int) map[record.DType]judge {
	out := map[record.DType]judge{}
	for i := range d.Results {
		r := &d.Results[i]
		if r.Device != device || r.Threads != threads || r.Probe() || !r.Status.Counts() || r.Ceiling == nil || r.Ceiling.Source != "measured" {
			continue
		}
		many := products(r)
		if value := r.Ceiling.ComputeGFLOPS; value <= 0 || value/many <= out[r.DType].value() {
			continue
		}
		for n := range d.Ceilings {
			c := &d.Ceilings[n]
			if c.Kind == record.CeilingCompute && c.Device == device && c.Threads == threads && measurable(c) && math.Abs(c.Measured.Value/r.Ceiling.ComputeGFLOPS-1) < 1e-9 {
				out[r.DType] = judge{c, many}
				break
			}
		}
	}
	return out
}

func measurable(c *record.Ceiling) bool {
	return c.Measured.Unavailable == "" && c.Measured.Value > smallest && c.Measured.Value < largest
}

// betterLimit: the highest of a level's accesses is its roof, which nothing may lie above.
func betterLimit(c, have *record.Ceiling) bool { return c.Measured.Value > have.Measured.Value }

// sweepPoint is one size of the cache sweep: GB/s or ns per load, with its interval.
type sweepPoint struct {
	Bytes   int64
	Value   float64
	Low     float64 // 0: the interval has no lower end
	High    float64 // 0: the interval has no upper end
	Threads int
	Status  record.Status
}

// sweepPoints are read bandwidth with the most threads, and latency, over the size of the buffer.
func sweepPoints(d *record.Calibration, device string) (read, latency []sweepPoint) {
	read, latency = []sweepPoint{}, []sweepPoint{}
	widest := 0
	for i := range d.Results {
		if r := &d.Results[i]; r.Device == device && r.Op == "bandwidth" {
			widest = max(widest, r.Threads)
		}
	}
	for i := range d.Results {
		r := &d.Results[i]
		if r.Device != device || !r.Probe() || !r.Status.Counts() || r.Time == nil || r.Time.MedianNS <= 0 {
			continue
		}
		bytes, err := strconv.ParseInt(r.Params["bytes"], 10, 64)
		if err != nil || bytes <= 0 {
			continue
		}
		p := sweepPoint{Bytes: bytes, Threads: r.Threads, Status: r.Status}
		switch {
		case r.Op == "bandwidth" && r.Params["access"] == "read" && r.Threads == widest && r.BandwidthGBps > smallest && r.BandwidthGBps < largest:
			p.Value = r.BandwidthGBps
			p.Low, p.High = overTime(p.Value, r.Time)
			read = append(read, p)
		case r.Op == "chase" && r.Items > 0 && r.Time.MedianNS > smallest && r.Time.MedianNS < largest:
			n := float64(r.Items)
			p.Value, p.Low, p.High = r.Time.MedianNS/n, max(0, r.Time.CI95NS[0]/n), max(0, r.Time.CI95NS[1]/n)
			latency = append(latency, p)
		}
	}
	for _, s := range [][]sweepPoint{read, latency} {
		sort.SliceStable(s, func(i, j int) bool { return s[i].Bytes < s[j].Bytes })
	}
	return oneEach(read), oneEach(latency)
}

// plateausOf are the plateaus of the latency sweep. Older documents call an accelerator's first one L2, whose size alone is reported: the probe of
// its L1 lies in it.
func plateausOf(d *record.Calibration) []record.Plateau {
	out := slices.Clone(d.Summary.Plateaus)
	if len(out) == 0 || out[0].Level != "L2" || len(d.Devices) != 1 || d.Devices[0].Platform == "cpu" {
		return out
	}
	for i := range d.Ceilings {
		if c := &d.Ceilings[i]; c.Kind == record.CeilingLatency && c.Level == "L1" && measurable(c) &&
			slices.ContainsFunc(d.Results, func(r record.Result) bool { return r.ID == c.Measured.CaseID && r.WorkingSetBytes <= out[0].ToBytes }) {
			out[0].Level = "L1"
		}
	}
	return out
}

// What an axis shows; a document may hold any number.
const smallest, largest = 1e-15, 1e20

// oneEach keeps the first point of a size: the sweep shares sizes with the probes of the ceilings.
func oneEach(points []sweepPoint) []sweepPoint {
	return slices.CompactFunc(points, func(a, b sweepPoint) bool { return a.Bytes == b.Bytes })
}

// overTime gives the interval of a rate from that of its time; 0 stands for an end that is not there.
func overTime(rate float64, t *record.Time) (low, high float64) {
	if t.CI95NS[1] > 0 {
		low = rate * t.MedianNS / t.CI95NS[1]
	}
	if t.CI95NS[0] > 0 {
		high = rate * t.MedianNS / t.CI95NS[0]
	}
	return low, high
}

// onRoofline reports whether a result is a point of the roofline, and where: its executed operations per byte and per
// nanosecond. Where fewer operations are needed than are counted (Winograd, padding) it stands at what must be executed, as the
// ceilings judge them; where more (3×TF32), at what counts, below a limit in the same terms. What was verified and launched once has no figure to stand at.
func onRoofline(r *record.Result) (intensity, gflops float64, ok bool) {
	if r.Probe() || !r.HasFigure() || r.Time == nil || r.Time.MedianNS <= 0 || r.Executed() <= 0 || r.Bytes <= 0 || r.FLOPs <= 0 {
		return 0, 0, false
	}
	n := float64(min(r.Executed(), r.FLOPs))
	return n / float64(r.Bytes), n / r.Time.MedianNS, true
}

// labels name the documents: machine, its device where only one was measured and that is no CPU, and the run where several have the same name.
func labels(docs []record.Calibration) []string {
	var out []string
	count := map[string]int{}
	for i := range docs {
		h := &docs[i].Host
		name := h.Name
		for _, s := range []string{h.CPU.Microarchitecture, h.CPU.Model, h.Hostname} {
			if name == "" {
				name = s
			}
		}
		if list := docs[i].Devices; len(list) > 0 && list[0].Name != "" && (name == "" || len(list) == 1 && list[0].Platform != "cpu" && list[0].Platform != "" && h.Name == "") {
			name = list[0].Name
		}
		if name == "" {
			name = "machine"
		}
		name = clean(name)
		if text := []rune(name); len(text) > 60 {
			name = string(text[:59]) + "…"
		}
		count[name]++
		out = append(out, name)
	}
	for i := range out {
		if count[out[i]] > 1 {
			out[i] += " · " + clean(docs[i].RunID)
		}
	}
	return out
}
