//go:build cuda && linux && cgo

package model_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"gorgonia.org/cu"

	"ridge/cuda/cudatest"
	"ridge/cuda/driver"
	"ridge/cuda/fatbin"
	"ridge/cuda/fill"
)

// A lost context stays lost, so each kernel runs in a process of its own, which gets its name here.
const kernelEnv = "RIDGE_MODEL_TEST_KERNEL"

func TestMain(m *testing.M) {
	if k := os.Getenv(kernelEnv); k != "" {
		got, err := launch(k)
		fmt.Println(got, err)
		os.Exit(0)
	}
	faults, err := filepath.Abs("testdata/faults.cu")
	if err != nil {
		panic(err)
	}
	cudatest.Main(m, faults, strings.Replace(faults, "faults.cu", "faults_tensor.cu", 1))
}

const blocks, threads = 3, 64

// launch runs a kernel on x[i] = 1 and gives y.
func launch(name string) ([]float32, error) {
	if _, err := driver.Open(); err != nil {
		return nil, err
	}
	dev, err := cu.GetDevice(0)
	if err != nil {
		return nil, err
	}
	ctx, err := dev.RetainPrimaryCtx()
	if err != nil {
		return nil, err
	}
	if err := ctx.Lock(); err != nil {
		return nil, err
	}
	image, err := fatbin.Image(fill.Image)
	if err != nil {
		return nil, err
	}
	m, err := cu.LoadData(string(image))
	if err != nil {
		return nil, err
	}
	f, err := m.Function(name)
	if err != nil {
		return nil, err
	}
	host := make([]float32, blocks*threads)
	for i := range host {
		host[i] = 1
	}
	bytes := int64(4 * len(host))
	x, err := cu.MemAlloc(bytes)
	if err != nil {
		return nil, err
	}
	y, err := cu.MemAlloc(bytes)
	if err != nil {
		return nil, err
	}
	if err := cu.MemcpyHtoD(x, unsafe.Pointer(&host[0]), bytes); err != nil {
		return nil, err
	}
	s, err := cu.MakeStream(cu.DefaultStream)
	if err != nil {
		return nil, err
	}
	l, err := driver.NewList([][]driver.Launch{{{Function: f, Grid: [3]uint32{blocks, 1, 1}, Block: [3]uint32{threads, 1, 1},
		Shared: 4 * threads, Params: []uint64{uint64(x), uint64(y), blocks * threads}}}})
	if err != nil {
		return nil, err
	}
	if err := l.Run(s, 1); err != nil {
		return nil, err
	}
	return host, driver.Wrap(cu.MemcpyDtoH(unsafe.Pointer(&host[0]), y, bytes))
}

func TestTheModelFindsEveryPlantedFaultAndNoOther(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	good := strings.TrimSpace(strings.Repeat("64 ", blocks*threads))
	for _, tc := range []struct{ kernel, want string }{
		{"fault_none", "[" + good + "] <nil>"},
		{"fault_none_words", "[" + good + "] <nil>"},
		{"fault_no_barrier", "of shared array tile (256 bytes): uninitialised"}, // of what a later thread will write
		{"fault_no_second_barrier", "of shared array tile (256 bytes): a race"},
		{"fault_shared_bounds", "write of 4 bytes at byte 256 of shared array tile (256 bytes): out of bounds"},
		{"fault_shared_far", "CUDA_ERROR_ILLEGAL_ADDRESS"},
		{"fault_uninitialised", "read of 4 bytes at byte 252 of shared array tile (256 bytes): uninitialised"},
		{"fault_divergent", "divergent barrier: 32 threads (first 0) wait in __syncthreads"},
		{"fault_early_exit", "divergent barrier: 63 threads (first 0) wait in __syncthreads at faults.cu"},
		{"fault_two_barriers", "divergent barrier: 64 threads"},
		{"fault_global_read", "CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access was encountered [kernel fault_global_read"},
		{"fault_global_write", "write of 4 bytes at byte 768 of a device allocation (768 bytes): out of bounds"},
		{"fault_null", "which is no device memory"},
		{"fault_misaligned", "CUDA_ERROR_MISALIGNED_ADDRESS"},
		{"fault_same_element", "write of 4 bytes at byte 0 of a device allocation (768 bytes): a race"},
		{"fault_shuffle_mask", "__shfl_xor_sync"},
		{"fault_shuffle_deadlock", "wait in __shfl_xor_sync at faults.cu"},
		{"fault_unmodelled", "wgmma is not modelled"},
		{"fault_none_tensor", "[" + good + "] <nil>"},
		{"fault_no_wait", "of shared array tile (256 bytes): an asynchronous copy to it has not been waited for"},
		{"fault_wait_for_too_few", "of shared array tile (256 bytes): an asynchronous copy to it has not been waited for"},
		{"fault_wait_without_barrier", "read of 16 bytes at byte"}, // not yet copied, on its way, or not ordered
		{"fault_barrier_before_wait", "read of 16 bytes at byte"},
		{"fault_no_swizzle", "ldmatrix: rows 0 and 4 of matrix 0 lie in the same banks"},
		{"fault_wrong_swizzle", "[-1 -1"},
		{"fault_swapped_fragment", "[-1 -1"},
		{"fault_mma_without_a_lane", "wait in mma.m16n8k8.tf32 at ptx_mma.cuh"},
		{"fault_copy_over_readers", "of shared array tile (256 bytes): a race: another thread reads it"},
		{"fault_copy_beyond", "read of 16 bytes at byte 768 of a device allocation (768 bytes): out of bounds"},
		{"fault_copy_misaligned", "CUDA_ERROR_MISALIGNED_ADDRESS"},
		{"fault_none_narrow", "[" + good + "] <nil>"},
		{"fault_none_elements", "[" + good + "] <nil>"},
		{"fault_narrow_no_wait", "of shared array tile (256 bytes): an asynchronous copy to it has not been waited for"},
		{"fault_narrow_misaligned", "CUDA_ERROR_MISALIGNED_ADDRESS"},
		{"fault_narrow_cut_off", "[-1 -1"}, // the upper half of a last float is 0
		{"fault_elements_no_barrier", "read of 16 bytes at byte"},
		{"fault_elements_beyond", "read of 2 bytes at byte 768 of a device allocation (768 bytes): out of bounds"},
		{"fault_copy_left", "the thread ends before its asynchronous copies are waited for"},
	} {
		for _, order := range cudatest.Orders {
			c := exec.Command(exe)
			c.Env = append(os.Environ(), kernelEnv+"="+tc.kernel, "RIDGE_MODEL_ORDER="+order)
			out, err := c.CombinedOutput()
			if err != nil || !strings.Contains(string(out), tc.want) {
				t.Errorf("%s, order %s: %v, %s\nwant %q", tc.kernel, order, err, out, tc.want)
			}
		}
	}
}
