//go:build cgo && linux

package native

/*
static const char *compiler(void) {
#if defined(__clang__)
  return "clang " __clang_version__;
#else
  return "gcc " __VERSION__;
#endif
}
*/
import "C"

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/native/kernel"
	"ridge/native/probe"
	"ridge/native/team"
	"ridge/native/vendor"
)

// CompilerFlags are the flags that every kernel is compiled with; instruction sets come by
// function attribute.
const CompilerFlags = "-O2 -g -O3 -Wall (instruction sets by function attribute)"

// Compiler names the C compiler of the kernels and its flags.
func Compiler() (name, flags string) { return C.GoString(C.compiler()), CompilerFlags }

// SVEBits is the SVE vector length of this CPU in bits; 0 without SVE.
func SVEBits() int { return probe.SVEBits() }

// PrepareWorker makes a crashing kernel end the process by its signal. Worker processes
// call it once, before anything else.
func PrepareWorker() { team.DefaultSignals() }

// device is the opened CPU: a team and an arena.
type device struct {
	b        *Backend
	team     *team.Team
	affinity string
	stores   stores
	tuning   backend.Tuning
	mem      arena
	hosts    map[string]*vendor.Host // vendor libraries in use
	sampling *sampling               // of the team's instructions; nil: off
}

// SetReading tells kernels how to read from memory (ridge_ctx), as Open does by the processor; tests ask for what this one does not.
func (d *device) SetReading(ahead, runs int) { d.team.SetReading(ahead, runs) }

// SetAround tells kernels above which working set to store around the caches, as Open does by the processor and its caches; tests ask for other sets.
func (d *device) SetAround(bytes int64) { d.stores.around = bytes }

func (d *device) Info() record.Device {
	infos, _ := d.b.Devices()
	infos[0].Threads = d.team.Size()
	return infos[0]
}

// Kernels that this CPU can run for the op, the preferred first.
func (d *device) Kernels(o op.Op) ([]backend.KernelInfo, error) {
	all := d.b.candidates(o, "", d.team.Size())
	if len(all) == 0 {
		return nil, d.b.noKernel(o)
	}
	var out []backend.KernelInfo
	var missing []string
	for _, k := range all {
		info := k.Info(o.Name(), kernel.Detect())
		if info.Available != nil {
			missing = append(missing, fmt.Sprintf("%s: %v", k.Name, info.Available))
			continue
		}
		if err := k.Packs(o); err != nil {
			missing = append(missing, fmt.Sprintf("%s: %v", k.Name, err))
			continue
		}
		out = append(out, info)
	}
	if len(out) == 0 {
		return nil, backend.Unsupported("%s", strings.Join(missing, "; "))
	}
	return out, nil
}

// Synchronize returns at once: every call of an executable runs to completion.
func (d *device) Synchronize() error { return nil }

func (d *device) MemoryInUse() int64 { return d.mem.inUse }

// Trim unmaps the released buffers that the arena keeps for the next case.
func (d *device) Trim() { d.mem.trim() }

// MeasureClock times a chain of dependent instructions of known latency on the team's first thread.
func (d *device) MeasureClock(load bool) (float64, error) {
	if load {
		return probe.ClockUnderLoadGHz(d.team)
	}
	return probe.ClockGHz(d.team)
}

// BarrierNS is what a step costs that does nothing, on all threads.
func (d *device) BarrierNS() (float64, error) { return d.team.BarrierNS() }

// TogetherOverAlone compares work on all threads at once with work on one.
func (d *device) TogetherOverAlone() (float64, error) { return d.team.TogetherOverAlone() }

func (d *device) Conditions() record.Conditions {
	c := record.Conditions{
		Threads: d.team.Size(), CPUs: d.team.CPUs(), Affinity: d.affinity,
		Compiler: C.GoString(C.compiler()), CompilerFlags: CompilerFlags, Driver: "none (CPU)",
	}
	c.FlushDenormals = record.Unknown[bool]("not read on this architecture")
	if flush, known := d.team.FlushesDenormals(); known {
		c.FlushDenormals = record.Known(flush, "floating-point control register of a team thread")
	}
	share, err := hugeShare()
	if err != nil {
		c.HugePageShare = record.Unknown[float64](err.Error())
		c.PageSize = "unknown: " + err.Error()
	} else {
		c.HugePageShare = record.Known(share, "/proc/self/smaps_rollup AnonHugePages / Anonymous")
		c.PageSize = fmt.Sprintf("%d KiB, 2 MiB for %.0f %% of anonymous memory", os.Getpagesize()/1024, share*100)
	}
	return c
}

// hugeShare is the part of this process's anonymous memory that sits in huge pages.
func hugeShare() (float64, error) {
	b, err := os.ReadFile("/proc/self/smaps_rollup")
	if err != nil {
		return 0, fmt.Errorf("huge-page share: %w", err)
	}
	kb := func(name string) float64 {
		for _, line := range strings.Split(string(b), "\n") {
			if rest, ok := strings.CutPrefix(line, name+":"); ok {
				f := strings.Fields(rest)
				v, _ := strconv.ParseFloat(f[0], 64)
				return v
			}
		}
		return 0
	}
	anon := kb("Anonymous")
	if anon == 0 {
		return 0, fmt.Errorf("huge-page share: /proc/self/smaps_rollup has no anonymous memory")
	}
	return kb("AnonHugePages") / anon, nil
}

// host takes a vendor library into use on the team's CPUs.
func (d *device) host(name string) (*vendor.Host, error) {
	if h := d.hosts[name]; h != nil {
		return h, nil
	}
	h, err := vendor.NewHost(name, d.team.CPUs())
	if err != nil {
		return nil, err
	}
	if d.hosts == nil {
		d.hosts = map[string]*vendor.Host{}
	}
	d.hosts[name] = h
	return h, nil
}

// Close ends the team. The next device that is opened has its memory.
func (d *device) Close() error {
	for _, h := range d.hosts {
		h.Close()
	}
	d.team.Close()
	d.b.spare.keep(&d.mem)
	return nil
}
