package backend

import "ridge/goharness/record"

// LibraryWays says how a vendor library may compute a program: the ways are values of
// PrepareOptions.Library, the library's name with what is done beforehand ("onednn", "onednn packed").
type LibraryWays struct {
	Name    string
	Unfused []string // one call for each step that the library has a kernel for; what is to be tried first comes first
	// Instead tells of a way that does what another does, and more in each launch: it is not tried where the other ran.
	Instead map[string]string
	Fused   []string // the library's own fused primitive
}

// LibraryHost is a Backend that can run kernels of vendor libraries beside its own.
type LibraryHost interface {
	// Libraries lists those that it knows, installed or not. Nothing is opened.
	Libraries() []LibraryWays
	// OpenLibrary takes a library into use in this process, for a number of threads; the error says why
	// it cannot be. Opening runs code of the library: call it in a worker.
	OpenLibrary(name string, threads int) (record.VendorLibrary, error)
}
