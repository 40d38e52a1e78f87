package compare

// Unused are the fields of a calibration that no comparison reads: half of a document's text. See record.ReadDocument.
var Unused = []string{
	"results.metrics", "results.verification", "results.ceiling", "results.candidates", "results.vendor_fused", "results.attempts",
	"results.device_memory", "results.reproduce", "results.started", "results.params", "results.warnings",
	"results.conditions.steal_ns", "results.conditions.run_delay_ns", "results.conditions.involuntary_switches", "results.conditions.major_faults",
	"results.conditions.temperature_c", "results.conditions.huge_page_share", "results.conditions.flush_denormals",
	"results.conditions.barrier_before_ns", "results.conditions.barrier_after_ns", "results.conditions.event_resolution_ns",
	"results.conditions.input_distribution", "results.conditions.numa_placement", "results.conditions.page_size",
	"results.conditions.cgroup_quota_cpus", "results.arms.verification",
}
