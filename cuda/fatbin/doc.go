//go:build !cuda

// Package fatbin is empty in a build without the tag cuda.
package fatbin
