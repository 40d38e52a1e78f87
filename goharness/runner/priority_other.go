//go:build !linux

package runner

// RaisePriority does nothing outside Linux.
func RaisePriority() string { return "scheduling priority: not changed on this system" }
