//go:build cuda && linux && cgo

package vendor_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ridge/cuda"
	"ridge/cuda/cudatest"
	"ridge/cuda/vendor"
	"ridge/goharness/backend"
	"ridge/goharness/fusion"
	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/goharness/runner"
)

// TestMain builds the driver of the tests and stand-ins for the libraries. With RIDGE_VENDOR_TEST_OPEN the test binary only opens that library and says what it is:
// a library stays open as long as its process.
func TestMain(m *testing.M) {
	if name := os.Getenv("RIDGE_VENDOR_TEST_OPEN"); name != "" {
		v, err := cuda.New().OpenLibrary(name, 1)
		if err != nil {
			os.Stdout.WriteString("error: " + err.Error())
			os.Exit(0)
		}
		os.Stdout.WriteString(v.Name + " " + v.Version + " " + v.Path)
		os.Exit(0)
	}
	dir, err := os.MkdirTemp("", "ridge")
	if err == nil {
		err = build("fake_cublaslt.c", filepath.Join(dir, "libcublasLt.so.13"))
	}
	if err == nil {
		err = build("fake_cudnn.c", filepath.Join(dir, "libcudnn.so.9"))
	}
	if err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	_ = os.Setenv(backend.LibraryPathVariable, dir)
	if err := cudatest.Use(); err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

func build(source, to string, flags ...string) error {
	out, err := exec.Command("gcc", append(flags, "-O1", "-Wall", "-shared", "-fPIC", "-o", to, "testdata/"+source, "-lm", "-ldl")...).CombinedOutput()
	if err != nil {
		return &os.PathError{Op: "build " + string(out), Path: to, Err: err}
	}
	return nil
}

func open(t *testing.T) backend.Device {
	t.Helper()
	d, err := cuda.New().Open("cuda:0", backend.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// verified prepares a program and verifies it; what is wrong, and the kernels.
func verified(t *testing.T, d backend.Device, p op.Program, o backend.PrepareOptions) (string, []backend.KernelInfo) {
	t.Helper()
	o.Seed, o.Sets = runner.Seed, 2
	e, err := d.Prepare(p, o)
	if err != nil {
		return err.Error(), nil
	}
	defer e.Release()
	v, err := runner.Verify(t.Context(), e, p, runner.Seed, runner.DefaultEffort)
	switch {
	case err != nil:
		return err.Error(), e.Kernels()
	case !v.Passed:
		return v.Mismatch.Tensor + " " + v.Mismatch.Phase + ": got " + v.Mismatch.Got + ", want " + v.Mismatch.Want, e.Kernels()
	}
	if _, err := e.Measure(t.Context(), 24, 2); err != nil { // as a graph
		return err.Error(), e.Kernels()
	}
	return "", e.Kernels()
}

func TestTheLibrariesStepsMeetTheExpectation(t *testing.T) {
	d := open(t)
	for _, c := range []struct {
		kernel, op, params string
		d                  record.DType
		refused            string
	}{
		{"cublaslt_matmul_fp64", "gemm", "m=5,n=7,k=9", record.FP64, ""},
		{"cublaslt_matmul_fp64", "gemm", "m=5,n=7,k=9,tb=1,batch=3", record.FP64, ""},
		{"cublaslt_matmul_fp32", "gemm", "m=17,n=33,k=20,alpha=1,beta=1", record.FP32, ""},
		{"cublaslt_matmul_fp32", "gemm", "m=17,n=33,k=20,lda=24,ldb=40,ldc=36,beta=1", record.FP32, ""},
		{"cublaslt_matmul_tf32", "gemm", "m=17,n=33,k=20,tb=1", record.TF32, ""},
		{"cublaslt_matmul_fp16", "gemm", "m=16,n=24,k=40", record.FP16, ""},
		{"cublaslt_matmul_bf16", "gemm", "m=16,n=24,k=40,batch=2", record.BF16, ""},
		{"cublaslt_matmul_bf16", "linear", "m=9,n=21,k=33,bias=0", record.BF16, ""},
		{"cublaslt_matmul_int8", "linear", "m=9,n=21,k=32,bias=0", record.INT8, ""},
		{"cublaslt_matmul_int8", "gemm", "m=9,n=21,k=32", record.INT8, "no algorithm"},
		{"cublaslt_matmul_fp8_e4m3", "linear", "m=9,n=21,k=32,bias=0", record.FP8E4M3, ""},
		{"cublaslt_matmul_bf16", "linear", "m=9,n=21,k=33,bias=1", record.BF16, "bias and activation are for the fused primitive"},
		{"cublaslt_matmul_bf16", "gemm", "m=0,n=21,k=33", record.BF16, "an empty matrix"},
		{"cublaslt_matmul_post_fp32", "linear", "m=9,n=21,k=33,bias=1", record.FP32, ""},
		{"cublaslt_matmul_post_bf16", "linear", "m=9,n=21,k=33,bias=1,act=relu", record.BF16, ""},
		{"cublaslt_matmul_post_bf16", "linear", "m=9,n=21,k=33,bias=1,act=gelu_tanh", record.BF16, ""},
		{"cublaslt_matmul_post_bf16", "linear", "m=9,n=21,k=33,bias=1,act=gelu", record.BF16, "act=gelu"},
		{"cublaslt_matmul_post_bf16", "linear", "m=9,n=21,k=33,bias=0,act=relu", record.BF16, "bias=false"},
		{"cudnn_conv2d_fp32", "conv2d", "n=2,c=6,h=9,w=7,k=5,r=3,s=3,pad=1", record.FP32, ""},
		{"cudnn_conv2d_fp32", "conv2d", "n=1,c=6,h=9,w=7,k=8,r=3,s=3,stride=2,groups=2,bias=1", record.FP32, ""},
		{"cudnn_conv2d_bf16", "conv2d", "n=2,c=8,h=9,w=7,k=16,r=3,s=3,pad=2,dilation=2,layout=nhwc", record.BF16, ""},
		{"cudnn_conv2d_post_bf16", "conv2d", "n=2,c=8,h=9,w=7,k=16,r=1,s=1,layout=nhwc,bias=1,act=relu,residual=1", record.BF16, ""},
		{"cudnn_conv2d_post_fp32", "conv2d", "n=1,c=6,h=5,w=7,k=6,r=3,s=3,pad=1,groups=6,bias=1,act=none", record.FP32, ""},
		{"cudnn_conv2d_post_fp32", "conv2d", "n=1,c=6,h=5,w=7,k=6,r=3,s=3,bias=0,act=relu", record.FP32, "bias=false"},
		{"cudnn_conv2d_fp32", "conv2d", "n=1,c=6,h=5,w=7,k=6,r=3,s=3,act=relu", record.FP32, "for the fused primitive"},
	} {
		o := cudatest.Op(t, c.op, c.d, c.params)
		why, kernels := verified(t, d, op.Single(o), backend.PrepareOptions{Kernel: c.kernel})
		switch {
		case c.refused != "" && !strings.Contains(why, c.refused):
			t.Errorf("%s %s: %q, want a refusal with %q", c.kernel, c.params, why, c.refused)
		case c.refused == "" && why != "":
			t.Errorf("%s %s: %s", c.kernel, c.params, why)
		case c.refused == "" && !strings.HasPrefix(kernels[0].Library, "cublaslt 13.1.2 algorithm 66, tile 20, k in 1") && !strings.HasPrefix(kernels[0].Library, "cudnn 9.5.1 algorithm "):
			t.Errorf("%s: the code path %q", c.kernel, kernels[0].Library)
		}
	}
}

// A way of using the library takes the steps that the library has and ridge's own kernels for the others; where it has none it is refused.
func TestAChainIsTheLibrarysWhereItHasKernels(t *testing.T) {
	d, all := open(t), fusion.Builtin()
	spec := func(pattern, name, way string, dtype record.DType, params map[string]string) record.ProgramRef {
		return record.ProgramRef{Op: pattern, Pattern: pattern, DType: dtype, Params: params, Name: name, Library: way}
	}
	conv := map[string]string{"n": "2", "c": "8", "k": "8", "hw": "7", "r": "3", "layout": "nhwc"}
	linear, rows := map[string]string{"m": "9", "k": "32", "n": "20"}, map[string]string{"rows": "5", "cols": "37"}
	for _, c := range []struct {
		ref  record.ProgramRef
		want string // kernels, or what is said
	}{
		{spec("Linear_Bias_ReLU", "unfused:buffers", "cublaslt", record.BF16, linear), "cublaslt_matmul_bf16 channel_bf16_simt unary_bf16_simt"},
		{spec("Linear_Bias_ReLU", fusion.Fused, "cublaslt fused", record.BF16, linear), "cublaslt_matmul_post_bf16"},
		{spec("Linear_Requantize", "unfused:buffers", "cublaslt", record.INT8, linear), "cublaslt has no kernel for any step"}, // its sums of 32 bits have no bias,
		{spec("QK_AttentionScores", "unfused:buffers", "cublaslt", record.FP32, map[string]string{"b": "2", "s": "19", "d": "20"}), "cublaslt_matmul_fp32 unary_fp32_simt"},
		{spec("Linear_Bias_SiLU", fusion.Fused, "cublaslt fused", record.BF16, linear), "cublaslt fused has no kernel for any step"},
		{spec("Conv2d_BN_ReLU", "unfused:buffers", "cudnn", record.BF16, conv), "cudnn_conv2d_bf16 channel_bf16_simt unary_bf16_simt"},
		{spec("Conv2d_BN_Add_ReLU", fusion.Fused, "cudnn fused", record.FP32, conv), "cudnn_conv2d_post_fp32"},
		{spec("Conv2d_BN", fusion.Fused, "cudnn fused", record.BF16, conv), "cudnn_conv2d_post_bf16"},
		{spec("Conv2d_BN", "unfused:buffers", "cublaslt", record.BF16, conv), "cublaslt has no kernel for any step"},
		{spec("Add_ReLU", "unfused:buffers", "cublaslt", record.BF16, rows), "cublaslt has no kernel for any step"},
	} {
		p, err := fusion.Program(all, c.ref)
		if err != nil {
			t.Fatal(err)
		}
		got, kernels := verified(t, d, p, backend.PrepareOptions{Library: c.ref.Library})
		var names []string
		for _, k := range kernels {
			names = append(names, k.Name)
		}
		if got == "" {
			got = strings.Join(names, " ")
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s by %s: %q, want %q", c.ref.Pattern, c.ref.Library, got, c.want)
		}
	}
}

func TestWhatALibraryGetsWrongIsTold(t *testing.T) {
	gemm := op.Single(cudatest.Op(t, "gemm", record.FP32, "m=17,n=33,k=20"))
	conv := op.Single(cudatest.Op(t, "conv2d", record.FP32, "n=1,c=6,h=9,w=7,k=8,r=3,s=3"))
	for _, c := range []struct {
		variable, order, kernel string
		program                 op.Program
		want                    string
	}{
		{"RIDGE_FAKE_CUBLASLT", "none", "cublaslt_matmul_fp32", gemm, "it has no algorithm for the product"},
		{"RIDGE_FAKE_CUBLASLT", "fail", "cublaslt_matmul_fp32", gemm, "a call of a library failed with status 14"},
		{"RIDGE_FAKE_CUBLASLT", "wrong", "cublaslt_matmul_fp32", gemm, "c "},
		{"RIDGE_FAKE_CUDNN", "none", "cudnn_conv2d_fp32", conv, "it has no algorithm for the convolution"},
		{"RIDGE_FAKE_CUDNN", "large", "cudnn_conv2d_fp32", conv, "it has no algorithm for the convolution"},
		{"RIDGE_FAKE_CUDNN", "fail", "cudnn_conv2d_fp32", conv, "a call of a library failed with status 5000"},
		{"RIDGE_FAKE_CUDNN", "wrong", "cudnn_conv2d_fp32", conv, "y "},
	} {
		t.Setenv(c.variable, c.order)
		if got, _ := verified(t, open(t), c.program, backend.PrepareOptions{Kernel: c.kernel}); !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %q, want %q", c.kernel, c.order, got, c.want)
		}
		t.Setenv(c.variable, "")
	}
}

// What the search finds, in a process of its own each.
func TestALibraryThatCannotBeUsedSaysWhy(t *testing.T) {
	old, other, empty := t.TempDir(), t.TempDir(), t.TempDir()
	for _, err := range []error{build("fake_cublaslt.c", filepath.Join(old, "libcublasLt.so.12"), "-DFAKE_VERSION=110900"), build("fake_cudnn.c", filepath.Join(old, "libcudnn.so.9"), "-DFAKE_VERSION=8907"),
		build("fake_cublaslt.c", filepath.Join(other, "libcublasLt.so.12"), "-DcublasLtMatmul=not_there"), build("fake_cudnn.c", filepath.Join(other, "libcudnn.so"), "-DcudnnSetStream=not_there")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	here := os.Getenv(backend.LibraryPathVariable)
	for name, c := range map[string]struct{ library, dir, want string }{
		"cuBLASLt of another version":    {vendor.CuBLASLt, old, "version number 110900: 12 and 13 are known"},
		"a known version behind another": {vendor.CuBLASLt, old + ":" + here, "cublaslt 13.1.2 " + here},
		"cuDNN of another version":       {vendor.CuDNN, old, "version number 8907: 9 is known"},
		"cuBLASLt without a function":    {vendor.CuBLASLt, other, "it has no function cublasLtMatmul"},
		"cuDNN without a function":       {vendor.CuDNN, other, "it has no function cudnnSetStream"},
		"no cuBLASLt":                    {vendor.CuBLASLt, empty, "cuBLASLt is not here: none of libcublasLt.so.13, libcublasLt.so.12, libcublasLt.so is found; RIDGE_VENDOR_PATH may name its directory"},
		"no cuDNN":                       {vendor.CuDNN, empty, "cuDNN is not here: none of libcudnn.so.9, libcudnn.so is found"},
		"a cuBLASLt that can be used":    {vendor.CuBLASLt, here, "cublaslt 13.1.2 " + here},
		"a cuDNN that can be used":       {vendor.CuDNN, here, "cudnn 9.5.1 " + here},
		"a library that nobody knows of": {"cufft", here, "ridge knows no such library"},
	} {
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), "RIDGE_VENDOR_TEST_OPEN="+c.library, backend.LibraryPathVariable+"="+c.dir)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: %q %v, want %q", name, out, err, c.want)
		}
	}
}
