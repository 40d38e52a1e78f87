package record

// Metrics are derived when the document is written. Each group is present when it was
// selected (--metrics) and can be known.
type Metrics struct {
	Latency    *LatencyMetrics    `json:"latency,omitempty"`
	Throughput *ThroughputMetrics `json:"throughput,omitempty"`
	Memory     *MemoryMetrics     `json:"memory,omitempty"`
	FLOPs      *FLOPMetrics       `json:"flops,omitempty"`
	Power      *PowerMetrics      `json:"power,omitempty"`
	Bandwidth  *BandwidthMetrics  `json:"bandwidth,omitempty"`
}

// MetricGroups are the names a user may select, in display order.
var MetricGroups = []string{"latency", "throughput", "memory", "flops", "power", "bandwidth"}

// LatencyMetrics describe the time of one launch in milliseconds.
type LatencyMetrics struct {
	Mean   float64 `json:"latency_ms" jsonschema:"description=mean"`
	Median float64 `json:"latency_median_ms"`
	Min    float64 `json:"latency_min_ms"`
	Max    float64 `json:"latency_max_ms"`
	Std    float64 `json:"latency_std_ms"`
	P90    float64 `json:"latency_p90_ms"`
	P95    float64 `json:"latency_p95_ms"`
	P99    float64 `json:"latency_p99_ms"`
}

// ThroughputMetrics count timed launches only.
type ThroughputMetrics struct {
	ItemsPerSec   float64 `json:"throughput_items_per_sec"`
	BatchesPerSec float64 `json:"throughput_batches_per_sec"`
	TotalItems    int64   `json:"total_items_processed"`
	TimePerBatch  float64 `json:"time_per_batch_ms"`
	Item          string  `json:"item" jsonschema:"description=what one item is"`
}

// MemoryMetrics are the worker's memory in MB (10^6 bytes), sampled outside the timed windows.
type MemoryMetrics struct {
	PeakMB           float64  `json:"memory_peak_mb" jsonschema:"description=high-water mark of the worker's resident set"`
	AllocatedStartMB *float64 `json:"memory_allocated_start_mb,omitempty" jsonschema:"description=device buffers before the case; absent when not counted"`
	AllocatedEndMB   *float64 `json:"memory_allocated_end_mb,omitempty" jsonschema:"description=device buffers after the case; absent when not counted"`
	GrowthMB         float64  `json:"memory_growth_mb" jsonschema:"description=resident set after the case less before it"`
	CPUStartMB       float64  `json:"cpu_memory_start_mb" jsonschema:"description=resident set of the worker before the case"`
	CPUEndMB         float64  `json:"cpu_memory_end_mb"`
}

// FLOPMetrics relate the work to the limits.
type FLOPMetrics struct {
	FLOPs              int64   `json:"flops"`
	GFLOPS             float64 `json:"gflops"`
	TFLOPS             float64 `json:"tflops"`
	HardwareEfficiency float64 `json:"hardware_efficiency,omitempty" jsonschema:"description=fraction of the measured compute ceiling (0..1)"`
	UtilizationPct     float64 `json:"flops_utilization_pct,omitempty" jsonschema:"description=percent of the theoretical or user-given compute peak; above 100 the given peak is too low"`
	PeakSource         string  `json:"peak_source,omitempty" jsonschema:"description=what flops_utilization_pct refers to: theoretical; measured; user"`
	Unavailable        string  `json:"unavailable,omitempty" jsonschema:"description=why a field of this group is absent"`
}

// PowerMetrics need an energy meter.
type PowerMetrics struct {
	AvgWatts          float64 `json:"power_avg_watts,omitempty"`
	MaxWatts          float64 `json:"power_max_watts,omitempty"`
	EnergyJoules      float64 `json:"energy_joules,omitempty"`
	GFLOPSPerWatt     float64 `json:"gflops_per_watt,omitempty" jsonschema:"description=FLOP of the operation that was asked for / joules / 10^9 over the same window; as gflops"`
	OpsPerWatt        float64 `json:"ops_per_watt,omitempty"`
	ThroughputPerWatt float64 `json:"throughput_per_watt,omitempty" jsonschema:"description=items per second and watt; which is items per joule"`
	PJPerFLOP         float64 `json:"energy_per_flop_pj,omitempty" jsonschema:"description=gross joules over the operation's FLOP in the windows; 10^-12 J; what one executed costs is the energy roofline's"`
	PJPerByte         float64 `json:"energy_per_byte_pj,omitempty" jsonschema:"description=gross joules over modelled bytes in the windows; 10^-12 J"`
	UncertaintyPct    float64 `json:"energy_uncertainty_percent,omitempty" jsonschema:"description=95 %; of all figures of this group but the highest power"`
	Unavailable       string  `json:"unavailable,omitempty"`
}

// BandwidthMetrics: gbps means 10^9 bytes per second throughout.
type BandwidthMetrics struct {
	AvgGBps            float64 `json:"avg_bandwidth_gbps" jsonschema:"description=sum of bytes over sum of time; 10^9 bytes per second"`
	PeakGBps           float64 `json:"peak_bandwidth_gbps" jsonschema:"description=fastest sample; 10^9 bytes per second"`
	PeakTheoretical    float64 `json:"peak_theoretical_bandwidth_gbps,omitempty" jsonschema:"description=10^9 bytes per second"`
	UtilizationPercent float64 `json:"bandwidth_utilization_percent,omitempty" jsonschema:"description=of the measured ceiling of the level (or of the peak the user gave)"`
	TransfersGB        float64 `json:"memory_transfers_gb" jsonschema:"description=modelled bytes of one launch in 10^9 bytes"`
	Intensity          float64 `json:"arithmetic_intensity_flops_per_byte"`
	ComputeBound       bool    `json:"compute_bound" jsonschema:"description=the compute limit predicts the longer time (ceiling.bound); with memory_bound false too it is unknown"`
	MemoryBound        bool    `json:"memory_bound" jsonschema:"description=the memory limit predicts the longer time (ceiling.bound)"`
	Traffic            string  `json:"traffic" jsonschema:"description=modelled or measured"`
	PeakSource         string  `json:"peak_source,omitempty" jsonschema:"description=what bandwidth_utilization_percent refers to: measured; user"`
	Unavailable        string  `json:"unavailable,omitempty" jsonschema:"description=why a field of this group is absent"`
}
