package compare

// Unused are the fields of a calibration that no comparison reads: most of a document's text beside the samples. See record.ReadDocument.
var Unused = []string{
	"results.suite", "results.params", "results.device", "results.threads", "results.mode", "results.batch", "results.kernel_requested",
	"results.fallback_reason", "results.isa", "results.verification", "results.executed_flops", "results.computes", "results.packed_bytes",
	"results.working_set_bytes", "results.read_bytes", "results.write_bytes", "results.input_streams", "results.item_unit",
	"results.arithmetic_intensity_flops_per_byte", "results.ceiling", "results.metrics", "results.attempts", "results.ratio", "results.candidates",
	"results.vendor_fused", "results.device_memory", "results.warnings", "results.reproduce", "results.started", "results.wall_ns",
	"results.time.min_ns", "results.time.max_ns", "results.time.mean_ns", "results.time.mad_ns", "results.time.p90_ns", "results.time.p95_ns",
	"results.time.p99_ns", "results.time.disturbed", "results.time.launches_per_sample", "results.time.lag1_autocorrelation",
	"results.time.relative_half_width", "results.time.warmup_ns", "results.time.warmup_launches", "results.time.warmup_converged",
	"results.time.stop_rule",
	"results.conditions.threads", "results.conditions.barrier_before_ns", "results.conditions.barrier_after_ns", "results.conditions.together_over_alone", "results.conditions.steal_ns",
	"results.conditions.run_delay_ns", "results.conditions.involuntary_switches", "results.conditions.major_faults", "results.conditions.temperature_c",
	"results.conditions.throttled", "results.conditions.input_distribution", "results.conditions.seed", "results.conditions.flush_denormals",
	"results.conditions.page_size", "results.conditions.numa_placement", "results.conditions.cgroup_quota_cpus", "results.conditions.buffer_sets",
	"results.conditions.priority", "results.conditions.peak_memory_bytes", "results.conditions.memory_before_bytes",
	"results.conditions.memory_after_bytes", "results.conditions.board", "results.conditions.launching", "results.conditions.event_resolution_ns",
	"results.arms.libraries", "results.arms.kernel_params", "results.arms.isa", "results.arms.verification", "results.arms.flops",
	"results.arms.executed_flops", "results.arms.computes", "results.arms.bytes", "results.arms.buffer_sets", "results.arms.energy",
	"results.arms.time.min_ns", "results.arms.time.max_ns", "results.arms.time.mean_ns", "results.arms.time.mad_ns", "results.arms.time.p90_ns",
	"results.arms.time.p95_ns", "results.arms.time.p99_ns", "results.arms.time.disturbed", "results.arms.time.launches_per_sample",
	"results.arms.time.lag1_autocorrelation", "results.arms.time.relative_half_width", "results.arms.time.warmup_ns",
	"results.arms.time.warmup_launches", "results.arms.time.warmup_converged", "results.arms.time.stop_rule",
}
