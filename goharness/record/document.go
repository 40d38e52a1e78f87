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
	Energy         *EnergyReport     `json:"energy,omitempty" jsonschema:"description=how the energies of the results were taken; absent when none were asked for"`
	// Energies are those of several devices, in the order in which they were measured.
	Energies []EnergyReport `json:"energies,omitempty" jsonschema:"description=of a run over several devices: how the energies of each were taken; energy is absent then"`
	// Extra keeps fields of a later minor version.
	Extra map[string]json.RawMessage `json:"-"`
}

// EnergyOf says how the energies of a device's results were taken; nil where none were asked for.
func (d *Calibration) EnergyOf(device string) *EnergyReport {
	if d.Energy != nil && d.Energy.Device == device {
		return d.Energy
	}
	for i := range d.Energies {
		if d.Energies[i].Device == device {
			return &d.Energies[i]
		}
	}
	return nil
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

// FactSimulated, of a device that the CPU stands in for, says what does.
const FactSimulated = "simulated"

// FactDevices is how many devices of the platform the machine has.
const FactDevices = "devices"

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
	Plateaus    []Plateau               `json:"plateaus,omitempty" jsonschema:"description=levels of memory that the latency sweep shows"`
	Scaling     []Scaling               `json:"scaling,omitempty" jsonschema:"description=DRAM-sized STREAM triads of all threads beside one thread"`
}

// Plateau is a stretch of working-set sizes over which the latency of one thread's loads
// stays about the same.
type Plateau struct {
	Level         string  `json:"level,omitempty" jsonschema:"description=the level of memory that it matches; absent when none is known"`
	FromBytes     int64   `json:"from_bytes" jsonschema:"description=smallest working set measured on it"`
	ToBytes       int64   `json:"to_bytes" jsonschema:"description=largest working set measured on it"`
	LatencyNS     float64 `json:"latency_ns" jsonschema:"description=median over its points; ns per dependent load"`
	Points        int     `json:"points"`
	ReportedBytes int64   `json:"reported_bytes,omitempty" jsonschema:"description=size of the level for one thread as the system reports it"`
}

// Scaling is how the bandwidth of one thread grows to that of all of them. All threads run in
// the same time window.
type Scaling struct {
	Op            string  `json:"op"`
	DType         DType   `json:"dtype"`
	Threads       int     `json:"threads"`
	OneGBps       float64 `json:"one_thread_gbps" jsonschema:"description=10^9 bytes per second"`
	AllGBps       float64 `json:"all_threads_gbps" jsonschema:"description=10^9 bytes per second"`
	Efficiency    float64 `json:"efficiency" jsonschema:"description=all_threads_gbps over threads x one_thread_gbps"`
	OneThreadCase string  `json:"one_thread_case"`
	AllCase       string  `json:"all_threads_case"`
}

// SuiteSummary holds the bests of one suite.
type SuiteSummary struct {
	Cases             int     `json:"cases"`
	BestGFLOPS        float64 `json:"best_gflops,omitempty"`
	BestGFLOPSCase    string  `json:"best_gflops_case,omitempty"`
	BestBandwidthGBps float64 `json:"best_bandwidth_gbps,omitempty" jsonschema:"description=from DRAM-sized cases only; 10^9 bytes per second"`
	BestBandwidthCase string  `json:"best_bandwidth_case,omitempty"`
}
