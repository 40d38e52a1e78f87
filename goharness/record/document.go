package record

import "encoding/json"

// SchemaCalibration names the calibration document's schema.
const SchemaCalibration = "ridge.calibration/1"

// Calibration is the document of one measurement campaign.
type Calibration struct {
	Schema         string            `json:"schema" jsonschema:"const=ridge.calibration/1"`
	RunID          string            `json:"run_id"`
	Created        string            `json:"created" jsonschema:"description=RFC 3339"`
	Tool           Tool              `json:"tool"`
	Command        []string          `json:"command"`
	Host           Host              `json:"host"`
	Devices        []Device          `json:"devices"`
	Preflight      Preflight         `json:"preflight"`
	Ceilings       []Ceiling         `json:"ceilings"`
	Results        []Result          `json:"results"`
	FusionProfiles []json.RawMessage `json:"fusion_profiles"`
	Summary        Summary           `json:"summary"`
	// Extra keeps fields of a later minor version.
	Extra map[string]json.RawMessage `json:"-"`
}

// Tool identifies the program that measured.
type Tool struct {
	Name      string   `json:"name"`
	Version   string   `json:"version"`
	GoVersion string   `json:"go_version"`
	Compiler  string   `json:"compiler"`
	Flags     string   `json:"compiler_flags"`
	Revision  string   `json:"revision,omitempty"`
	Backends  []string `json:"backends"`
}

// Device is a measured device.
type Device struct {
	ID       string            `json:"id" jsonschema:"description=cpu; cuda:0; ..."`
	Platform string            `json:"platform"`
	Name     string            `json:"name"`
	ISA      []string          `json:"isa,omitempty"`
	Threads  int               `json:"threads,omitempty"`
	Memory   int64             `json:"memory_bytes,omitempty"`
	Facts    map[string]string `json:"facts,omitempty"`
}

// Summary counts results by status and names the bests per suite. Invalid and wrong
// results are never counted.
type Summary struct {
	Counts      map[Status]int          `json:"counts"`
	Suites      map[string]SuiteSummary `json:"suites"`
	WallSeconds float64                 `json:"wall_seconds"`
	Quick       bool                    `json:"quick"`
	Complete    bool                    `json:"complete" jsonschema:"description=false when the run was interrupted"`
	Resumed     int                     `json:"resumed,omitempty"`
	Warnings    []string                `json:"warnings,omitempty"`
}

// SuiteSummary holds the bests of one suite.
type SuiteSummary struct {
	Cases             int     `json:"cases"`
	BestGFLOPS        float64 `json:"best_gflops,omitempty"`
	BestGFLOPSCase    string  `json:"best_gflops_case,omitempty"`
	BestBandwidthGBps float64 `json:"best_bandwidth_gbps,omitempty" jsonschema:"description=from DRAM-sized cases only; 10^9 bytes per second"`
	BestBandwidthCase string  `json:"best_bandwidth_case,omitempty"`
}
