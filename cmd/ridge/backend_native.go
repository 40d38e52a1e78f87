package main

import (
	"ridge/goharness/backend"
	"ridge/native"
)

// backends lists the platforms in this build, the CPU first. A platform behind a build tag
// adds itself in its own backend_*.go file.
func backends() []backend.Backend {
	return append([]backend.Backend{native.New()}, extraBackends...)
}

// extraBackends is filled by the init functions of backend_*.go files behind build tags.
var extraBackends []backend.Backend

func nativeCompiler() (compiler, flags string) { return native.Compiler() }
