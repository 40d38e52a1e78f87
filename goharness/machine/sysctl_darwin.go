package machine

import "golang.org/x/sys/unix"

// sysctlInt reads an integer sysctl of 8 or 4 bytes.
func sysctlInt(name string) (uint64, error) {
	if v, err := unix.SysctlUint64(name); err == nil {
		return v, nil
	}
	v, err := unix.SysctlUint32(name)
	return uint64(v), err
}

func kernelRelease() (string, error) { return unix.Sysctl("kern.osrelease") }
