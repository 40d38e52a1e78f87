//go:build cuda && linux && cgo

package main

import "ridge/cuda"

func init() {
	extraBackends = append(extraBackends, cuda.New())
	sourceTrees["cuda"] = cuda.Sources
}
