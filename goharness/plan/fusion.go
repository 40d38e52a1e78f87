package plan

import (
	"fmt"
	"slices"
	"strings"

	"ridge/goharness/fusion"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// Budgets of a comparison in nanoseconds. To them comes the time of fusionLaunches at 200 GFLOP/s:
// a quartet has four launches at least and mostly six, a verdict eight quartets. A run spends it in three visits or more.
const (
	quickFusionBudget = 200e6
	fullFusionBudget  = 900e6
	fusionLaunches    = 54
	maxFusionBudget   = 36e9
)

// twoArms makes a case of a pattern: the unfused chain against the fused kernel.
func twoArms(c *record.Case, spec op.Spec) error {
	ref := c.Program
	ref.Pattern = ref.Op
	names, err := spec.Candidates(ref.Params, ref.DType)
	if err != nil {
		return fmt.Errorf("case %s: %w", c.ID, err)
	}
	unfused, fused := ref, ref
	unfused.Name, fused.Name = fusion.Unfused+":"+names[0], fusion.Fused
	c.Program, c.Arms, c.Baselines, c.Cuts = ref, []record.ProgramRef{unfused, fused}, names, fusion.Cuts()
	return nil
}

// fusions adds the shapes of the selected patterns.
func (b *builder) fusions() error {
	for _, p := range b.o.Fusion {
		for _, d := range p.DTypes {
			if len(b.o.Precisions) > 0 && !slices.Contains(b.o.Precisions, d) {
				continue
			}
			for _, s := range p.Shapes {
				if b.o.Quick && !s.Quick || s.DTypes != nil && !slices.Contains(s.DTypes, d) {
					continue
				}
				if err := b.fusion(p, d, s, 0); err != nil {
					return err
				}
				if grown, ok, err := b.beyondLLC(p, d, s); err != nil {
					return fmt.Errorf("plan the fusion patterns: %w", err)
				} else if ok {
					if err := b.fusion(p, d, grown, mostLaunchNS); err != nil {
						return err
					}
				}
			}
		}
	}
	if len(b.tooLarge) > 0 {
		b.warnings = append(b.warnings, fmt.Sprintf("no shape moves four times the last-level cache, for half of the memory is %.3g GB: %s",
			float64(b.o.TotalMemory/memoryShare)/1e9, strings.Join(b.tooLarge, ", ")))
	}
	return nil
}

// fusion adds a shape of a pattern. One whose launch takes longer than mostNS by the ceilings is not measured; 0: it is.
func (b *builder) fusion(p fusion.Pattern, d record.DType, s fusion.Shape, mostNS int64) error {
	c, err := b.newCase(record.ProgramRef{Op: p.Name, DType: d, Params: s.Params}, b.o.Threads)
	if err != nil {
		return fmt.Errorf("plan the fusion patterns: %w", err)
	}
	o, err := b.o.Ops.New(p.Name, s.Params, d)
	if err != nil {
		return fmt.Errorf("plan the fusion patterns: %w", err)
	}
	if c.BudgetNS = fullFusionBudget; b.o.Quick {
		c.BudgetNS = quickFusionBudget
	}
	c.BudgetNS = min(c.BudgetNS+o.FLOPs()/200*fusionLaunches, maxFusionBudget)
	c.MostLaunchNS = mostNS
	b.cases = append(b.cases, c)
	return nil
}

// Bounds of a shape beyond the last-level cache. A launch is bounded by the ceilings, which a plan does not know: the campaign skips it.
const (
	mostLaunchNS = 1e8 // preparing, choosing and verifying take the time of 100 to 300 launches
	memoryShare  = 2   // of the whole memory, both programs' tensors: what is free differs from run to run, and a resumed run needs the same plan
)

// beyondLLC is the shape that follows the last of a sweep in a full run, where all of the sweep's traffic may stay in the last-level cache: its unfused
// program moves four times that cache at least. ok is false where none is needed. Buffers in turn (cold) come from memory at every shape.
func (b *builder) beyondLLC(p fusion.Pattern, d record.DType, s fusion.Shape) (grown fusion.Shape, ok bool, err error) {
	if b.o.Quick || b.o.LLC == 0 || b.o.Mode != record.Hot {
		return grown, false, nil
	}
	grown, need, ok, err := p.Grown(s, d, 4*b.o.LLC)
	if err != nil || !ok {
		return grown, false, err
	}
	if most := b.o.TotalMemory / memoryShare; b.o.TotalMemory > 0 && need > most {
		b.tooLarge = append(b.tooLarge, fmt.Sprintf("%s %s (%s=%s takes %.3g GB)", p.Name, d, s.Grow, grown.Params[s.Grow], float64(need)/1e9))
		return grown, false, nil
	}
	return grown, true, nil
}
