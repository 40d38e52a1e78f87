package plan

import (
	"fmt"
	"slices"

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
				b.cases = append(b.cases, c)
			}
		}
	}
	return nil
}
