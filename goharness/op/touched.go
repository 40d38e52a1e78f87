package op

// Bytes of the elements that an op reads or writes, each once: none of the padding, none that it leaves out (Seen). MaxInt64 where they are more.
func (t Tensor) Bytes() int64 {
	f := []int64{t.DType.Size()}
	for d := range t.Dims {
		f = append(f, t.seen(d))
	}
	return Product(f...)
}

// seen is how many indices of a dimension the op reads or writes.
func (t Tensor) seen(d int) int64 {
	if t.Seen != nil && t.Seen[d] != nil {
		return int64(len(t.Seen[d]))
	}
	return t.Dims[d]
}

// TouchedBytes is what launches bring into the caches: the lines in which elements lie that the op reads or writes, of storage that begins with a
// line. Between rows that are far apart nothing is touched; without gaps it is the storage.
func (t Tensor) TouchedBytes() int64 {
	all := t.StorageBytes()
	if t.Seen == nil && t.LD() == t.Row() || all == 0 {
		return all
	}
	if t.Bytes() == 0 {
		return 0
	}
	c := lineCounter{t: t, step: make([]int64, len(t.Dims)), whole: make([]int64, len(t.Dims)+1), known: map[[2]int64]span{}}
	size := t.DType.Size()
	c.whole[len(t.Dims)] = size
	for d := len(t.Dims) - 1; d >= 0; d-- {
		switch len(t.Dims) - 1 - d {
		case 0:
			c.step[d] = size
		case 1:
			c.step[d] = t.LD() * size
		default:
			c.step[d] = t.Dims[d+1] * c.step[d+1]
		}
		if t.seen(d) == t.Dims[d] && c.whole[d+1] == c.step[d] {
			c.whole[d] = t.Dims[d] * c.step[d]
		}
	}
	return min(all, c.at(0, 0).n*lineBytes)
}

// span is how many lines a part of a tensor touches, the first and the last of them.
type span struct{ n, first, last int64 }

// lineCounter counts the lines of a tensor's parts: all elements with the same indices in the dimensions before d. Where a part begins within a
// line says how many it touches, so there are no more than 64 different ones of a dimension.
type lineCounter struct {
	t     Tensor
	step  []int64 // bytes from one index of a dimension to the next
	whole []int64 // bytes of a part that has no gaps, else 0
	known map[[2]int64]span
}

// at counts the lines of a part of dimension d that begins at a byte.
func (c *lineCounter) at(d int, start int64) span {
	key, line := [2]int64{int64(d), start % lineBytes}, start/lineBytes
	l, ok := c.known[key]
	if !ok {
		l = c.count(d, key[1])
		c.known[key] = l
	}
	return span{l.n, l.first + line, l.last + line}
}

// count is at within the first line. Parts lie one behind the other: two that follow each other share one line at most.
func (c *lineCounter) count(d int, start int64) span {
	if all := c.whole[d]; all > 0 {
		last := (start + all - 1) / lineBytes
		return span{last + 1, 0, last}
	}
	n, period := c.t.seen(d), c.t.seen(d)
	index := func(k int64) int64 { return c.t.Seen[d][k] }
	if n == c.t.Dims[d] { // evenly apart: after so many steps one begins where in its line the first did
		index = func(k int64) int64 { return k }
		for period = 1; period*(c.step[d]%lineBytes)%lineBytes != 0; period *= 2 { // the line's bytes are a power of two
		}
	}
	out := c.at(d+1, start+index(0)*c.step[d])
	var sums []int64 // of the lines that parts 1 to k add
	added := int64(0)
	last := out.last
	for k := int64(1); k < n && k <= period; k++ {
		l := c.at(d+1, start+index(k)*c.step[d])
		added += l.n
		if l.first == last {
			added--
		}
		last = l.last
		sums = append(sums, added)
	}
	if rest := n - 1; rest > period {
		added *= rest / period
		if rest %= period; rest > 0 {
			added += sums[rest-1]
		}
	}
	out.n += added
	out.last = c.at(d+1, start+index(n-1)*c.step[d]).last
	return out
}
