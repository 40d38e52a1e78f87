package kernel

// MmaTile is a tile of ridge_mma_tile.cuh as an entry has it: rows and columns of a block, its warps, and what the entry's name ends with. Cost is
// its time where the tensor cores bind, relative to the others of a list.
type MmaTile struct {
	Suffix            string
	Rows, Cols, Warps int64
	Cost              float64
}

const mmaDepth, mmaStages = 64, 4 // DEPTH and STAGES of MmaTile

// Shared is the dynamic shared memory that its stages take, in bytes.
func (t MmaTile) Shared() int64 { return mmaStages * mmaDepth * (t.Rows + t.Cols) }

// Block is a block's threads.
func (t MmaTile) Block() [3]int64 { return [3]int64{32 * t.Warps, 1, 1} }

// Tiles is how many cover an output of m × n, at least 1.
func (t MmaTile) Tiles(m, n int64) (int64, error) {
	down, across := (m+t.Rows-1)/t.Rows, (n+t.Cols-1)/t.Cols
	if down > 0 && across > MaxGrid/down {
		return 0, Shape("an output of %d x %d: at most %d tiles of %d x %d are taken", m, n, int64(MaxGrid), t.Rows, t.Cols)
	}
	return max(1, down*across), nil
}

// PickMmaTile is the tile of a list whose blocks, for batch outputs of m × n, are done first when each multiprocessor does its share one after
// the other, and how many of them cover an output. A tile that the device's shared memory does not hold is not picked.
func PickMmaTile(list []MmaTile, m, n, batch int64, d Device) (best MmaTile, tiles int64, err error) {
	least := 0.0
	for _, t := range list {
		if t.Shared() > int64(d.SharedMax) || d.TileCols != 0 && t.Cols != d.TileCols {
			continue
		}
		all, err := t.Tiles(m, n)
		if err != nil {
			return best, 0, err
		}
		rounds := Blocks(all*max(1, batch), int64(max(1, d.SMs)), 0)
		if time := float64(rounds) * t.Cost; best.Warps == 0 || time < least {
			best, tiles, least = t, all, time
		}
	}
	if best.Warps == 0 && d.TileCols != 0 {
		return best, 0, Shape("this device has no tile of %d columns", d.TileCols)
	}
	if best.Warps == 0 {
		return best, 0, Shape("a block takes %d bytes of shared memory, this device gives %d", list[0].Shared(), d.SharedMax)
	}
	return best, tiles, nil
}
