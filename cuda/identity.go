//go:build cuda && linux && cgo

package cuda

import (
	"fmt"

	"gorgonia.org/cu"

	"ridge/cuda/driver"
	"ridge/cuda/kernel"
	"ridge/goharness/ceiling"
	"ridge/goharness/record"
)

// identity is what the driver says of a device.
type identity struct {
	ordinal int
	dev     cu.Device
	name    string
	memory  int64
	pci     string // domain:bus:device.function, as NVML takes it
	limits  kernel.Device
	chip    ceiling.GPU
}

// Attributes of cuda.h (CUdevice_attribute).
const (
	attrClockKHz       cu.DeviceAttribute = 13
	attrSMs            cu.DeviceAttribute = 16
	attrPCIBus         cu.DeviceAttribute = 33
	attrPCIDevice      cu.DeviceAttribute = 34
	attrMemoryClockKHz cu.DeviceAttribute = 36
	attrBusBits        cu.DeviceAttribute = 37
	attrL2Bytes        cu.DeviceAttribute = 38
	attrPCIDomain      cu.DeviceAttribute = 50
	attrMajor          cu.DeviceAttribute = 75
	attrMinor          cu.DeviceAttribute = 76
	attrSharedOptin    cu.DeviceAttribute = 97
)

func identify(ordinal int) (identity, error) {
	id := identity{ordinal: ordinal}
	refused := func(what string, err error) (identity, error) {
		return id, fail(fmt.Sprintf("device cuda:%d: %s", ordinal, what), err)
	}
	var err error
	if id.dev, err = cu.GetDevice(ordinal); err != nil {
		return refused("open", err)
	}
	if id.name, err = id.dev.Name(); err != nil {
		return refused("name", err)
	}
	if id.memory, err = id.dev.TotalMem(); err != nil {
		return refused("memory", err)
	}
	v := map[cu.DeviceAttribute]int{}
	for _, a := range []cu.DeviceAttribute{attrClockKHz, attrSMs, attrMemoryClockKHz, attrBusBits, attrL2Bytes, attrMajor, attrMinor, attrSharedOptin,
		attrPCIDomain, attrPCIBus, attrPCIDevice} {
		if v[a], err = id.dev.Attribute(a); err != nil {
			return refused(fmt.Sprintf("attribute %d", a), err)
		}
	}
	capability := 10*v[attrMajor] + v[attrMinor]
	id.pci = fmt.Sprintf("%04x:%02x:%02x.0", v[attrPCIDomain], v[attrPCIBus], v[attrPCIDevice])
	id.limits = kernel.Device{Capability: capability, SMs: v[attrSMs], SharedMax: v[attrSharedOptin], L2Bytes: int64(v[attrL2Bytes])}
	id.chip = ceiling.GPU{Name: id.name, Capability: capability, SMs: v[attrSMs], BoostGHz: float64(v[attrClockKHz]) * 1e-6,
		MemoryGHz: float64(v[attrMemoryClockKHz]) * 1e-6, BusBits: v[attrBusBits]}
	return id, nil
}

// record describes the device; what the driver reports as 0 is left out.
func (id identity) record(s driver.State) record.Device {
	c := id.chip
	facts := map[string]string{
		"compute_capability": fmt.Sprintf("%d.%d", c.Capability/10, c.Capability%10),
		"multiprocessors":    fmt.Sprint(c.SMs),
		"driver":             driverVersion(s),
		"pci":                id.pci,
	}
	if s.Fake != "" {
		facts[record.FactSimulated] = s.Fake
	}
	for name, x := range map[string]float64{"boost_clock_mhz": c.BoostGHz * 1e3, "memory_clock_mhz": c.MemoryGHz * 1e3,
		"memory_bus_bits": float64(c.BusBits), "l2_bytes": float64(id.limits.L2Bytes), "shared_bytes_per_block": float64(id.limits.SharedMax)} {
		if x > 0 {
			facts[name] = fmt.Sprintf("%.0f", x)
		}
	}
	// What the formulas say at the clock that the driver reports; the rest is measured only.
	for name, x := range map[string]record.Ceiling{
		"theoretical_fp32_gflops":        {Kind: record.CeilingCompute, ISA: "simt", DType: record.FP32},
		"theoretical_fp64_gflops":        {Kind: record.CeilingCompute, ISA: "simt", DType: record.FP64},
		"theoretical_bf16_tensor_gflops": {Kind: record.CeilingCompute, ISA: "tensor", DType: record.BF16},
		"theoretical_bandwidth_gbps":     {Kind: record.CeilingBandwidth, Level: ceiling.DRAM},
	} {
		t := c.Theory(x, 0)
		facts[name] = "unavailable: " + t.Unavailable
		if t.Unavailable == "" {
			facts[name] = fmt.Sprintf("%.0f", t.Value)
		}
	}
	return record.Device{ID: fmt.Sprintf("cuda:%d", id.ordinal), Platform: "cuda", Name: id.name,
		ISA: []string{fmt.Sprintf("sm_%d", c.Capability)}, Memory: id.memory, Facts: facts}
}

func driverVersion(s driver.State) string {
	v := fmt.Sprintf("CUDA %d.%d", s.Version/1000, s.Version%1000/10)
	if s.Fake != "" {
		v += " (" + s.Fake + ")"
	}
	return v
}
