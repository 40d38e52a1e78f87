package machine

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"ridge/goharness/record"
)

// Uarch is what the table says of a microarchitecture. Figures are upper bounds per cycle
// to be multiplied with a measured clock; they never judge a measurement, and a measured
// peak above one of them at the clock that it ran at means that the row is wrong.
type Uarch struct {
	// Name of the microarchitecture, or "unknown".
	Name string
	// Source says how the row was found: by the model number and from which list, or
	// "inferred from features", or why there is none.
	Source string
	// Inferred is true when the row was chosen by features instead of the model number.
	Inferred bool
	// Contradictory is true when model number and features cannot be of the same silicon;
	// Contradiction says what contradicts what.
	Contradictory bool
	Contradiction string
	// Masked lists features this silicon has and the system does not offer.
	Masked []string

	row *row
}

// row is one line of the microarchitecture table.
type row struct {
	name string
	// product is the code name of the chip where the model number tells it.
	product string
	vendor  string
	family  int
	models  [][2]int // inclusive ranges of model numbers (arm64: part numbers)
	// steppings, brand and feature narrow a model number that several products share.
	steppings *[2]int
	brand     *regexp.Regexp
	feature   string
	identity  string // where the model numbers come from

	ops    []opRate
	caches []cacheRate
	dram   *dramBound
	// noFigures is the reason there are no ops or caches.
	noFigures string
	// noSocket is the reason there is no memory bound.
	noSocket string

	// has are the tracked features of the silicon (nil: unchecked); l2 its L2 sizes in KiB (nil: unchecked).
	has []string
	l2  []int64
	// eCore is the microarchitecture of the efficiency cores on hybrid products.
	eCore string
}

// opRate is operations per cycle and core: a multiply and an add count two.
type opRate struct {
	isa    string
	dtype  record.DType
	ops    float64
	source string
}

// cacheRate is the bytes per cycle and core between a level and the one inside it (L1:
// the registers). write 0 is unknown.
type cacheRate struct {
	level       string
	read, write float64
	source      string
}

// dramBound is one socket with every channel at the highest rated speed.
type dramBound struct {
	channels     int
	mtps         float64
	channelBytes float64
	memory       string
	source       string
}

// tracked are the features whose presence tells microarchitectures apart.
var tracked = []string{"avx2", "fma", "f16c", "avx512f", "avx512dq", "avx512bw", "avx512vl", "avx512vnni", "avxvnni",
	"avx512bf16", "avx512fp16", "amx-tile", "amx-bf16", "amx-int8", "amx-fp16"}

func allRows() []row {
	return slices.Concat(intelRows(), intelClientRows(), intelAtomRows(), amdRows(), armRows(), appleRows())
}

func (r *row) matches(c CPUID) bool {
	if r.vendor != c.Vendor || r.family != c.Family && r.family != anyFamily {
		return false
	}
	in := len(r.models) == 0
	for _, m := range r.models {
		in = in || c.Model >= m[0] && c.Model <= m[1]
	}
	if r.steppings != nil && (c.Stepping < r.steppings[0] || c.Stepping > r.steppings[1]) {
		return false
	}
	return in && (r.brand == nil || r.brand.MatchString(c.Brand)) && (r.feature == "" || c.Has(r.feature))
}

// Lookup finds the row of a processor. Features overrule the model number: a hypervisor
// may report a model that cannot have the features it offers (REFERENCE trap 19), and
// then the row is inferred from the features and marked as contradictory.
func Lookup(c CPUID) Uarch {
	rows := allRows()
	var found *row
	for i := range rows {
		// Rows narrowed by brand or feature stand before the general row of the same model.
		if rows[i].matches(c) {
			found = &rows[i]
			break
		}
	}
	id := identityText(c)
	if found == nil {
		u := infer(c, rows)
		if u.row == nil {
			return Uarch{Name: "unknown", Source: "no table row for " + id}
		}
		u.Source += "; no table row for " + id
		return u
	}
	if why := contradiction(c, found); why != "" {
		u := infer(c, rows)
		if u.row == nil {
			u = Uarch{Name: "unknown", Source: "no table row has these features"}
		}
		u.Contradictory, u.Contradiction = true, id+" is "+found.name+", "+why
		return u
	}
	if found.product != "" {
		id += " (" + found.product + ")"
	}
	return Uarch{Name: found.name, Source: id + ": " + found.identity, Masked: missing(c, found), row: found}
}

func identityText(c CPUID) string {
	switch {
	case c.Vendor == "" && c.Family == 0 && c.Model == 0:
		return "a processor that gives no identity"
	case isX86(c.Vendor):
		return fmt.Sprintf("%s family %d model %d", c.Vendor, c.Family, c.Model)
	case c.Vendor == "Apple" && c.Brand != "":
		return c.Brand
	}
	return fmt.Sprintf("%s part 0x%x", c.Vendor, c.Model)
}

func isX86(vendor string) bool {
	return vendor == vendorIntel || vendor == vendorAMD || vendor == vendorHygon
}

// contradiction names the features that the row's silicon does not have. The L2 size
// alone does not contradict, since hypervisors make up cache leaves; it is added as
// evidence.
func contradiction(c CPUID, r *row) string {
	if r.has == nil {
		return ""
	}
	var alien []string
	for _, f := range tracked {
		if c.Has(f) && !slices.Contains(r.has, f) {
			alien = append(alien, f)
		}
	}
	if len(alien) == 0 {
		return ""
	}
	why := "which has no " + strings.Join(alien, ", ") + ", yet these are reported and enabled"
	if kib := c.L2Bytes >> 10; kib > 0 && r.l2 != nil && !slices.Contains(r.l2, kib) {
		why += fmt.Sprintf("; L2 is %d KiB where %s has %d KiB", kib, r.name, r.l2[0])
	}
	return why
}

func missing(c CPUID, r *row) []string {
	var out []string
	for _, f := range r.has {
		if !c.Has(f) {
			out = append(out, f)
		}
	}
	return out
}

// inference picks a row by features, the most telling first. The name says that only a
// class is known: several chips share these features.
type inference struct {
	vendor string
	needs  []string
	row    string
	class  string
}

var inferences = []inference{
	{vendorIntel, []string{"amx-fp16", "avx512fp16"}, "Granite Rapids", "Granite Rapids class (AMX-FP16, AVX512-FP16)"},
	{vendorIntel, []string{"amx-tile", "avx10"}, "Granite Rapids", "Granite Rapids class (AMX, AVX10)"}, // whose host may hide AMX-FP16
	{vendorIntel, []string{"amx-tile", "avx512fp16"}, "Sapphire Rapids", "Sapphire to Granite Rapids class (AMX, AVX512-FP16)"},
	{vendorIntel, []string{"avx512fp16"}, "Sapphire Rapids", "Sapphire to Granite Rapids class (AVX512-FP16)"},
	{vendorAMD, []string{"avx512bf16", "avxvnni"}, "Zen 5", "Zen 5 class (AVX512-BF16, AVX-VNNI)"},
	{vendorAMD, []string{"avx512bf16"}, "Zen 4", "Zen 4 class (AVX512-BF16)"},
	{vendorIntel, []string{"avx512vnni"}, "Cascade Lake", "Cascade or Ice Lake class (AVX512-VNNI)"},
	{vendorIntel, []string{"avx512f"}, "Skylake-X", "Skylake-X class (AVX-512)"},
	{vendorIntel, []string{"avxvnni", "avx2", "fma"}, "Golden Cove", "Alder Lake class (AVX-VNNI)"},
	{vendorIntel, []string{"avx2", "fma"}, "Haswell", "Haswell class (AVX2, FMA)"},
	{vendorAMD, []string{"avx2", "fma"}, "Zen 3", "Zen 2/3 class (AVX2, FMA)"},
}

func infer(c CPUID, rows []row) Uarch {
	for _, in := range inferences {
		if in.vendor != c.Vendor {
			continue
		}
		all := true
		for _, f := range in.needs {
			all = all && c.Has(f)
		}
		if !all {
			continue
		}
		for i := range rows {
			if rows[i].name == in.row && rows[i].brand == nil && rows[i].feature == "" {
				r := rows[i]
				r.dram, r.eCore = nil, "" // a socket cannot be told from features
				return Uarch{Name: in.class, Source: "inferred from features", Inferred: true, row: &r}
			}
		}
	}
	return Uarch{}
}

// OpsPerCycle is the most operations per cycle and core of an instruction set in a number
// format (a multiply and an add count two). isa is one of sse2, avx2, avx512, avx512fp16,
// avx512bf16, avx512vnni, avxvnni, amx, neon, dotprod, bf16arm, i8mm, sve. With ok false,
// source is the reason there is no figure.
func (u Uarch) OpsPerCycle(isa string, d record.DType) (ops float64, source string, ok bool) {
	if u.row == nil {
		return 0, "microarchitecture unknown: " + u.Source, false
	}
	for _, o := range u.row.ops {
		if o.isa == isa && o.dtype == d {
			return o.ops, u.label(o.source), true
		}
	}
	if u.row.noFigures != "" {
		return 0, u.row.noFigures, false
	}
	return 0, fmt.Sprintf("no sourced figure for %s with %s on %s", d, isa, u.row.name), false
}

// Rate is one figure of the table: operations per cycle and core.
type Rate struct {
	ISA    string
	DType  record.DType
	Ops    float64
	Source string
}

// Rates lists all figures of the row, in the table's order.
func (u Uarch) Rates() []Rate {
	var out []Rate
	if u.row != nil {
		for _, o := range u.row.ops {
			out = append(out, Rate{o.isa, o.dtype, o.ops, u.label(o.source)})
		}
	}
	return out
}

// isaNeeds are the features an instruction set of the table needs.
var isaNeeds = map[string][]string{
	"sse2": {"sse2"}, "avx2": {"avx2", "fma"}, "avx512": {"avx512f", "avx512dq", "avx512bw", "avx512vl"},
	"avx512fp16": {"avx512fp16"}, "avx512bf16": {"avx512bf16"}, "avx512vnni": {"avx512vnni"}, "avxvnni": {"avxvnni"},
	"amx": {"amx-tile"}, "neon": {"asimd"}, "dotprod": {"asimddp"}, "bf16arm": {"bf16"}, "i8mm": {"i8mm"}, "sve": {"sve"},
}

// ISAUsable reports whether an instruction set of the table can be used with these features.
func ISAUsable(isa string, features []string) bool {
	needs, ok := isaNeeds[isa]
	for _, f := range needs {
		ok = ok && slices.Contains(features, f)
	}
	return ok
}

// CacheBytesPerCycle is the most bytes per cycle and core that move between a level ("L1",
// "L2", "L3") and the one inside it; access is "read" or "write". With ok false, source is
// the reason there is no figure.
func (u Uarch) CacheBytesPerCycle(level, access string) (bytes float64, source string, ok bool) {
	if u.row == nil {
		return 0, "microarchitecture unknown: " + u.Source, false
	}
	for _, c := range u.row.caches {
		if c.level != level {
			continue
		}
		if access == "read" && c.read > 0 {
			return c.read, u.label(c.source), true
		}
		if access == "write" && c.write > 0 {
			return c.write, u.label(c.source), true
		}
	}
	if u.row.noFigures != "" {
		return 0, u.row.noFigures, false
	}
	return 0, fmt.Sprintf("no sourced figure for %s %s on %s", level, access, u.row.name), false
}

// DRAMUpperBound is the bandwidth of one socket in 10⁹ bytes per second with every channel
// populated at the highest rated speed. A machine with fewer or slower modules has less;
// overclocked memory may have more. With ok false, source is the reason.
func (u Uarch) DRAMUpperBound() (gbps float64, formula string, inputs map[string]float64, source string, ok bool) {
	if u.row == nil {
		return 0, "", nil, "microarchitecture unknown: " + u.Source, false
	}
	d := u.row.dram
	if d == nil {
		why := "the memory channels of " + u.row.name + " differ between products"
		if u.row.noSocket != "" {
			why = u.row.noSocket
		}
		if u.Inferred {
			why = "the socket cannot be told from features"
		}
		return 0, "", nil, why, false
	}
	inputs = map[string]float64{"channels": float64(d.channels), "mtps": d.mtps, "bytes_per_transfer": d.channelBytes}
	formula = fmt.Sprintf("%d channels × %s-%g × %g bytes", d.channels, d.memory, d.mtps, d.channelBytes)
	return float64(d.channels) * d.mtps * d.channelBytes / 1000, formula, inputs, d.source, true
}

// ECore is the microarchitecture of the efficiency cores, "" when there are none. Their
// operations per cycle have no sourced figure yet.
func (u Uarch) ECore() string {
	if u.row == nil {
		return ""
	}
	return u.row.eCore
}

func (u Uarch) label(source string) string {
	if u.Inferred {
		return "inferred from features: " + u.row.name + " row, " + source
	}
	return u.row.name + ", " + source
}

// widest is the row's highest fp32 figure, to rank unlike cores of one chip; 0 unknown.
func (u Uarch) widest() float64 {
	best := 0.0
	if u.row != nil {
		for _, o := range u.row.ops {
			if o.dtype == record.FP32 {
				best = max(best, o.ops)
			}
		}
	}
	return best
}
