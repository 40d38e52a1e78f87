package record

import (
	"encoding/json"
	"fmt"
)

// What a calibration made of a graphs file keeps of it, so that an export gives the same
// profiles again: beside the document's and the results' own fields, under these names.
const (
	graphsFileKey    = "graphs_file"
	graphsProfileKey = "graphs_profile"
)

// graphsTool stands for the format's own tool, whose files give a version alone.
const graphsTool = "branes-ai/graphs"

// graphsFileKept is kept of the file: fields of its metadata that a calibration has no room
// for, and the precisions that its matrix lists.
type graphsFileKept struct {
	Metadata    graphsMetaKept `json:"metadata"`
	Supported   []DType        `json:"supported_precisions,omitempty"`
	Unsupported []DType        `json:"unsupported_precisions,omitempty"`
}

// graphsMetaKept are fields as they stand in the file; nil where it has none.
type graphsMetaKept struct {
	Python    *string        `json:"python_version,omitempty"`
	PyTorch   *string        `json:"pytorch_version,omitempty"`
	NumPy     *string        `json:"numpy_version,omitempty"`
	Framework *string        `json:"framework,omitempty"`
	Warmup    *int           `json:"num_warmup_runs,omitempty"`
	Runs      *int           `json:"num_measurement_runs,omitempty"`
	GPUClock  map[string]any `json:"gpu_clock,omitempty"`
	CPUClock  map[string]any `json:"cpu_clock,omitempty"`
}

func (k graphsMetaKept) restore(m *graphsMetadata) {
	put := func(to *string, from *string) {
		if from != nil {
			*to = *from
		}
	}
	put(&m.PythonVersion, k.Python)
	put(&m.PyTorchVersion, k.PyTorch)
	put(&m.NumPyVersion, k.NumPy)
	put(&m.Framework, k.Framework)
	if k.Warmup != nil {
		m.Warmup = k.Warmup
	}
	if k.Runs != nil {
		m.Runs = k.Runs
	}
	if k.GPUClock != nil {
		m.GPUClock = k.GPUClock
	}
	if k.CPUClock != nil {
		m.CPUClock = k.CPUClock
	}
}

// graphsProfileKept is kept of a profile that another tool wrote, on each of its results.
type graphsProfileKept struct {
	Key      string         `json:"key"`
	Main     bool           `json:"main,omitempty"` // the profile's own numbers are of this precision
	Extra    map[string]any `json:"extra_params,omitempty"`
	Input    []int64        `json:"input_shape,omitempty"`
	Output   []int64        `json:"output_shape,omitempty"`
	TestSize *int64         `json:"test_size,omitempty"`
	// NoPrecisions: the profile had no precision_results.
	NoPrecisions bool `json:"no_precision_results,omitempty"`
}

// graphsCarried is what extra_params tells of one result beyond the format's fields, by which
// a file of our own gives the same result again.
type graphsCarried struct {
	CaseID          string            `json:"case_id"`
	Params          map[string]string `json:"params,omitempty"` // with the defaults, which the id leaves out
	Suite           string            `json:"suite,omitempty"`
	UseCase         string            `json:"use_case,omitempty"`
	Kernel          string            `json:"kernel,omitempty"`
	ISA             string            `json:"isa,omitempty"`
	Accumulate      DType             `json:"accumulate,omitempty"`
	Status          Status            `json:"status"`
	Reason          string            `json:"reason,omitempty"`
	MedianNS        float64           `json:"median_ns,omitempty"`
	CI95NS          [2]float64        `json:"ci95_ns"`
	MADNS           float64           `json:"mad_ns,omitempty"`
	P90NS           float64           `json:"p90_ns,omitempty"`
	P95NS           float64           `json:"p95_ns,omitempty"`
	P99NS           float64           `json:"p99_ns,omitempty"`
	FLOPs           int64             `json:"flops"`
	ExecutedFLOPs   int64             `json:"executed_flops,omitempty"`
	Computes        DType             `json:"computes,omitempty"`
	Bytes           int64             `json:"bytes"`
	WorkingSetBytes int64             `json:"working_set_bytes,omitempty"`
	Batch           int64             `json:"batch,omitempty"`
	Items           int64             `json:"items,omitempty"`
	ItemUnit        string            `json:"item_unit,omitempty"`
	Ceiling         *ResultCeiling    `json:"ceiling,omitempty"`
	Concurrent      []Concurrent      `json:"concurrent,omitempty"` // conditions without which the time is another one
}

// graphsResultsKey is the key of extra_params that holds a graphsCarried for each precision.
const graphsResultsKey = "results"

func carriedOf(r *Result) graphsCarried {
	c := graphsCarried{CaseID: r.ID, Params: r.Params, Suite: r.Suite, UseCase: r.UseCase, Kernel: r.Kernel, ISA: r.ISA, Accumulate: r.Accumulate, Status: r.Status, Reason: r.Reason,
		FLOPs: r.FLOPs, ExecutedFLOPs: r.ExecutedFLOPs, Computes: r.Computes, Bytes: r.Bytes, WorkingSetBytes: r.WorkingSetBytes, Batch: r.Batch, Items: r.Items, ItemUnit: r.ItemUnit}
	if r.Status.Counts() && r.Time != nil {
		t := r.Time
		c.MedianNS, c.CI95NS, c.MADNS, c.P90NS, c.P95NS, c.P99NS = t.MedianNS, t.CI95NS, t.MADNS, t.P90NS, t.P95NS, t.P99NS
		c.Ceiling = r.Ceiling
	}
	if r.Conditions != nil {
		c.Concurrent = r.Conditions.Concurrent
	}
	return c
}

// keptOf reads what a document or result keeps under a name; a zero value without it.
func keptOf[T any](extra map[string]json.RawMessage, name string) (v T, there bool, err error) {
	raw, there := extra[name]
	if !there {
		return v, false, nil
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, true, fmt.Errorf("%s: %w", name, explainJSON(err))
	}
	return v, true, nil
}

// keep stores a value under a name of extra.
func keep(extra *map[string]json.RawMessage, name string, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if *extra == nil {
		*extra = map[string]json.RawMessage{}
	}
	(*extra)[name] = raw
	return nil
}
