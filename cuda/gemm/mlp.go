package gemm

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ridge/cuda/kernel"
	"ridge/goharness/op"
)

// planner is a kernel's Plan.
type planner = func(op.Op, []kernel.Buffer, kernel.Device) (kernel.Plan, error)

// mlpOf plans mlp as two products, Y = H·W2ᵀ + b2 of H = act(X·W1ᵀ + b1), with the hidden features H in the workspace, rounded to the op's precision. Each
// product is planned by the kernel of linear that the device prefers for its shape among those of a tier, with all of that kernel's launches: there is no code of mlp's own.
//
// FLOP: 2·M·H·(K + N). Bytes: X, both weights and Y once, and H written and read once, which the second-level cache holds: 2·M·H elements. Two launches, and one more for each
// product that shares its depth between blocks and does not add up in a cluster. Against a chain of ridge's own linear layers, biases and activation it saves the launches of
// these (0.87 µs each in a graph on an H200) and their passes over M·H and M·N.
// Predicted on an H200 at K = N = 768, H = 3072, from what its chain took there (five launches, µs in brackets; mlp_bf16_sm80 with tiles of 128 rows and mlp_fp32_simt behind them):
// bf16 M = 1 6.5 (11.3; 55.7), M = 64 13 (22.4; 78.8); fp32 M = 1 14 (21.8; 523), M = 64 27 (33.6; 530). not yet measured.
//
// Versions: 1 tiles of gemm_mma.cuh in both launches; 2 as described.
func mlpOf(tier func(kernel.Kernel) bool) planner {
	return func(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
		p, ok := o.(*op.MLP)
		if !ok {
			return kernel.Plan{}, fmt.Errorf("op %s is no multi-layer perceptron", o.Name())
		}
		size := p.D.Size()
		run := 16 / size // rows of H begin at multiples of 16 bytes, whatever H is
		pitch := ceil(p.H, run) * run
		bytes := op.Product(p.M, pitch, size)
		if bytes >= 1<<60 {
			return kernel.Plan{}, kernel.Shape("m=%d h=%d: the hidden features take %d bytes", p.M, p.H, bytes)
		}
		product := func(n, k, lda, ldc int64, act string) *op.Gemm {
			return &op.Gemm{M: p.M, N: n, K: k, LDA: lda, LDC: ldc, Batch: 1, Alpha: 1, TransB: true, Bias: true, Act: act, D: p.D}
		}
		hidden, out := product(p.H, p.K, 0, pitch, p.Act), product(p.N, p.H, pitch, 0, "none")
		first, err := linearOf(tier, hidden, []uint64{b[0].Address, b[1].Address, b[2].Address, hiddenFeatures}, d)
		if err != nil {
			return kernel.Plan{}, err
		}
		second, err := linearOf(tier, out, []uint64{hiddenFeatures, b[3].Address, b[4].Address, b[5].Address}, d)
		if err != nil {
			return kernel.Plan{}, err
		}
		behind := ceil(bytes, 256) * 256 // a product's own workspace
		return kernel.Plan{Workspace: behind + max(first.Workspace, second.Workspace), Launches: behindHidden(append(first.Launches, second.Launches...), behind)}, nil
	}
}

// hiddenFeatures is where products are planned to find H, which lies at the beginning of the workspace: no device has memory there, and no matrix that fits one has so many elements.
const hiddenFeatures = 1 << 60

// behindHidden puts H into the workspace and what the products have there behind it.
func behindHidden(all []kernel.Launch, behind int64) []kernel.Launch {
	for i := range all {
		args := slices.Clone(all[i].Args)
		for j, a := range args {
			address := a.Bits
			if a.Map != nil {
				address = a.Map.Address
			}
			switch {
			case a.Work:
				address += uint64(behind)
			case address == hiddenFeatures:
				address, args[j].Work = 0, true
			default:
				continue
			}
			if a.Map == nil {
				args[j].Bits = address
				continue
			}
			m := *a.Map
			m.Address, args[j].Map = address, &m
		}
		all[i].Args = args
	}
	return all
}

// linearOf plans a product as the kernel of linear does that the device prefers among those of a tier; buffers lie at the addresses, in the order of the op's tensors.
func linearOf(tier func(kernel.Kernel) bool, g *op.Gemm, addresses []uint64, d kernel.Device) (kernel.Plan, error) {
	var b []kernel.Buffer
	for i, t := range g.Tensors() {
		b = append(b, kernel.Buffer{Address: addresses[i], Tensor: t})
	}
	all := slices.DeleteFunc(Family().Kernels, func(k kernel.Kernel) bool {
		return !k.Implements("linear", g.D) || k.Rank < 0 || k.Runs(d.Capability) != nil || !tier(k)
	})
	slices.SortStableFunc(all, func(x, y kernel.Kernel) int { return cmp.Compare(y.Rank, x.Rank) })
	var why []string
	for _, k := range all {
		p, err := k.Plan(g, b, d)
		if err != nil {
			why = append(why, k.Name+": "+err.Error())
			continue
		}
		for i := range p.Launches {
			p.Launches[i].Image = cmp.Or(p.Launches[i].Image, k.Name)
		}
		return p, nil
	}
	return kernel.Plan{}, kernel.Shape("no kernel of this tier takes m=%d n=%d k=%d: %s", g.M, g.N, g.K, strings.Join(why, "; "))
}

// Tiers of linear: tensor cores by what every chip from 8.0 on has, and by that and what 9.0 alone has; of fp32 three products of tf32.
func onTensorCores(k kernel.Kernel) bool    { return k.Least != 0 || k.Only != 0 }
func onAllTensorCores(k kernel.Kernel) bool { return k.Least != 0 }
