package main

import (
	"io/fs"
	"slices"
	"strings"

	"ridge/goharness/backend"
	"ridge/goharness/campaign"
	"ridge/goharness/plan"
	"ridge/native"
)

// backends lists the platforms in this build, the CPU first. A platform behind a build tag
// adds itself in its own backend_*.go file.
func backends() []backend.Backend {
	return append([]backend.Backend{native.New()}, extraBackends...)
}

// sourceTrees are the kernels' sources, which profiles point at, by their folder in the module. A
// platform behind a build tag adds its own.
var sourceTrees = map[string]fs.FS{"native": native.Sources}

// extraBackends is filled by the init functions of backend_*.go files behind build tags.
var extraBackends []backend.Backend

func nativeCompiler() (compiler, flags string) { return native.Compiler() }

// peaks lists the arithmetic peaks that a device can be probed for.
func peaks(device string) []plan.Peak {
	platform, _, _ := strings.Cut(device, ":")
	i := slices.IndexFunc(backends(), func(b backend.Backend) bool { return b.Name() == platform })
	if i < 0 {
		return nil // checkDevice says so
	}
	out := campaign.Peaks(backends()[i].Kernels())
	for i := range out {
		if out[i].ISA == "sve" {
			out[i].VL = native.SVEBits()
		}
	}
	return out
}
