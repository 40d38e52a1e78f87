//go:build cgo && linux

package native

import (
	"maps"
	"testing"

	"ridge/goharness/backend"
	"ridge/goharness/fusion"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

const cacheLine = 64

// marker is byte i of memory that nothing has written yet; no line of numbers looks like it.
func marker(i int) byte { return byte(i*37 + i>>8*11 + 0x5b) }

func mark(mem []byte) int64 {
	for i := range mem {
		mem[i] = marker(i)
	}
	return 0
}

// changed is the bytes of the cache lines in which a marker is gone.
func changed(mem []byte) (bytes int64) {
	for from := 0; from < len(mem); from += cacheLine {
		line := mem[from:min(len(mem), from+cacheLine)]
		for i := range line {
			if line[i] != marker(from+i) {
				bytes += int64(len(line))
				break
			}
		}
	}
	return bytes
}

// written counts the bytes, in whole cache lines, that one launch changes in outputs, intermediates and workspace.
func written(t *testing.T, dev *device, p op.Program) (tensors, workspace int64) {
	t.Helper()
	made, err := dev.Prepare(p, backend.PrepareOptions{Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	e := made.(*executable)
	defer func() { _ = e.Release() }()
	if err := e.Fill(false, 0); err != nil {
		t.Fatal(err)
	}
	visit := func(f func(mem []byte) int64) (tensors, workspace int64) {
		for _, b := range e.sets[0] {
			if !b.t.Role.Input() {
				storage, _, _, err := e.ReadRaw(b.t.Name)
				if err != nil {
					t.Fatal(err)
				}
				tensors += f(storage)
			}
		}
		if e.scratch.mem != nil {
			workspace = f(e.scratch.mem)
		}
		return tensors, workspace
	}
	visit(mark)
	if err := e.Run(1); err != nil {
		t.Fatal(err)
	}
	return visit(changed)
}

// The fused program of every pattern does other work than the chain: it writes neither the intermediates nor
// copies of them elsewhere. Packed operands are workspace of both.
func TestFusedProgramsWriteNoIntermediates(t *testing.T) {
	if testing.Short() {
		t.Skip("the shapes of a quick run: slow under emulation")
	}
	opened, err := New().Open("cpu", backend.OpenOptions{CPUs: []int{-1, -1}, Affinity: "none"})
	if err != nil {
		t.Fatal(err)
	}
	dev := opened.(*device)
	defer func() { _ = dev.Close() }()
	for _, p := range fusion.Builtin() {
		for _, d := range p.DTypes {
			params := map[string]string{}
			for _, s := range p.Shapes {
				if s.Quick {
					maps.Copy(params, s.Params) // the larger of quick's
				}
			}
			if p.Name == "Linear_Requantize" {
				// One block of K. Longer products keep partial sums of outputs that are narrower than a sum in the workspace: there
				// the fused kernel writes as much as the chain, and reads less.
				params["k"] = "512"
			}
			if p.Name == "MLP" {
				// Hidden features for many blocks: on matrix tiles the fused kernel keeps a block of their rows in the workspace, 4 MiB (gemm_layers_tiles.h),
				// and writes the next over it. Of a product whose hidden features all fit one block it writes as many as the chain.
				maps.Copy(params, map[string]string{"m": "2048", "k": "64", "n": "16384"})
			}
			if p.Name == "Softmax_V" || p.Name == "FullAttention_SDPA" {
				// Long enough that the packed copies and the threads' scratch (131 and 70 KB on AMX at 256, where the chain packs V panel by
				// panel; 380 KB in fp32, where it packs nothing) are little beside the chain's weights, which grow with the square.
				params["s"] = "1024"
			}
			spec, _ := fusion.Specs(fusion.Builtin()).Spec(p.Name)
			names, err := spec.Candidates(params, d)
			if err != nil {
				t.Fatal(err)
			}
			program := func(arm string) op.Program {
				prog, err := fusion.Program(fusion.Builtin(), record.ProgramRef{Op: p.Name, Pattern: p.Name, DType: d, Params: params, Name: arm})
				if err != nil {
					t.Fatal(err)
				}
				return prog
			}
			unfused, fused := program(fusion.Unfused+":"+names[0]), program(fusion.Fused)
			var outputs, intermediates int64
			for _, x := range unfused.Tensors {
				switch x.Role {
				case op.Out:
					outputs += x.StorageBytes()
				case op.Scratch:
					intermediates += x.StorageBytes()
				}
			}
			tensors, workspace := written(t, dev, unfused)
			fusedTensors, fusedWorkspace := written(t, dev, fused)
			t.Logf("%s %s: unfused %d + %d workspace, fused %d + %d, outputs %d, intermediates %d", p.Name, d, tensors, workspace, fusedTensors, fusedWorkspace, outputs, intermediates)
			if tensors < outputs+intermediates || fusedTensors > outputs {
				t.Errorf("%s %s: the chain changed %d bytes of tensors and the fused kernel %d; outputs have %d, intermediates %d", p.Name, d, tensors, fusedTensors, outputs, intermediates)
			}
			if spared := tensors + workspace - fusedTensors - fusedWorkspace; spared < intermediates*9/10 {
				t.Errorf("%s %s: the fused kernel changed %d bytes less than the chain, whose intermediates have %d", p.Name, d, spared, intermediates)
			}
		}
	}
}
