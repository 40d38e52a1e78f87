//go:build cgo && linux

package native

import (
	"strings"

	"ridge/goharness/backend"
	"ridge/native/team"
	"ridge/native/vendor"
)

// library finds the vendor library among the picked kernels. One that was asked for and serves no
// step in its way is refused: ridge's own kernels never stand in for it under its name.
func (e *executable) library(picked []candidate) error {
	name, _, _ := strings.Cut(e.opts.Library, " ")
	own := false // a kernel that gives the way its name
	for _, k := range picked {
		if lib := k.family.Library; lib != "" {
			name = lib
			own = own || e.opts.Library == "" || vendor.Serves(e.opts.Library, k.Kernel) == 0
		}
	}
	if name == "" {
		return nil
	}
	h, err := e.d.host(name)
	if err != nil {
		return err
	}
	if !own {
		return backend.Unsupported("%s has no kernel for any step of this program the way %q", name, e.opts.Library)
	}
	e.host = h
	return nil
}

// load gives the steps to the library's host.
func (e *executable) load(picked []candidate, lists [][]team.Step) error {
	sets := make([][]vendor.Step, len(lists))
	for s, list := range lists {
		for i, st := range list {
			sets[s] = append(sets[s], vendor.Step{Step: st, Library: picked[i].family.Library != ""})
		}
	}
	var err error
	if e.hosted, err = e.host.Load(sets); err != nil {
		return err
	}
	for i, path := range e.hosted.Paths {
		if picked[i].family.Library != "" {
			e.kernels[i].Library = strings.TrimSpace(e.host.Library.Name + " " + e.host.Library.Version + " " + path)
		}
	}
	return nil
}
