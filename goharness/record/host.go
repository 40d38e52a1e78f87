package record

// Host is what the machine is. Every unknown carries its reason.
type Host struct {
	Name       string       `json:"name,omitempty" jsonschema:"description=name given by the user (--hardware)"`
	Hostname   string       `json:"hostname"`
	OS         string       `json:"os"`
	Kernel     Fact[string] `json:"kernel"`
	Arch       string       `json:"arch"`
	CPU        CPU          `json:"cpu"`
	NUMANodes  []NUMANode   `json:"numa_nodes"`
	NUMAReason string       `json:"numa_unavailable,omitempty" jsonschema:"description=why numa_nodes is empty"`
	Memory     Memory       `json:"memory"`
	Limits     Limits       `json:"limits"`
	Hypervisor Fact[string] `json:"hypervisor" jsonschema:"description=none on bare metal"`
	Container  Fact[string] `json:"container" jsonschema:"description=none outside containers"`
	HugePages  HugePages    `json:"huge_pages"`
	// VendorLibraries are looked up where they matter: for fusion profiles and ridge info.
	VendorLibraries []VendorLibrary `json:"vendor_libraries,omitempty" jsonschema:"description=libraries that may be an unfused baseline"`
}

// CPU identity, topology and clocks. On arm64 family is the implementer, model_number the
// part number and stepping the revision of MIDR_EL1.
type CPU struct {
	Vendor      string `json:"vendor"`
	Model       string `json:"model" jsonschema:"description=the brand string"`
	Family      int    `json:"family"`
	ModelNumber int    `json:"model_number"`
	Stepping    int    `json:"stepping"`

	Microarchitecture       string   `json:"microarchitecture"`
	MicroarchitectureSource string   `json:"microarchitecture_source" jsonschema:"description=table row; inferred from features; or why unknown"`
	Contradictory           bool     `json:"contradictory" jsonschema:"description=model number and features cannot belong to the same silicon"`
	Contradiction           string   `json:"contradiction,omitempty"`
	MaskedFeatures          []string `json:"masked_features,omitempty" jsonschema:"description=features this silicon has and this system does not offer"`
	Features                []string `json:"features" jsonschema:"description=usable here: offered by the CPU and enabled by the operating system"`

	Sockets   Fact[int]    `json:"sockets"`
	Cores     Fact[int]    `json:"cores" jsonschema:"description=physical cores online"`
	Threads   Fact[int]    `json:"threads" jsonschema:"description=logical CPUs online"`
	SMT       Fact[int]    `json:"smt" jsonschema:"description=most threads of one core"`
	CoreTypes []CoreType   `json:"core_types,omitempty" jsonschema:"description=more than one on hybrid CPUs"`
	Logical   []LogicalCPU `json:"logical,omitempty"`

	Caches       []Cache `json:"caches"`
	CachesReason string  `json:"caches_unavailable,omitempty" jsonschema:"description=why caches is empty or incomplete"`
	Clock        Clock   `json:"clock"`
}

// CoreType is one kind of core of a hybrid CPU.
type CoreType struct {
	Name              string        `json:"name" jsonschema:"description=P; E; LPE; or the core's name"`
	Microarchitecture string        `json:"microarchitecture"`
	CPUs              string        `json:"cpus" jsonschema:"description=list such as 0-15"`
	Cores             int           `json:"cores"`
	Threads           int           `json:"threads"`
	MaxMHz            Fact[float64] `json:"max_mhz"`
}

// LogicalCPU is one schedulable CPU. Core, Socket and Node are -1 when unknown.
type LogicalCPU struct {
	CPU    int    `json:"cpu"`
	Core   int    `json:"core" jsonschema:"description=lowest CPU of the physical core"`
	Socket int    `json:"socket"`
	Node   int    `json:"numa_node"`
	Type   string `json:"core_type,omitempty"`
}

// Cache is all instances of one kind of cache. Sizes of 0 are unknown (caches_unavailable says why).
type Cache struct {
	Level        int      `json:"level"`
	Type         string   `json:"type" jsonschema:"enum=data,enum=instruction,enum=unified"`
	SizeBytes    int64    `json:"size_bytes" jsonschema:"description=of one instance"`
	Ways         int      `json:"ways,omitempty"`
	LineBytes    int      `json:"line_bytes,omitempty"`
	SharedByCPUs int      `json:"shared_by_cpus,omitempty" jsonschema:"description=logical CPUs of one instance"`
	Instances    int      `json:"instances,omitempty"`
	CPUs         []string `json:"cpus,omitempty" jsonschema:"description=CPU list of each instance"`
	Source       string   `json:"source"`
}

// Clock holds what the system says of the clock and what was measured.
type Clock struct {
	IdleGHz   Fact[float64] `json:"idle_ghz" jsonschema:"description=measured by a chain of dependent instructions on an otherwise idle core"`
	LoadedGHz Fact[float64] `json:"loaded_ghz" jsonschema:"description=the same while the FMA units of all threads of the run are busy"`
	// LoadedOneGHz is that of one busy thread alone, where the run has more.
	LoadedOneGHz *Fact[float64] `json:"loaded_one_thread_ghz,omitempty" jsonschema:"description=the same with one thread busy alone; absent when the run has one thread"`

	MinMHz   Fact[float64] `json:"min_mhz"`
	MaxMHz   Fact[float64] `json:"max_mhz"`
	BaseMHz  Fact[float64] `json:"base_mhz"`
	Governor Fact[string]  `json:"governor"`
	Driver   Fact[string]  `json:"driver"`
	Turbo    Fact[bool]    `json:"turbo"`
}

// NUMANode is one memory node.
type NUMANode struct {
	Node       int         `json:"node"`
	CPUs       string      `json:"cpus"`
	TotalBytes Fact[int64] `json:"total_bytes"`
	Distances  []int       `json:"distances,omitempty" jsonschema:"description=to each node in order; 10 is local"`
}

// Memory of the host. Theoretical figures come from SMBIOS type 17 alone.
type Memory struct {
	TotalBytes       Fact[int64]   `json:"total_bytes"`
	AvailableBytes   Fact[int64]   `json:"available_bytes"`
	Type             Fact[string]  `json:"type"`
	ConfiguredMTps   Fact[float64] `json:"configured_speed_mtps" jsonschema:"description=10^6 transfers per second"`
	Channels         Fact[int]     `json:"channels" jsonschema:"description=distinct populated channels of all sockets"`
	TheoreticalGBps  Fact[float64] `json:"theoretical_gbps" jsonschema:"description=channels x configured speed x bytes per transfer; 10^9 bytes per second"`
	UpperBoundGBps   Fact[float64] `json:"socket_upper_bound_gbps" jsonschema:"description=one socket with every channel at the highest rated speed; 10^9 bytes per second"`
	PopulatedDevices Fact[int]     `json:"populated_devices"`
}

// Limits of this process. The three limits are separate facts; usable_threads follows from them.
type Limits struct {
	QuotaCPUs         Fact[float64] `json:"quota_cpus" jsonschema:"description=tightest cgroup CPU quota on the path to the root; unavailable when there is none"`
	Cpuset            Fact[string]  `json:"cpuset"`
	Affinity          Fact[string]  `json:"affinity"`
	UsableThreads     int           `json:"usable_threads" jsonschema:"description=min of affinity; cpuset and the quota rounded down; at least 1"`
	UsableReason      string        `json:"usable_threads_reason"`
	CgroupMemoryLimit Fact[int64]   `json:"cgroup_memory_limit_bytes"`
}

// HugePages as the kernel offers them.
type HugePages struct {
	Transparent   Fact[string] `json:"transparent" jsonschema:"description=always; madvise; or never"`
	Defrag        Fact[string] `json:"defrag"`
	PageSizeBytes Fact[int64]  `json:"page_size_bytes"`
	Total         Fact[int64]  `json:"reserved_pages"`
	Free          Fact[int64]  `json:"reserved_pages_free"`
}

// Preflight is the record of the checks made before measuring.
type Preflight struct {
	Timestamp string  `json:"timestamp"`
	Passed    bool    `json:"passed"`
	Forced    bool    `json:"forced"`
	Checks    []Check `json:"checks"`
}

// Check is one preflight check.
type Check struct {
	Name     string `json:"name"`
	Status   string `json:"status" jsonschema:"enum=passed,enum=warning,enum=failed,enum=skipped"`
	Message  string `json:"message"`
	Current  string `json:"current_value,omitempty"`
	Expected string `json:"expected_value,omitempty"`
	Fix      string `json:"fix,omitempty"`
}
