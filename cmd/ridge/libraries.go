package main

import (
	"context"
	"strings"

	"github.com/urfave/cli/v2"

	"ridge/goharness/backend"
	"ridge/goharness/record"
	"ridge/goharness/runner"
)

// libraries lists the vendor libraries that a device's platform knows, installed or not.
func libraries(device string) []backend.LibraryWays {
	platform, _, _ := strings.Cut(device, ":")
	for _, b := range backends() {
		if host, ok := b.(backend.LibraryHost); ok && b.Name() == platform {
			return host.Libraries()
		}
	}
	return nil
}

// lookUpLibraries opens each vendor library in a worker of its own and says which are here, or why not.
func lookUpLibraries(c *cli.Context) ([]record.VendorLibrary, error) {
	launch, err := launcher(c, "")
	if err != nil {
		return nil, err
	}
	var out []record.VendorLibrary
	for _, b := range backends() {
		host, ok := b.(backend.LibraryHost)
		if !ok {
			continue
		}
		for _, ways := range host.Libraries() {
			v, err := lookUp(c.Context, launch, b.Name(), ways.Name)
			if err != nil {
				return out, err
			}
			out = append(out, v)
		}
	}
	return out, nil
}

func lookUp(ctx context.Context, launch runner.Launcher, platform, name string) (record.VendorLibrary, error) {
	r := &runner.Runner{Launch: launch}
	defer r.Close()
	device, threads := platform, 1
	if platform != "cpu" {
		device += ":0" // none is opened
	} else if cpus, err := hostCPUs(0, "scatter"); err == nil {
		threads = len(cpus)
	}
	return r.Library(ctx, name, device, threads)
}
