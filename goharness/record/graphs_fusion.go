package record

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
)

// graphsFusion is one fusion profile of the graphs file. Numbers are nil in entries of the
// list of shapes that were not measured.
type graphsFusion struct {
	Pattern         string         `json:"fusion_pattern"`
	Operators       []string       `json:"operators"`
	NumOperators    int            `json:"num_operators"`
	UnfusedMS       *float64       `json:"unfused_latency_ms"`
	UnfusedGFLOPS   *float64       `json:"unfused_gflops"`
	UnfusedBytes    int64          `json:"unfused_memory_bytes"`
	FusedMS         *float64       `json:"fused_latency_ms"`
	FusedGFLOPS     *float64       `json:"fused_gflops"`
	FusedBytes      int64          `json:"fused_memory_bytes"`
	Speedup         *float64       `json:"speedup_factor"`
	MemoryReduction float64        `json:"memory_reduction"`
	Improvement     *float64       `json:"gflops_improvement"`
	Input           []int64        `json:"input_shape"`
	Extra           map[string]any `json:"extra_params"`
	Trials          *int           `json:"num_trials"`
}

// graphsShape is a shape of a ridge.fusion/1 document as the export reads it: a trial count
// that is absent differs from one of 0, which means not measured.
type graphsShape struct {
	FusionShape
	Trials *int `json:"num_trials"`
}

// graphsAdvice is a pattern's recommendation in one precision and mode.
type graphsAdvice struct {
	DType DType  `json:"dtype"`
	Mode  string `json:"mode"`
	Recommendation
}

// graphsFamily gathers the shapes of one pattern over precisions, modes and documents.
type graphsFamily struct {
	shapes []graphsEntry
	advice []graphsAdvice
}

type graphsEntry struct {
	file     graphsFusion
	dtype    DType
	mode     string
	flops    int64
	measured bool
}

// Keys of extra_params by which a file of our own comes back whole.
const (
	graphsShapesKey = "shapes"          // every shape of the pattern, each as a profile of its own
	graphsAdviceKey = "recommendations" // one per precision and mode
)

// shapeNames are the names of FusionShape's fields in JSON; shapeFields those that the graphs
// file has fields of its own for.
var (
	shapeNames  = fieldNames(reflect.TypeFor[FusionShape]())
	shapeFields = []string{"fusion_pattern", "input_shape", "unfused_latency_ms", "unfused_gflops", "unfused_bytes", "fused_latency_ms", "fused_gflops", "fused_bytes",
		"speedup_factor", "memory_reduction", "gflops_improvement", "extra_params", "num_trials", "graphs_memory_reduction"}
)

func fieldNames(t reflect.Type) map[string]bool {
	names := map[string]bool{}
	for i := range t.NumField() {
		names[jsonName(t.Field(i))] = true
	}
	return names
}

// convNames are the names that the format's own convolutions have in extra_params for ours.
var convNames = map[string]string{"c": "in_channels", "k": "out_channels", "r": "kernel_size"}

// fusions gives a pattern's profile under its plain name, the only key its reader looks for:
// the largest shape (the most work), of fp32 where that was measured, hot before cold. All
// shapes of all precisions and modes are in its extra_params. A pattern of which nothing was
// measured has no profile.
func (x graphsExport) fusions() (map[string]graphsFusion, error) {
	families := map[string]*graphsFamily{}
	seen := map[string]bool{}
	for i, raw := range x.doc.FusionProfiles {
		at := fmt.Sprintf("graphs export: fusion_profiles[%d]", i)
		var d struct {
			Device   Device
			Patterns []struct {
				FusionPattern
				Shapes []graphsShape `json:"shapes"`
			}
		}
		if err := json.Unmarshal(raw, &d); err != nil {
			return nil, fmt.Errorf("%s: %w", at, explainJSON(err))
		}
		if d.Device.ID != "" && d.Device.ID != x.device.ID {
			return nil, fmt.Errorf("%s: it is of device %s, the document of %s", at, clip(d.Device.ID, 60), clip(x.device.ID, 60))
		}
		for _, p := range d.Patterns {
			f := families[p.Pattern]
			if f == nil {
				f = &graphsFamily{}
				families[p.Pattern] = f
			}
			if p.Mode == "" {
				p.Mode = Hot
			}
			for _, s := range p.Shapes {
				e, err := graphsEntryOf(p.FusionPattern, s)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", at, err)
				}
				id := fmt.Sprint(p.Pattern, " ", p.DType, " ", p.Mode, " ", s.Params)
				if seen[id] {
					return nil, fmt.Errorf("%s: %s is there twice", at, clip(id, 200))
				}
				seen[id] = true
				f.shapes = append(f.shapes, e)
			}
			if p.Recommendation.Verdict != "" {
				f.advice = append(f.advice, graphsAdvice{p.DType, p.Mode, p.Recommendation})
			}
		}
	}
	out := map[string]graphsFusion{}
	for name, f := range families {
		if p := f.profile(); p != nil {
			out[name] = *p
		}
	}
	return out, nil
}

// profile is the largest measured shape with all of them in its extra_params; nil when none
// was measured.
func (f *graphsFamily) profile() *graphsFusion {
	rank := func(e graphsEntry) []int64 {
		r := []int64{0, 0, e.flops, e.file.UnfusedBytes}
		if e.dtype == FP32 {
			r[0] = 1
		}
		if e.mode == Hot {
			r[1] = 1
		}
		return r
	}
	var main *graphsEntry
	var shapes []graphsFusion
	for i := range f.shapes {
		e := &f.shapes[i]
		shapes = append(shapes, e.file)
		if e.measured && (main == nil || slices.Compare(rank(*e), rank(*main)) >= 0) {
			main = e
		}
	}
	if main == nil {
		return nil
	}
	p := main.file
	p.Extra = map[string]any{graphsShapesKey: shapes}
	if len(f.advice) > 0 {
		p.Extra[graphsAdviceKey] = f.advice
	}
	for k, v := range main.file.Extra {
		p.Extra[k] = v
	}
	return &p
}

// graphsEntryOf puts a shape into the format's fields, and what those cannot say into
// extra_params under the names of ridge.fusion/1. memory_reduction and gflops_improvement
// follow from the numbers beside them, unless the format counts bytes by a formula of its own.
func graphsEntryOf(p FusionPattern, s graphsShape) (graphsEntry, error) {
	extra := map[string]any{}
	for k, n := range s.Extra {
		extra[k] = n
	}
	if s.isConv() {
		for ours, theirs := range convNames {
			extra[theirs] = s.Extra[ours]
		}
	}
	text, err := json.Marshal(s.FusionShape)
	if err != nil {
		return graphsEntry{}, fmt.Errorf("%s: %w", clip(s.CaseID, 200), err)
	}
	var more map[string]json.RawMessage
	if err := json.Unmarshal(text, &more); err != nil {
		return graphsEntry{}, fmt.Errorf("%s: %w", clip(s.CaseID, 200), err)
	}
	for _, k := range shapeFields {
		delete(more, k)
	}
	if s.SpeedupCI95 == [2]float64{} {
		delete(more, "speedup_ci95")
	}
	for k, v := range more {
		if t := string(v); t != `""` && t != "null" {
			extra[k] = v
		}
	}
	extra["dtype"], extra["mode"] = p.DType, p.Mode
	f := graphsFusion{Pattern: p.Pattern, Operators: p.Operators, NumOperators: len(p.Operators), UnfusedBytes: s.UnfusedBytes, FusedBytes: s.FusedBytes,
		Input: s.InputShape, Extra: extra, Trials: s.Trials}
	if s.UnfusedBytes > 0 {
		f.MemoryReduction = 1 - float64(s.FusedBytes)/float64(s.UnfusedBytes)
	}
	if s.GraphsReduction != nil {
		f.MemoryReduction = *s.GraphsReduction
	}
	measured := s.Trials == nil || *s.Trials > 0
	if measured {
		f.UnfusedMS, f.UnfusedGFLOPS, f.FusedMS, f.FusedGFLOPS, f.Speedup = &s.UnfusedMS, &s.UnfusedGFLOPS, &s.FusedMS, &s.FusedGFLOPS, &s.Speedup
		gain := 0.0
		if s.UnfusedGFLOPS > 0 {
			gain = (s.FusedGFLOPS - s.UnfusedGFLOPS) / s.UnfusedGFLOPS
		}
		f.Improvement = &gain
	}
	return graphsEntry{file: f, dtype: p.DType, mode: p.Mode, flops: s.FLOPs, measured: measured}, nil
}

// isConv reports whether the shape's parameters are those of a convolution.
func (s *FusionShape) isConv() bool {
	for ours := range convNames {
		if _, ok := s.Extra[ours]; !ok {
			return false
		}
	}
	_, image := s.Extra["hw"]
	return image
}
