// Package nvidia is the energy meter of NVIDIA's boards through NVML. It is a package of its own since
// NVIDIA's bindings bring link flags that hide missing symbols: only builds with the platform cuda link
// it, and its tests run everywhere against a mock. Nothing but Init is called before Init succeeded,
// and functions that older drivers lack are looked up first.
package nvidia
