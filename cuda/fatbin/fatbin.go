//go:build cuda

// Package fatbin holds the compiled kernels, one fat binary per source file. They are made by
// `make cuda` (internal/fatbins) and never committed.
package fatbin

import (
	"embed"
	"errors"
	"fmt"
	"strings"
)

//go:embed bin/*.fatbin bin/compiler.txt
var images embed.FS

// ErrNotBuilt is the error of a kernel that was added since the images were made.
var ErrNotBuilt = errors.New("run make cuda")

// Image is the fat binary of the source file name.cu, or an error that is ErrNotBuilt.
func Image(name string) ([]byte, error) {
	b, err := images.ReadFile("bin/" + name + ".fatbin")
	if err != nil {
		return nil, fmt.Errorf("no image of %s.cu is in this binary: %w", name, ErrNotBuilt)
	}
	return b, nil
}

// Compiler names what made the images, and its flags.
func Compiler() (name, flags string) {
	b, _ := images.ReadFile("bin/compiler.txt") // embedded, or this would not compile
	name, flags, _ = strings.Cut(strings.TrimSpace(string(b)), "\n")
	return name, flags
}
