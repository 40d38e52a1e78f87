package record

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// noInterval is why a fusion profile of another tool has no verdict.
const noInterval = "a graphs file has no interval of the speed-up"

// fusionSlot is a pattern in one precision and mode.
type fusionSlot struct {
	pattern string
	dtype   DType
	mode    string
}

// fusions makes one ridge.fusion/1 profile of the fusion profiles; none without any.
func (m *graphsImport) fusions() {
	all, there := m.file.field("fusion_profiles")
	if !there || m.err != nil {
		return
	}
	names, fields := all.objects()
	slots := map[fusionSlot]*FusionPattern{}
	var order []fusionSlot
	seen := map[string]string{}
	for i, n := range fields {
		advice := map[fusionSlot]Recommendation{}
		for _, e := range m.shapesOf(n) {
			slot, s, operators := m.fusionShape(names[i], e)
			if m.err != nil {
				return
			}
			if at, twice := seen[s.CaseID]; twice {
				e.fail("case %q is %s already", clip(s.CaseID, 200), at)
				return
			}
			seen[s.CaseID] = e.path
			p := slots[slot]
			if p == nil {
				p = &FusionPattern{Pattern: slot.pattern, Operators: operators, DType: slot.dtype, Mode: slot.mode,
					Recommendation: Recommendation{Verdict: "inconclusive", Reason: noInterval}}
				slots[slot], order = p, append(order, slot)
			}
			p.Shapes = append(p.Shapes, s)
			advice[slot] = p.Recommendation
		}
		m.advice(n, advice)
		if m.err != nil { // it may name a slot that is not there
			return
		}
		for slot, r := range advice {
			slots[slot].Recommendation = r
		}
	}
	if len(slots) == 0 || m.err != nil {
		return
	}
	f := Fusion{Schema: SchemaFusion, RunID: m.doc.RunID, Created: m.doc.Created, Tool: m.doc.Tool, Host: m.doc.Host, Device: m.device, Complete: true}
	for _, slot := range order {
		f.Patterns = append(f.Patterns, *slots[slot])
	}
	text, err := EncodeFusion(f)
	if err == nil {
		err = ValidateFusion(text)
	}
	if err != nil {
		all.fail("%v", err)
		return
	}
	m.doc.FusionProfiles = append(m.doc.FusionProfiles, text)
}

// shapesOf is the profile, or all shapes that its extra_params lists.
func (m *graphsImport) shapesOf(n graphsNode) []graphsNode {
	extra, there := n.field("extra_params")
	if there {
		if list, there := extra.field(graphsShapesKey); there && len(list.items()) > 0 {
			if _, flat := list.items()[0].value.(map[string]any); flat {
				return list.items()
			}
		}
	}
	return []graphsNode{n}
}

// advice reads the recommendations of a file of our own.
func (m *graphsImport) advice(n graphsNode, to map[fusionSlot]Recommendation) {
	extra, there := n.field("extra_params")
	if !there {
		return
	}
	list, there := extra.field(graphsAdviceKey)
	if !there {
		return
	}
	pattern := textOr(n.text("fusion_pattern"), "")
	for _, e := range list.items() {
		var a graphsAdvice
		e.decode(&a)
		slot := fusionSlot{pattern, a.DType, a.Mode}
		if _, known := to[slot]; !known {
			e.fail("no shape of the pattern is in %s and %s", clip(string(a.DType), 40), clip(a.Mode, 40))
		}
		if !slices.Contains([]string{"fuse", "do_not_fuse", "depends_on_size", "inconclusive"}, a.Verdict) {
			v, _ := e.field("verdict")
			v.expected("fuse, do_not_fuse, depends_on_size or inconclusive")
		}
		to[slot] = a.Recommendation
	}
}

// fusionShape reads one shape. What extra_params holds under the names of ridge.fusion/1 is
// taken as it is; its other whole numbers are the shape's extra_params.
func (m *graphsImport) fusionShape(key string, n graphsNode) (fusionSlot, FusionShape, []string) {
	extra, there := n.field("extra_params")
	if !there {
		extra.value = map[string]any{}
	}
	var s FusionShape
	fields := map[string]any{}
	for _, k := range sortedKeys(objectOf(extra.value)) {
		if shapeNames[k] && !slices.Contains(shapeFields, k) {
			fields[k] = objectOf(extra.value)[k]
		}
	}
	graphsNode{fields, extra.path, extra.first}.decode(&s)
	s.Pattern = textOr(n.text("fusion_pattern"), "")
	if err := checkToken(s.Pattern, ""); err != nil {
		n.must("fusion_pattern").fail("%v", err)
	}
	s.InputShape = n.shape("input_shape")
	slot := fusionSlot{s.Pattern, DType(textOr(extra.text("dtype"), string(FP32))), textOr(extra.text("mode"), Hot)}
	if slot.mode != Hot && slot.mode != Cold {
		x, _ := extra.field("mode")
		x.expected("hot or cold")
	}
	d, _ := extra.field("dtype")
	d.dtype(string(slot.dtype))
	m.extraNumbers(extra, &s)
	m.fusionNumbers(n, &s)
	operators := n.texts("operators")
	if count := n.whole("num_operators", 0, maxCount); count != nil && int(*count) != len(operators) {
		x, _ := n.field("num_operators")
		x.expected(fmt.Sprintf("%d, the length of operators", len(operators)))
	}
	m.fusionCase(key, n, slot, &s, extra)
	m.fusionVerdict(&s, extra)
	return slot, s, operators
}

func objectOf(v any) map[string]any {
	o, _ := v.(map[string]any)
	return o
}

// extraNumbers are the whole numbers of extra_params that are not fields of a shape; the
// format's own names of a convolution's parameters repeat ours.
func (m *graphsImport) extraNumbers(extra graphsNode, s *FusionShape) {
	s.Extra = map[string]int64{}
	names, fields := extra.objects()
	for i, k := range names {
		if v, ok := fields[i].value.(json.Number); ok && !shapeNames[k] {
			if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
				s.Extra[k] = n
			}
		}
	}
	if s.isConv() {
		for ours, theirs := range convNames {
			if v, there := s.Extra[theirs]; there && v == s.Extra[ours] {
				delete(s.Extra, theirs)
			}
		}
	}
}

func (m *graphsImport) fusionNumbers(n graphsNode, s *FusionShape) {
	open := s.Verdict == "not measured"
	get := func(name string, most float64) float64 {
		v := n.number(name, 0, most)
		if v == nil && !open {
			n.must(name)
		}
		if v == nil {
			return 0
		}
		return *v
	}
	s.UnfusedMS, s.FusedMS, s.Speedup = get("unfused_latency_ms", maxMS), get("fused_latency_ms", maxMS), get("speedup_factor", maxRatio)
	s.UnfusedGFLOPS, s.FusedGFLOPS = get("unfused_gflops", maxRate), get("fused_gflops", maxRate)
	if !open && !(s.UnfusedMS > 0 && s.FusedMS > 0 && s.Speedup > 0) {
		n.fail("unfused_latency_ms, fused_latency_ms and speedup_factor: expected numbers above 0")
	}
	if v := n.number("gflops_improvement", -1, maxRatio); v != nil {
		s.Improvement = *v
	}
	bytes := func(name string) int64 {
		if v := n.whole(name, 0, 1<<62); v != nil {
			return *v
		}
		return 0
	}
	s.UnfusedBytes, s.FusedBytes = bytes("unfused_memory_bytes"), bytes("fused_memory_bytes")
	if s.UnfusedBytes > 0 {
		s.MemoryReduction = 1 - float64(s.FusedBytes)/float64(s.UnfusedBytes)
	}
	if v := n.number("memory_reduction", 0, 1); v != nil && math.Abs(*v-s.MemoryReduction) > 1e-9 {
		s.GraphsReduction = v
	}
	switch t := n.whole("num_trials", 0, maxCount); {
	case t != nil && *t == 0 && !open:
		n.must("num_trials").expected("at least 1")
	case t != nil:
		s.Trials = int(*t)
	case !open:
		s.Trials = 100 // as its reader takes a profile without the number
	}
}

// fusionCase checks or makes the shape's case id and parameters.
func (m *graphsImport) fusionCase(key string, n graphsNode, slot fusionSlot, s *FusionShape, extra graphsNode) {
	at, there := extra.field("case_id")
	if there {
		id, err := ParseCaseID(s.CaseID)
		switch {
		case err != nil:
			at.fail("%v", err)
		case id.Op != slot.pattern || id.DType != slot.dtype || id.Mode != slot.mode:
			at.fail("case %q is not of %s in %s and %s", clip(s.CaseID, 200), slot.pattern, slot.dtype, slot.mode)
		default:
			m.onDevice(at, id.Device)
		}
		return
	}
	m.onDevice(n, m.device.ID)
	id := CaseID{Device: m.device.ID, Op: slot.pattern, DType: slot.dtype, Mode: slot.mode}
	s.Params = map[string]string{}
	add := func(name, value string) {
		id.Params, s.Params[name] = append(id.Params, Param{name, value}), value
	}
	if len(s.InputShape) > 0 {
		add("in", dimsText(s.InputShape))
	}
	for _, k := range sortedKeys(s.Extra) {
		if checkToken(k, "") == nil && !measuredName.MatchString(k) && k != "in" && k != "key" {
			add(k, strconv.FormatInt(s.Extra[k], 10))
		}
	}
	if key != slot.pattern {
		if text, ok := asked(decimal.ReplaceAllString(key, "")); ok {
			add("key", text)
		}
	}
	if err := id.Validate(); err != nil {
		n.fail("%v", err)
	}
	s.CaseID = id.String()
}

// fusionVerdict keeps a verdict only where the file has its interval.
func (m *graphsImport) fusionVerdict(s *FusionShape, extra graphsNode) {
	bad := func(name, what string) {
		f, _ := extra.field(name)
		f.expected(what)
	}
	switch lo, hi := s.SpeedupCI95[0], s.SpeedupCI95[1]; {
	case s.Verdict == "not measured":
		if s.Status.Counts() || s.Status == "" {
			bad("status", "one of a shape that was not measured")
		}
		return
	case lo == 0 && hi == 0:
		s.Status, s.Verdict, s.AtLeast, s.Reason, s.SpeedupCI95 = Noisy, "inconclusive", "", noInterval, [2]float64{}
		if s.FLOPs == 0 && s.UnfusedGFLOPS*s.UnfusedMS*1e6 < 1<<62 {
			s.FLOPs = int64(math.Round(s.UnfusedGFLOPS * s.UnfusedMS * 1e6))
		}
		return
	case !(0 <= lo && lo <= hi): // few quartets say little: the upper end has no bound but a float's
		bad("speedup_ci95", "two numbers of at least 0 in order")
	case !s.Status.Counts():
		bad("status", "ok or noisy beside numbers")
	case !slices.Contains([]string{"strong", "moderate", "minimal", "slower", "inconclusive"}, s.Verdict):
		bad("verdict", "strong, moderate, minimal, slower or inconclusive")
	}
	if s.FLOPs < 0 {
		bad("flops", "a count of 0 or more")
	}
}
