package machine

import (
	"fmt"
	"strconv"
	"strings"
)

// armCore is the identity of one CPU as /proc/cpuinfo gives it (the fields of MIDR_EL1).
type armCore struct {
	cpu, implementer, variant, part, revision int
}

// armImplementers: MIDR_EL1[31:24], Linux arch/arm64/include/asm/cputype.h.
var armImplementers = map[int]string{
	0x41: "ARM", 0x46: "Fujitsu", 0x48: "HiSilicon", 0x4e: "NVIDIA", 0x51: "Qualcomm",
	0x61: "Apple", 0x6d: "Microsoft", 0xc0: "Ampere",
}

// armCores reads the identity of every CPU and the features the kernel enabled.
func armCores(src Source) (cores []armCore, features []string, err error) {
	text, err := src.read("/proc/cpuinfo")
	if err != nil {
		return nil, nil, err
	}
	known := map[string]bool{}
	for _, f := range featureNames() {
		known[f] = true
	}
	for _, line := range strings.Split(text, "\n") {
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if key == "processor" {
			n, err := strconv.Atoi(value)
			if err != nil {
				continue
			}
			cores = append(cores, armCore{cpu: n})
			continue
		}
		if len(cores) == 0 {
			continue
		}
		c := &cores[len(cores)-1]
		switch key {
		case "CPU implementer":
			c.implementer = parseNumber(value)
		case "CPU variant":
			c.variant = parseNumber(value)
		case "CPU part":
			c.part = parseNumber(value)
		case "CPU revision":
			c.revision = parseNumber(value)
		case "Features":
			if features == nil {
				for _, f := range strings.Fields(value) {
					if known[f] {
						features = append(features, f)
					}
				}
			}
		}
	}
	if len(cores) == 0 || cores[0].part == 0 && cores[0].implementer == 0 {
		return nil, nil, fmt.Errorf("/proc/cpuinfo has no CPU implementer and part")
	}
	return cores, features, nil
}

// armIdentity completes the processor's identity on arm64 Linux, where user space may not
// read MIDR_EL1 but the kernel lists it. Among unlike cores the widest one in the table
// stands for the chip; of equally wide ones the last, since firmware numbers small cores first.
func armIdentity(src Source, c CPUID) (CPUID, []armCore, error) {
	cores, names, err := armCores(src)
	if err != nil {
		return c, nil, err
	}
	best, bestOps := cores[0], -1.0
	for _, k := range cores {
		u := Lookup(CPUID{Vendor: armImplementers[k.implementer], Family: k.implementer, Model: k.part})
		if v := u.widest(); v >= bestOps {
			best, bestOps = k, v
		}
	}
	c.Family, c.Model, c.Stepping = best.implementer, best.part, best.revision
	c.Vendor = armImplementers[best.implementer]
	if c.Vendor == "" {
		c.Vendor = fmt.Sprintf("implementer 0x%02x", best.implementer)
	}
	c.Features = names
	return c, cores, nil
}

func parseNumber(s string) int {
	v, err := strconv.ParseInt(s, 0, 64)
	if err != nil {
		return 0
	}
	return int(v)
}

func featureNames() []string {
	out := make([]string, len(features))
	for i, f := range features {
		out[i] = f.name
	}
	return out
}
