package nvidia

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// go-nvml tells the linker to leave symbols unresolved, for all of a binary: a kernel that calls a function which nobody wrote would link beside
// it and crash when it runs. The tests of packages with kernels link without it, and so find that.
func TestKernelPackagesLinkWithoutNVML(t *testing.T) {
	const nvml = "github.com/NVIDIA/go-nvml/pkg/nvml"
	list := func(args ...string) []string {
		cmd := exec.Command("go", append([]string{"list", "-deps", "-test", "-tags", "cuda"}, args...)...)
		cmd.Dir = "../../.."
		out, err := cmd.Output()
		if err != nil {
			t.Skipf("go list: %v", err)
		}
		return strings.Fields(string(out))
	}
	kernels := list("./native/...", "./cuda/...")
	if !slices.Contains(kernels, "ridge/native/gemm") || !slices.Contains(kernels, "ridge/cuda/gemm") {
		t.Fatalf("no kernels among the %d packages", len(kernels))
	}
	if slices.Contains(kernels, nvml) {
		t.Errorf("tests of kernels link %s and its flags", nvml)
	}
	if !slices.Contains(list("./cmd/ridge"), nvml) {
		t.Errorf("cmd/ridge does not depend on %s: the test looks for the wrong name", nvml)
	}
}
