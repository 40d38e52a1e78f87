//go:build cgo && linux && nomodels

package kerneltest

const models = false
