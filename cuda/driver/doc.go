//go:build !(cuda && linux && cgo)

// Package driver is empty in a build without the tag cuda.
package driver
