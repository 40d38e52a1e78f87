// Package probe is the CUDA kernels that measure the device itself.
package probe

import "ridge/cuda/kernel"

// ClockImage is the source file of the clock kernel.
const ClockImage = "clock_simt"

// ClockSteps of the chain: about 0.6 ms, so that a timer of 1 µs errs by 0.2 %.
const ClockSteps = 1 << 18

// Clock measures the multiprocessors' clock, with one warp or (load) with all of them busy. The
// three results of 8 bytes are cycles, nanoseconds and a number without meaning.
func Clock(out uint64, load bool, d kernel.Device) kernel.Launch {
	grid, block := int64(1), int64(32)
	if load {
		grid, block = int64(2*d.SMs), 256
	}
	return kernel.Launch{Entry: "clock_simt", Grid: [3]int64{grid, 1, 1}, Block: [3]int64{block, 1, 1},
		Args: []kernel.Arg{kernel.Uint(out), kernel.Int(ClockSteps)}}
}
