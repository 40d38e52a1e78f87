package record

// VendorLibrary is a library of another maker, or why it cannot be used.
type VendorLibrary struct {
	Name        string `json:"name" jsonschema:"description=onednn; mkl; of NVIDIA GPUs cublaslt and cudnn"`
	Version     string `json:"version,omitempty" jsonschema:"description=with its threading in parentheses"`
	Path        string `json:"path,omitempty"`
	Unavailable string `json:"unavailable,omitempty" jsonschema:"description=why it cannot be used: then the other fields may be empty"`
}

// BaselineCandidate is a way to compute the unfused program, as the pilot found it, or a library's way to compute the fused one. A
// pilot's samples are thrown away, so there is no time here.
type BaselineCandidate struct {
	Name      string   `json:"name"`
	Kernels   []string `json:"kernels,omitempty"`
	Libraries []string `json:"libraries,omitempty" jsonschema:"description=version and code path of each kernel of a vendor library"`
	Status    Status   `json:"status" jsonschema:"description=ok or noisy: verified and compared (here or where the reason says); otherwise out of the choice"`
	Reason    string   `json:"reason,omitempty" jsonschema:"description=why it is out of the choice; the comparison with the same stages by the library in which it was tried; of a library's fused primitive that is ok what was faster"`
}

// VendorFused is a vendor library's own fused primitive beside ridge's fused kernel. It is never a
// baseline.
type VendorFused struct {
	Library   string     `json:"library" jsonschema:"description=and the way it is used"`
	Version   string     `json:"version"`
	CodePath  string     `json:"code_path,omitempty" jsonschema:"description=what the library calls the implementation"`
	Kernels   []string   `json:"kernels"`
	LatencyMS float64    `json:"latency_ms" jsonschema:"description=median"`
	Ratio     float64    `json:"ratio" jsonschema:"description=its time over that of ridge's fused kernel: above 1 ridge's is faster; pseudo-median of the quiet half of the quartets A B B A"`
	RatioCI95 [2]float64 `json:"ratio_ci95"`
	Trials    int        `json:"num_trials" jsonschema:"description=quartets A B B A"`
}
