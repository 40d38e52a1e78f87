package fusion

import (
	"fmt"
	"maps"
	"strconv"

	"ridge/goharness/record"
)

// Grown is a shape whose parameter Grow is raised to the least power of two at which the unfused program moves at least so many bytes
// (Program.Bytes: each stage reads its inputs and writes its output once), and the bytes that all tensors of both programs take. ok is false where the shape
// moves as many already or does not grow. An error: no value that the parameter may have is enough.
func (p Pattern) Grown(s Shape, d record.DType, bytes int64) (grown Shape, need int64, ok bool, err error) {
	if s.Grow == "" {
		return Shape{}, 0, false, nil
	}
	_, pair, err := p.pair(s.Params, d)
	if err != nil || pair.Unfused[0].Bytes() >= bytes {
		return Shape{}, 0, false, err
	}
	now, err := strconv.ParseInt(s.Params[s.Grow], 10, 64)
	if err != nil {
		return Shape{}, 0, false, fmt.Errorf("%s: %s=%q does not grow: %w", p.Name, s.Grow, s.Params[s.Grow], err)
	}
	grown = Shape{Params: maps.Clone(s.Params), DTypes: s.DTypes}
	for v := int64(1); ; v *= 2 {
		if v <= now {
			continue
		}
		grown.Params[s.Grow] = fmt.Sprint(v)
		if _, pair, err = p.pair(grown.Params, d); err != nil {
			return Shape{}, 0, false, fmt.Errorf("no %s of %s has an unfused program of %d bytes: %w", s.Grow, p.Name, bytes, err)
		}
		if pair.Unfused[0].Bytes() >= bytes {
			break
		}
	}
	for _, t := range append(pair.Unfused[0].Tensors, pair.Fused.Tensors...) {
		need += t.StorageBytes()
	}
	return grown, need, true, nil
}
