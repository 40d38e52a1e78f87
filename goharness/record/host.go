package record

// Host is what the machine is. Every unknown carries its reason.
type Host struct {
	Hostname string       `json:"hostname"`
	OS       string       `json:"os"`
	Kernel   Fact[string] `json:"kernel"`
	Arch     string       `json:"arch"`
	CPU      CPU          `json:"cpu"`
}

// CPU identity, topology and clocks.
type CPU struct {
	Model string `json:"model"`
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
