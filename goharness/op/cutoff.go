package op

import "math"

// cutOff adds up how much tensor cores may lose of a sum of fp8 products, for Expectation.Rounded. Hopper's (and Ada's) align 32 products and the
// sum so far to the largest of them, keep 13 bits behind its leading one and cut off the others, of the result too (DeepSeek-V3 technical report,
// arXiv 2412.19437, 3.5.2; Zhang et al., SageAttention2, arXiv 2411.10958). So each of n products, the sum and the result lose less than
// q = 2^-13·T in a step, T being the largest of them, towards 0: with signs that are as good as random the step's loss squared is (n + 2)·q² at most, and
// all steps are independent (Hoeffding, as in attention.go). Over the whole depth T would grow as √K and the loss as K; kernels therefore begin
// anew every promoteEvery k and add in fp32 (bound_constant's share), so that it grows as √K, where Σ|a||b| grows as K.
type cutOff struct {
	k            int64
	terms        float64 // of the step
	sum, largest float64 // since the last promotion; of the step
	squares      float64
}

const (
	promoteEvery = 128 // four wgmma of e4m3
	cutStep      = 32  // products of an instruction
	// cutUnit is q of T = 1 in units of fp8_e4m3's roundoff, which rounded_constant counts in: 2^-13 / 2^-4.
	cutUnit = 0x1p-9
)

// add takes the next product, in the order of k.
func (c *cutOff) add(product float64) {
	if c.k%cutStep == 0 {
		c.step()
		if c.k%promoteEvery == 0 {
			c.sum = 0
		}
		c.largest = math.Abs(c.sum)
	}
	c.k++
	c.terms++
	c.sum += product
	c.largest = max(c.largest, math.Abs(product))
}

// step closes a step.
func (c *cutOff) step() {
	if c.terms > 0 {
		c.squares += (c.terms + 2) * math.Pow(max(c.largest, math.Abs(c.sum)), 2)
	}
	c.terms = 0
}

// addSquares takes, of many sums at once, the squares of their products of the next k. The squares of sums of random signs are those on average, and
// T² is not above that of the sum and the largest product's together.
func (c *cutOff) addSquares(products float64) {
	if c.k%cutStep == 0 {
		c.stepSquares()
		if c.k%promoteEvery == 0 {
			c.sum = 0
		}
	}
	c.k++
	c.terms++
	c.sum += products
}

func (c *cutOff) stepSquares() {
	if c.terms > 0 {
		c.squares += (c.terms + 2) * 2 * c.sum
	}
	c.terms = 0
}

// rounded is the unit of the loss, in units of fp8_e4m3's roundoff.
func (c *cutOff) rounded() float64 { return cutUnit * math.Sqrt(c.squares) }
