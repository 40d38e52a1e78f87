package power

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"
)

// Env is where meters look; the zero value is this machine. Tests inject fixtures.
type Env struct {
	// Root stands before every /sys path.
	Root string
	// ReadFile reads a file below Root; nil: the system's.
	ReadFile func(path string) ([]byte, error)
	// Perf opens a counter of the kernel's performance events; nil asks the kernel.
	Perf PerfOpener
	// Powermetrics starts the stream of property lists; nil runs the program (darwin only).
	Powermetrics func(ctx context.Context) (io.ReadCloser, error)
	// Virtual names the hypervisor where there is one, for the reason why a meter is missing.
	Virtual string
}

// Device is what a meter is wanted for.
type Device struct {
	ID       string // cpu, cuda:0
	Platform string // cpu, cuda, hip, metal
	PCI      string // bus address "0000:3b:00.0"; "" where unknown
	Index    int    // number in its platform's order
}

// Source is a kind of meter.
type Source struct {
	Name     string
	Platform string // of the devices that it meters
	// Open gives the meter of a device. Errors that match ErrNoData say why there is none.
	Open func(ctx context.Context, env Env, d Device) (Meter, error)
}

// Builtin lists the kinds of meters in order of preference. NVML's is not among them: it needs
// NVIDIA's bindings and is added by builds with the platform cuda.
func Builtin() []Source {
	return []Source{
		powercapSource(),
		perfSource(),
		powermetricsCPUSource(),
		amdgpuSource(),
		powermetricsGPUSource(),
	}
}

// Find opens the first meter for a device. Where there is none, the error gives every source's reason.
func Find(ctx context.Context, sources []Source, env Env, d Device) (Meter, error) {
	return find(ctx, sources, env, d, openAtMost)
}

// openAtMost is how long a driver may take to open its meter; powermetrics has up to 5 s for its first sample.
const openAtMost = 10 * time.Second

func find(ctx context.Context, sources []Source, env Env, d Device, atMost time.Duration) (Meter, error) {
	var reasons []string
	for _, s := range sources {
		if s.Platform != d.Platform {
			continue
		}
		m, err := s.open(ctx, env, d, atMost)
		if err == nil {
			return m, nil
		}
		if !errors.Is(err, ErrNoData) {
			err = errors.New("failed: " + err.Error())
		}
		reasons = append(reasons, s.Name+": "+err.Error())
	}
	if len(reasons) == 0 {
		return nil, noData("this build has no energy meter for devices of platform %s", d.Platform)
	}
	return nil, noData("%s", strings.Join(reasons, "; "))
}

// open gives up on a driver that hangs; should it answer later, its meter is closed again.
func (s Source) open(ctx context.Context, env Env, d Device, atMost time.Duration) (Meter, error) {
	type answer struct {
		m   Meter
		err error
	}
	got := make(chan answer, 1)
	go func() {
		m, err := s.Open(ctx, env, d)
		got <- answer{m, err}
	}()
	select {
	case a := <-got:
		return a.m, a.err
	case <-time.After(atMost):
	case <-ctx.Done():
	}
	go func() {
		if a := <-got; a.m != nil {
			_ = a.m.Close()
		}
	}()
	if ctx.Err() != nil {
		return nil, noData("%v", ctx.Err())
	}
	return nil, noData("it did not answer within %v", atMost)
}
