package machine

import (
	"os"

	"ridge/goharness/record"
)

// Read gathers everything there is to know of the host. It never fails: what cannot be
// read is a fact with a reason.
func Read(src Source) record.Host {
	h := record.Host{OS: src.os(), Arch: src.arch(), NUMANodes: []record.NUMANode{}}
	h.Hostname = hostname(src)
	id := src.cpuid()
	var arm []armCore
	armReason := ""
	if src.os() == "linux" && src.arch() == "arm64" {
		withMIDR, cores, err := armIdentity(src, id)
		if err != nil {
			armReason = err.Error()
			id.Vendor, id.Family, id.Model, id.Stepping = "", 0, 0, 0
		} else {
			id, arm = withMIDR, cores
		}
	}
	u := Lookup(id)
	h.CPU = readIdentity(id, u, armReason)
	h.Hypervisor, h.Container = readHypervisor(src, id), readContainer(src)
	if src.os() == "darwin" {
		readDarwin(src, &h, id, u)
		return h
	}
	h.Kernel = textFact(src, "/proc/sys/kernel/osrelease")
	readTopology(src, &h.CPU, id, arm)
	readCaches(src, &h.CPU, id)
	h.CPU.Clock = readClock(src, id)
	h.NUMANodes, h.NUMAReason = readNUMA(src)
	h.Memory = readMemory(src, u)
	h.Limits = readLimits(src)
	h.HugePages = readHugePages(src)
	return h
}

func hostname(src Source) string {
	f := src.Hostname
	if f == nil {
		f = os.Hostname
	}
	name, err := f()
	if err != nil {
		return "unknown (" + err.Error() + ")"
	}
	return name
}

func readIdentity(id CPUID, u Uarch, armReason string) record.CPU {
	c := record.CPU{
		Vendor: id.Vendor, Model: id.Brand, Family: id.Family, ModelNumber: id.Model, Stepping: id.Stepping,
		Microarchitecture: u.Name, MicroarchitectureSource: u.Source,
		Contradictory: u.Contradictory, Contradiction: u.Contradiction,
		MaskedFeatures: u.Masked, Features: id.Features,
	}
	if c.Features == nil {
		c.Features = []string{}
	}
	if c.Model == "" {
		c.Model = u.Name
	}
	if armReason != "" && u.Name == "unknown" {
		c.MicroarchitectureSource = armReason
	}
	return c
}

// CPUIDOf gives back the identity a document's host was read with, so that the table can
// be asked about a machine that is not this one.
func CPUIDOf(c record.CPU) CPUID {
	id := CPUID{Vendor: c.Vendor, Brand: c.Model, Family: c.Family, Model: c.ModelNumber, Stepping: c.Stepping, Features: c.Features}
	for _, k := range c.Caches {
		switch {
		case k.Level == 1 && k.Type == "data" && id.L1DBytes == 0:
			id.L1DBytes, id.LineBytes = k.SizeBytes, k.LineBytes
		case k.Level == 2 && id.L2Bytes == 0:
			id.L2Bytes = k.SizeBytes
		case k.Level == 3 && id.L3Bytes == 0:
			id.L3Bytes = k.SizeBytes
		}
	}
	return id
}
