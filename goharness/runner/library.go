package runner

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"ridge/goharness/backend"
	"ridge/goharness/record"
)

// openLibraryWithin bounds the opening of a vendor library: it loads a file of 100 MB at most.
const openLibraryWithin = 30 * time.Second

// library opens a vendor library in this worker.
func (s *Server) library(q Request) (*record.VendorLibrary, error) {
	if q.Case == nil {
		return nil, usage("library: no case names the device and threads")
	}
	platform, _, _ := strings.Cut(q.Case.Device, ":")
	i := slices.IndexFunc(s.Backends, func(b backend.Backend) bool { return b.Name() == platform })
	if i < 0 {
		return nil, usage("library %q: this build has no %s platform in it", q.Library, platform)
	}
	v := record.VendorLibrary{Name: q.Library}
	host, ok := s.Backends[i].(backend.LibraryHost)
	if !ok {
		v.Unavailable = "the " + platform + " platform runs no vendor libraries"
		return &v, nil
	}
	v, err := host.OpenLibrary(q.Library, max(1, q.Case.Threads))
	if err != nil {
		v.Unavailable = err.Error()
	}
	return &v, nil
}

// Library asks the worker whether a vendor library can be used. What opening it does to the worker is in
// the answer; the error is non-nil only when ctx ended or no worker can be started.
func (r *Runner) Library(ctx context.Context, name, device string, threads int) (record.VendorLibrary, error) {
	c := record.Case{Device: device, Threads: threads}
	v := record.VendorLibrary{Name: name}
	rep, err := r.do(ctx, Request{Verb: VerbLibrary, Library: name, Case: &c}, c, nil)
	var launch *launchError
	switch {
	case err == nil && rep.Err != nil:
		v.Unavailable = rep.Err.Message
	case err == nil && rep.Library == nil:
		v.Unavailable = "the worker does not know the verb " + VerbLibrary
	case err == nil:
		v = *rep.Library
	default:
		r.drop()
		if ctx.Err() != nil {
			return v, ctx.Err()
		}
		if errors.As(err, &launch) {
			return v, launch.error
		}
		v.Unavailable = "opening it failed: " + err.Error()
	}
	return v, nil
}
