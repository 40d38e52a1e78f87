package gemm

import (
	"fmt"

	"ridge/cuda/kernel"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// mmaTile is a tile of an entry of gemm_mma.cuh. cost is its time where the tensor cores bind, relative to the smallest one.
type mmaTile struct {
	suffix string
	cols   int64
	warps  int64
	cost   float64
}

const mmaRows, mmaDepth, mmaStages = 128, 64, 4 // ROWS, DEPTH and STAGES of MmaTile

// The wide tile reads a quarter less of L2 and of shared memory.
var (
	mmaTiles     = []mmaTile{{suffix: "", cols: 128, warps: 4, cost: 1}, {suffix: "_wide", cols: 256, warps: 8, cost: 1.85}}
	mmaTilesFP64 = []mmaTile{{suffix: "", cols: 64, warps: 4, cost: 1}}
)

func (t mmaTile) shared() int64 { return mmaStages * mmaDepth * (mmaRows + t.cols) }

// mma plans gemm and linear on tensor cores.
func mma(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	g, ok := o.(*op.Gemm)
	if !ok {
		return kernel.Plan{}, fmt.Errorf("op %s is no matrix product", o.Name())
	}
	if err := rowsOf16(b[:2]); err != nil {
		return kernel.Plan{}, err
	}
	tile, grid, err := mmaGrid(g, d)
	if err != nil {
		return kernel.Plan{}, err
	}
	x, c := bind(b), b[len(b)-1]
	matrix := func(t kernel.Buffer) int64 { return t.Tensor.Dims[len(t.Tensor.Dims)-2] * t.Tensor.LD() }
	args := kernel.Ints(g.M, g.N, g.K, b[0].Tensor.LD(), b[1].Tensor.LD(), c.Tensor.LD())
	batch := kernel.Ints(matrix(b[0]), matrix(b[1]), matrix(c))
	entry := "gemm_" + string(g.D) + "_sm80"
	switch {
	case g.Requant:
		entry += "_requant"
		args = append(args, activation(g.Act), x.a, x.b, x.bias, x.scale, x.c)
	case !g.D.Float():
		args = append(append(args, batch...), x.a, x.b, x.bias, x.c)
	default:
		args = append(append(args, batch...), activation(g.Act), kernel.Float(g.Alpha), kernel.Float(float64(g.Beta)), x.a, x.b, x.d, x.bias, x.c)
	}
	if g.TransB {
		entry += "_nt"
	} else {
		entry += "_nn"
	}
	return kernel.Plan{Launches: []kernel.Launch{{Entry: entry + tile.suffix, Grid: grid, Block: [3]int64{32 * tile.warps, 1, 1}, Shared: tile.shared(), Args: args}}}, nil
}

// rowsOf16 says which operand has rows that do not begin at multiples of 16 bytes.
func rowsOf16(b []kernel.Buffer) error {
	for _, x := range b {
		if size := x.Tensor.DType.Size(); x.Address%16 != 0 || x.Tensor.LD()*size%16 != 0 {
			return kernel.Shape("rows of %s lie %d bytes apart from address %#x: both must be multiples of 16", x.Tensor.Name, x.Tensor.LD()*size, x.Address)
		}
	}
	return nil
}

// mmaGrid picks the tile whose blocks are done first when each multiprocessor does its share one after the other.
func mmaGrid(g *op.Gemm, d kernel.Device) (best mmaTile, grid [3]int64, err error) {
	from := mmaTiles
	if g.D == record.FP64 {
		from = mmaTilesFP64
	}
	least := 0.0
	for i, t := range from {
		if i > 0 && t.shared() > int64(d.SharedMax) {
			continue
		}
		all, err := tiles(g.M, g.N, g.Batch, mmaRows, t.cols)
		if err != nil {
			return best, grid, err
		}
		rounds := kernel.Blocks(all[0]*all[2], int64(max(1, d.SMs)), 0)
		if time := float64(rounds) * t.cost; i == 0 || time < least {
			best, grid, least = t, all, time
		}
	}
	if best.shared() > int64(d.SharedMax) {
		return best, grid, kernel.Shape("a block takes %d bytes of shared memory, this device gives %d", best.shared(), d.SharedMax)
	}
	return best, grid, nil
}
