//go:build cuda && linux && cgo

package model_test

import (
	"encoding/binary"
	"fmt"
	"math"
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
	"ridge/goharness/op"
	"ridge/goharness/record"
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
	more := func(what string) string { return strings.Replace(faults, "faults.cu", "faults_"+what+".cu", 1) }
	cudatest.Main(m, faults, more("tensor"), more("hopper"), more("hopper_registers"), more("hopper_sums"), more("hopper_stores"), more("cluster"), strings.Replace(faults, "faults.cu", "activations.cu", 1))
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
	ordered := driver.Launch{Function: f, Grid: [3]uint32{blocks, 1, 1}, Block: [3]uint32{threads, 1, 1},
		Shared: 4 * threads, Params: []uint64{uint64(x), uint64(y), blocks * threads}}
	if strings.Contains(name, "hopper") {
		m, err := hopperMap(name)
		if err != nil {
			return nil, err
		}
		ordered.Block, ordered.Shared, ordered.Maps = [3]uint32{160, 1, 1}, 1024+2*128*128, map[int][128]byte{0: m}
		if strings.Contains(name, "_cluster") {
			ordered.Grid[0], ordered.Cluster = 4, [3]uint32{2, 1, 1}
		}
		if strings.Contains(name, "_split") { // a warp and a copy of the stages more
			ordered.Block[0], ordered.Shared = 192, 1024+4*128*128
		}
	}
	all := []driver.Launch{ordered}
	if strings.Contains(name, "hopper_store") {
		if ordered.Function, err = m.Function("fault_stored"); err != nil {
			return nil, err
		}
		all = append(all, ordered)
	}
	l, err := driver.NewList([][]driver.Launch{all})
	if err != nil {
		return nil, err
	}
	if err := l.Run(s, 1); err != nil {
		return nil, err
	}
	return host, driver.Wrap(cu.MemcpyDtoH(unsafe.Pointer(&host[0]), y, bytes))
}

// hopperMap is V of faults_hopper.cu or faults_hopper_sums.cu on the device, in tiles of 128 rows of 128 bytes.
func hopperMap(name string) ([128]byte, error) {
	const rows = 128
	cols, size, dtype, element := 192, 2, 9, func(i, k int) uint32 { return math.Float32bits(float32((3*i+5*k)%7-3)) >> 16 } // bf16
	switch {
	case strings.Contains(name, "_fp8"): // e4m3, as bytes
		cols, size, dtype, element = 1024, 1, 0, func(i, k int) uint32 {
			var b [1]byte
			op.Encode(record.FP8E4M3, b[:], float64(1+(3*i+5*k)%8))
			return uint32(b[0])
		}
	case strings.Contains(name, "_split"): // fp32
		cols, size, dtype, element = 96, 4, 7, func(i, k int) uint32 {
			return math.Float32bits(float32(1+(i+k)%3) + float32((i+k)/3%3-1)*0x1p-12)
		}
	}
	v := make([]byte, 0, rows*cols*size+4)
	for i := range rows * cols {
		v = binary.LittleEndian.AppendUint32(v, element(i/cols, i%cols))[:(i+1)*size]
	}
	at, err := cu.MemAlloc(int64(len(v)))
	if err != nil {
		return [128]byte{}, err
	}
	if err := cu.MemcpyHtoD(at, unsafe.Pointer(&v[0]), int64(len(v))); err != nil {
		return [128]byte{}, err
	}
	pitch := uint64(cols * size)
	m := driver.TensorMap{DType: dtype, Address: uint64(at), Dims: []uint64{uint64(cols), rows, 1}, Strides: []uint64{pitch, rows * pitch},
		Box: []uint32{uint32(128 / size), 128, 1}, Swizzle: driver.Swizzle128}
	if strings.HasSuffix(name, "no_swizzle") {
		m.Swizzle = 0
	}
	if strings.Contains(name, "_cluster") || strings.HasSuffix(name, "hopper_alone") || strings.Contains(name, "hopper_store") { // a half of a stage
		m.Box[1] = 64
	}
	return m.Encode()
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
		{"fault_none_rounded", "[" + good + "] <nil>"},
		{"fault_not_rounded", "[-1 -1"},
		{"fault_low_bits_of_tf32", "[-1 -1"},
		{"fault_none_split", "[" + good + "] <nil>"},
		{"fault_split_cut_off", "64 -1"},
		{"fault_split_without_nan", "[64 64 -1 -1"},
		{"fault_none_hopper", "[" + good + "] <nil>"},
		{"fault_none_hopper_written", "[" + good + "] <nil>"},
		{"fault_hopper_no_full_wait", "read of 16 bytes at byte"},                           // uninitialised, on its way, or not ordered
		{"fault_hopper_no_empty_wait", "mbarrier: more arrivals than it counts in a phase"}, // of the stage that is still on its way
		{"fault_hopper_full_phase", "read of 16 bytes at byte"},
		{"fault_hopper_empty_phase", "wait in mbarrier.try_wait at ptx_mbarrier.cuh"},
		{"fault_hopper_more_bytes", "(phase 0 lacks 0 arrivals and 16 bytes)"},
		{"fault_hopper_fewer_bytes", "(phase 0 lacks 0 arrivals and -16 bytes)"},
		{"fault_hopper_early_release", "of shared memory: a"}, // wgmma that goes on, or race
		{"fault_hopper_release_without_wait", "of shared memory: a wgmma that has not been waited for reads it"},
		{"fault_hopper_never_released", "(phase 0 lacks 4 arrivals and 0 bytes)"},
		{"fault_hopper_no_wgmma_wait", "wgmma"}, // its stage is written, or the thread ends
		{"fault_hopper_short_wgmma_wait", "the thread ends before its wgmma are waited for"},
		{"fault_hopper_no_wgmma_fence", "no wgmma.fence since the registers were read or written"},
		{"fault_hopper_no_init_fence", "no fence makes the mbarrier's initialisation known"},
		{"fault_hopper_stride", "[-1 -1"},
		{"fault_hopper_no_swizzle", "[-1 -1"},
		{"fault_hopper_three_warps", "a warp of the warpgroup does not take part"},
		{"fault_hopper_sums_touched", "the sums of a wgmma that has not been waited for were written"},
		{"fault_hopper_no_proxy_fence", "no fence.proxy.async between a thread's write and a read past it"},
		{"fault_hopper_barrier_is_data", "an mbarrier lies there"},
		{"fault_hopper_named_count", "wait in bar.sync at ptx_mbarrier.cuh"},
		{"fault_none_hopper_registers", "[" + good + "] <nil>"},
		{"fault_hopper_registers_touched", "the registers of A of a wgmma that has not been waited for were written"},
		{"fault_hopper_registers_next", "the registers of A of a wgmma that has not been waited for were written"},
		{"fault_hopper_registers_read", "[-1 -1"},
		{"fault_hopper_registers_behind_fence", "no wgmma.fence since the registers of A were written"},
		{"fault_hopper_registers_sums_behind_fence", "no wgmma.fence since the sums were written"},
		{"fault_hopper_registers_no_fence", "no wgmma.fence since the registers were read or written"},
		{"fault_hopper_registers_sums_touched", "the sums of a wgmma that has not been waited for were written"},
		{"fault_hopper_registers_swapped", "[-1 -1"},
		{"fault_hopper_registers_full_phase", "read of 16 bytes at byte"},
		{"fault_hopper_registers_early_release", "of shared memory: a"}, // wgmma that goes on, or race
		{"fault_hopper_registers_short_wait", "the registers of A of a wgmma that has not been waited for were written"},
		{"fault_none_hopper_fp8", "[" + good + "] <nil>"},
		{"fault_hopper_fp8_not_promoted", "[-1 -1"},
		{"fault_hopper_fp8_not_begun_anew", "[-1 -1"},
		{"fault_hopper_fp8_added_before_the_wait", "[-1 -1"},
		{"fault_none_hopper_split", "[" + good + "] <nil>"},
		{"fault_hopper_split_no_full_wait", "read of 4 bytes at byte"},
		{"fault_hopper_split_no_proxy_fence", "no fence.proxy.async between a thread's write and a read past it"},
		{"fault_hopper_split_not_waited_for", " bytes "}, // not yet written, not ordered, or written while it is read
		{"fault_hopper_split_without_small", "[-1 -1"},
		{"fault_hopper_split_swapped", "[-1 -1"},
		{"fault_none_hopper_cluster", "[" + good + "] <nil>"},
		{"fault_hopper_cluster_mask", "(phase 0 lacks 0 arrivals and 8192 bytes)"},
		{"fault_hopper_cluster_mask_of_peer", "(phase 0 lacks 0 arrivals and 8192 bytes)"},
		{"fault_hopper_cluster_mask_beyond", "cp.async.bulk.tensor: the cluster has no block 2"},
		{"fault_hopper_cluster_no_remote_arrive", "(phase 0 lacks 4 arrivals and 0 bytes)"},
		{"fault_hopper_cluster_own_consumers_alone", "write of 16 bytes at byte"}, // on its way, or not ordered behind its readers
		{"fault_hopper_cluster_no_empty_wait", "cluster"},
		{"fault_hopper_cluster_full_phase", "read of 16 bytes at byte"},
		{"fault_hopper_cluster_empty_phase", "wait in mbarrier.try_wait at ptx_mbarrier.cuh"},
		{"fault_hopper_cluster_early_release", "of shared memory: a"}, // wgmma that goes on, or race
		{"fault_hopper_cluster_own_bytes", "cluster"},
		{"fault_hopper_cluster_written", "of shared array dynamic (33792 bytes): a race: "},
		{"fault_hopper_cluster_no_first_barrier", "mbarrier"}, // none there yet, or nothing orders its initialisation
		{"fault_hopper_cluster_no_last_barrier", "of the cluster is done with its shared memory: a barrier of the cluster is missing"},
		{"fault_hopper_cluster_part_of_a_warp", "barrier.cluster.arrive.aligned: not by a whole warp at once"},
		{"fault_hopper_cluster_arrive_of_block", "mbarrier.arrive.shared::cta: the mbarrier lies in another block of the cluster"},
		{"fault_hopper_cluster_store_of_block", "by an instruction that takes the block's own"},
		{"fault_none_hopper_cluster_store", "[" + good + "] <nil>"},
		{"fault_hopper_cluster_store_not_ordered", "shared array wrong (4 bytes): a race: "},
		{"fault_hopper_cluster_store_beyond", "mapa: the cluster has no block 2"},
		{"fault_hopper_cluster_map_beyond", "mapa: the cluster has no block 2"},
		{"fault_hopper_alone", "cp.async.bulk.tensor: the cluster has no block 1"},
		{"fault_none_hopper_turns", "[" + good + "] <nil>"},
		{"fault_hopper_turns_no_arrive", "wait in bar.sync at ptx_mbarrier.cuh"},
		{"fault_hopper_turns_twice", "bar.arrive: the thread arrives a second time before the others have come"},
		{"fault_hopper_turns_written_behind", "read of 4 bytes at byte"}, // uninitialised, or a race
		{"fault_hopper_turns_count", "threads have arrived at it with another count"},
		{"activations_hold", "[" + good + "] <nil>"},
		{"fault_none_hopper_store", "[" + good + "] <nil>"},
		{"fault_hopper_store_no_wait", "of shared array dynamic (33792 bytes): a"}, // not waited for, or another round's bytes
		{"fault_hopper_store_wait_of_one_alone", "of shared array dynamic (33792 bytes): a"},
		{"fault_hopper_store_wait_for_too_few", "an asynchronous copy from it has not been waited for"},
		{"fault_hopper_store_no_fence", "no fence.proxy.async between a thread's write and a read past it"},
		{"fault_hopper_store_fence_of_one_alone", "no fence.proxy.async between a thread's write and a read past it"},
		{"fault_hopper_store_no_barrier", "read of 16 bytes at byte"}, // not yet written, or not ordered
		{"fault_hopper_store_no_commit", "the thread ends before its stores by TMA have read shared memory"},
		{"fault_hopper_store_no_last_wait", "the thread ends before its stores by TMA have read shared memory"},
		{"fault_hopper_store_other_swizzle", "[-1 -1"},
		{"fault_hopper_store_read_at_once", "of a device allocation (49152 bytes): an asynchronous copy to it has not been waited for"},
		{"fault_none_hopper_store_replaced", "[" + good + "] <nil>"},
		{"fault_hopper_store_replaced_no_wait", "an asynchronous copy from it has not been waited for"},
		{"fault_hopper_store_replaced_no_barrier", "of shared array dynamic (33792 bytes): a"},  // read while it leaves, or not ordered
		{"fault_hopper_store_replaced_late_reader", "of shared array dynamic (33792 bytes): a"}, // not ordered, or the next tile is on its way there
		{"fault_none_hopper_handed_on", "[" + good + "] <nil>"},
		{"fault_hopper_handed_on_to_one_alone", "of shared array words (256 bytes): a race: "},
		{"fault_hopper_handed_on_past_one", "of shared array words (256 bytes): a race: "},
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
