package plan

import (
	"fmt"
	"slices"
	"strings"

	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// matrix shapes of ops over [rows,cols]: a vector loop with its tail, and one element.
var matrix = []string{"rows=37,cols=263", "rows=1,cols=1"}

// reduced are the shapes of ops over [rows,cols] that name a dimension.
func reduced(dims ...string) []string {
	var out []string
	for _, d := range dims {
		out = append(out, "rows=37,cols=263,dim="+d)
	}
	return out
}

// checkShapes are the parameters that verify asks of each op, small and with tails; what stands behind "int8:" (bytes and words), "float:"
// or a precision's name is of such precisions alone. Every kernel takes one of them: those whose operands lie at multiples of 16 bytes (k of bytes and words along it, tb=1),
// those that split a long k of few tiles, or a convolution's window, those that transpose B for many rows, 65 channels and more in bytes. An op that is not here and declares rows, cols or n has those of its kind (see CheckShapes).
var checkShapes = map[string][]string{
	"gemm": {"m=37,n=45,k=67", "m=1,n=129,k=64", "m=130,n=136,k=40,batch=2", "m=128,n=128,k=64", "float:m=64,n=64,k=64,tb=1,beta=1", "float:m=37,n=45,k=67,packed=1",
		"m=130,n=136,k=144,tb=1", "m=130,n=144,k=144", "m=5,n=80,k=1296", "m=5,n=80,k=1296,tb=1", "m=770,n=80,k=48",
		"fp16:m=37,n=45,k=67,acc=fp16", "fp16:m=130,n=136,k=144,tb=1,acc=fp16", "fp16:m=37,n=45,k=600,packed=1,acc=fp16"},
	"linear": {"float:m=37,n=45,k=67,act=gelu", "m=5,n=129,k=64,bias=0", "m=128,n=128,k=64", "int8:m=37,n=45,k=68,act=relu,requant=1", "float:m=5,n=80,k=1296,act=gelu", "int8:m=5,n=80,k=1296,requant=1"},
	"swiglu": {"m=37,n=45,k=67", "m=130,n=64,k=64", "m=5,n=40,k=72", "m=37,n=40,k=1296"},
	"mlp":    {"m=37,k=33,h=70,n=45", "m=130,k=64,h=64,n=64,act=relu", "m=5,k=72,h=136,n=45"},
	"conv2d": {"n=2,c=6,h=9,w=11,k=7,pad=1", "n=1,c=32,h=8,w=8,k=40,r=1,layout=nhwc", "n=1,c=32,h=8,w=8,k=64,pad=1,layout=nhwc", "n=1,c=32,h=8,w=8,k=40,r=1,layout=nhwc,packed=1", "n=1,c=8,h=9,w=9,k=8,stride=2,pad=1,groups=8", "float:n=1,c=16,h=10,w=10,k=16,pad=2,dilation=2,bias=1,act=relu", "int8:n=1,c=16,h=10,w=10,k=16,pad=2,dilation=2,bias=1,act=relu,requant=1", "n=1,c=64,h=8,w=8,k=72,pad=1,layout=nhwc", "int8:n=1,c=80,h=9,w=7,k=80,stride=2,pad=1,layout=nhwc,act=relu,requant=1", "int8:n=2,c=80,h=9,w=7,k=80,r=1,layout=nhwc,act=relu,requant=1", "float:n=1,c=32,h=8,w=8,k=72,r=1,layout=nhwc",
		"n=1,c=256,h=8,w=8,k=72,pad=1,layout=nhwc"},
	"attention":           {"b=2,heads=3,sq=37,d=20", "b=1,heads=4,kv_heads=2,sq=33,skv=70,d=64,causal=1", "b=1,heads=2,sq=1,skv=65,d=128", "b=1,heads=4,kv_heads=1,sq=2,skv=700,d=64,causal=1", "b=1,heads=1,sq=128,d=64", "b=1,heads=1,sq=64,d=128,causal=1", "b=1,heads=1,sq=33,skv=70,d=256", "b=1,heads=1,sq=70,skv=1000,d=64", "b=1,heads=1,sq=70,skv=700,d=128"},
	"batch_norm":          {"n=2,c=6,h=5,w=7", "n=2,c=6,h=5,w=7,layout=nhwc"},
	"requantize":          {"rows=37,cols=45", "rows=2,cols=6,inner=35,act=relu"},
	"gemv":                {"m=37,n=263", "m=1,n=1"},
	"argmax":              reduced("all", "0", "1"),
	"softmax":             reduced("0", "1"),
	"sum":                 reduced("all", "0", "1"),
	"mean":                reduced("all", "0", "1"),
	"max":                 reduced("all", "0", "1"),
	"min":                 reduced("all", "0", "1"),
	"chase":               {"bytes=4160,steps=100"},
	"bandwidth":           {"access=read,bytes=40012,passes=3", "access=write,bytes=40012,passes=3", "access=nt_write,bytes=40012,passes=3", "access=copy,bytes=40016,passes=3", "access=copy,bytes=40016,passes=1", "access=nt_copy,bytes=40016,passes=3", "access=triad,bytes=40020,passes=3", "access=triad,bytes=40020,passes=1", "access=nt_triad,bytes=40020,passes=3", "access=update,bytes=40012,passes=3"},
	"copy_h2d":            {"bytes=40012", "bytes=4"},
	"copy_d2h":            {"bytes=40012", "bytes=4"},
	"layout":              {"n=2,c=6,h=5,w=7", "n=2,c=6,h=5,w=7,to=nchw"},
	"dispatch":            {""},
	"dispatch_graph":      {""},
	"dispatch_persistent": {""},
	"dispatch_priority":   {""},
	"shared_memory":       {"blocks=3,bytes=4112,passes=3", "blocks=5,bytes=49168,passes=2"},
	"clock":               {"multiplications=1024"},
	"qk_softmax":          {"b=2,s=37,d=20", "b=2,s=72,d=64", "b=1,s=520,d=128"},
	"softmax_v":           {"b=2,s=37,d=20", "b=2,s=72,d=64", "b=1,s=520,d=80"},
	"causal_softmax":      {"b=2,s=37"},
}

// CheckShapes are the parameters that verify asks of an op at a precision: those of checkShapes, of its kind, or for peak one
// probe of each instruction set.
func CheckShapes(spec op.Spec, d record.DType) []string {
	if spec.Name == "peak" {
		var out []string
		for _, r := range op.PeakRows() {
			if r.DType == d && r.ISA != "sve" { // whose vector length nobody knows here
				out = append(out, fmt.Sprintf("isa=%s,instructions=%d", r.ISA, op.PeakUnit))
			}
		}
		return out
	}
	if list, ok := checkShapes[spec.Name]; ok {
		var out []string
		for _, s := range list {
			of, params, only := strings.Cut(s, ":")
			if !only {
				params = s
			}
			if !only || of == string(d) || of == "float" && d.Float() || of == "int8" && !d.Float() {
				out = append(out, params)
			}
		}
		return out
	}
	names := make([]string, 0, len(spec.Params))
	for _, p := range spec.Params {
		names = append(names, p.Name)
	}
	switch {
	case slices.Contains(names, "rows"):
		return matrix
	case slices.Contains(names, "n"):
		return []string{"n=10007", "n=1"}
	}
	return nil
}

// Checks are the cases that verify the kernels of a device: each with every op and precision that it is registered for, in each of
// the op's small shapes. One launch is timed, for no figure.
func Checks(ops *op.Registry, device string, kernels []backend.KernelInfo) ([]record.Case, error) {
	var out []record.Case
	for _, k := range kernels {
		spec, ok := ops.Spec(k.Op)
		if !ok || k.Available != nil {
			continue
		}
		shapes := CheckShapes(spec, k.DType)
		if len(shapes) == 0 {
			return nil, fmt.Errorf("kernel %s: there is no shape to verify op %s at %s", k.Name, k.Op, k.DType)
		}
		for _, s := range shapes {
			params := map[string]string{}
			if s != "" {
				params = parseParams(s)
			}
			if _, err := ops.New(k.Op, params, k.DType); err != nil {
				return nil, fmt.Errorf("verify %s at %s, %s: %w", k.Op, k.DType, s, err)
			}
			if k.Op == "peak" && params["isa"] != peakISA(k) {
				continue // another instruction set's probe
			}
			c, err := NewCase(ops, device, record.ProgramRef{Op: k.Op, DType: k.DType, Params: params, Kernel: k.Name}, 1, record.Hot)
			if err != nil {
				return nil, err
			}
			c.Quick, c.Warmup, c.Trials, c.UseCase = true, 1, 1, record.UseCaseVerification
			out = append(out, c)
		}
	}
	return out, nil
}

// peakISA is the instruction set that a peak kernel probes: what it says of itself, or the part of its name (op_dtype_arch) that
// op.PeakISAs has; "" when there is none.
func peakISA(k backend.KernelInfo) string {
	if k.PeakISA != "" {
		return k.PeakISA
	}
	for _, part := range strings.Split(k.Name, "_") {
		if slices.Contains(op.PeakISAs, part) {
			return part
		}
	}
	return ""
}
