//go:build cuda

// Package fatbin holds the compiled kernels, one fat binary per source file. They are made by
// `make cuda` (internal/fatbins) and never committed.
package fatbin

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed bin/*.fatbin bin/compiler.txt
var images embed.FS

// Image is the fat binary of the source file name.cu.
func Image(name string) ([]byte, error) {
	b, err := images.ReadFile("bin/" + name + ".fatbin")
	if err != nil {
		return nil, fmt.Errorf("no image of %s.cu is in this binary: run make cuda", name)
	}
	return b, nil
}

// Compiler names what made the images, and its flags.
func Compiler() (name, flags string) {
	b, _ := images.ReadFile("bin/compiler.txt") // embedded, or this would not compile
	name, flags, _ = strings.Cut(strings.TrimSpace(string(b)), "\n")
	return name, flags
}
