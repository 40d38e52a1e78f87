//go:build !darwin

package machine

import "errors"

func sysctlInt(string) (uint64, error) { return 0, errors.New("only darwin has it") }

func kernelRelease() (string, error) {
	return "", errors.New("the kernel release is asked of sysctl on darwin only")
}
