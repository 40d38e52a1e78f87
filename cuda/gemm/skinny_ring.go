package gemm

import (
	"fmt"

	"ridge/cuda/kernel"
	"ridge/goharness/op"
)

// skinnyRing plans gemm and linear of up to 128 rows on Hopper's tensor cores: one launch that reads B once.
func skinnyRing(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	g, err := wgmmaTakes(o, b, d)
	if err != nil {
		return kernel.Plan{}, err
	}
	switch {
	case g.Batch > 1:
		return kernel.Plan{}, kernel.Shape("batch=%d: one product is taken", g.Batch)
	case g.M > 128:
		return kernel.Plan{}, kernel.Shape("m=%d: at most 128 rows are taken", g.M)
	}
	const cols = 64
	rows, cluster, suffix := int64(32), int64(1), ""
	switch {
	case g.M > 64:
		rows, cluster, suffix = 128, 4, "_cluster"
	case g.M > 32:
		rows, cluster, suffix = 64, 4, "_cluster"
	}
	step := uint32(wgmmaDepth / b[0].Tensor.DType.Size())
	x, err := operandMap(b[0], g, g.K, g.M, step, uint32(rows/cluster))
	if err != nil {
		return kernel.Plan{}, err
	}
	along, lines, box := g.N, g.K, [2]uint32{step, step}
	if g.TransB {
		along, lines, box = g.K, g.N, [2]uint32{step, cols}
	}
	y, err := operandMap(b[1], g, along, lines, box[0], box[1])
	if err != nil {
		return kernel.Plan{}, err
	}
	p, c := bind(b), b[len(b)-1]
	args := append([]kernel.Arg{x, y}, kernel.Ints(g.M, g.N, g.K, c.Tensor.LD())...)
	args = append(args, activation(g.Act), kernel.Float(g.Alpha), kernel.Float(float64(g.Beta)), p.d, p.bias, p.c)
	stage := (rows + cols) * wgmmaDepth
	groups := int64(1)
	if rows > 64 {
		groups = 2
	}
	places := int64(max(1, d.SMs)) / cluster
	l := kernel.Launch{Entry: fmt.Sprintf("gemm_%s_sm90_skinny%s_rows%d%s", g.D, stored(g), rows, suffix), Grid: [3]int64{min(places, ceil(g.N, cols*cluster)) * cluster, 1, 1},
		Block: [3]int64{128*groups + 32, 1, 1}, Shared: 1024 + 204800/stage*stage, Args: args}
	if cluster > 1 {
		l.Cluster = [3]int64{cluster, 1, 1}
	}
	return kernel.Plan{Launches: []kernel.Launch{l}}, nil
}
