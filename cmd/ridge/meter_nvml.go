//go:build cuda && linux && cgo

package main

import (
	"fmt"
	"os"
	"strings"

	"ridge/goharness/power/nvidia"
)

func init() { extraMeters = append(extraMeters, nvidia.Source(nvidia.New, ownProcess)) }

// ownProcess reports whether a process is this one or its worker.
func ownProcess(pid int) bool {
	if pid == os.Getpid() {
		return true
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	return err == nil && strings.Contains(string(b), fmt.Sprintf("\nPPid:\t%d\n", os.Getpid()))
}
