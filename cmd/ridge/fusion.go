package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ridge/goharness/fusion"
	"ridge/goharness/record"
	"ridge/goharness/report"
)

func fusionCommand() *cli.Command {
	return &cli.Command{
		Name: "fusion", Usage: "measure which operator fusions pay on this machine, into a fusion profile",
		Description: "Measures each pattern's fused kernel against the best unfused chain, of this build's kernels or of a vendor library that\n" +
			"is installed (ridge info says which; RIDGE_VENDOR_PATH names their directories), in quartets A B B A, and\n" +
			"gives a verdict per shape and a recommendation per pattern. ridge list patterns shows the patterns.\n" +
			"Of several devices each gets a profile of its own: --output profiles.json makes profiles.cuda-0.json and so on.",
		Flags: append(measureFlags(),
			&cli.StringFlag{Name: "patterns", Value: "all", Usage: "all, groups (" + strings.Join(fusion.Groups(fusion.Builtin()), ",") + ") or pattern names, comma-separated"},
			&cli.StringFlag{Name: "mode", Value: record.Hot, Usage: "hot or cold"},
			&cli.DurationFlag{Name: "budget", Usage: "time for the whole run on each device, such as 30m, in place of 15m (--quick 1m): more of it settles more shapes where neighbours disturb; each is measured once in any case"},
		),
		Action: fusionProfile,
	}
}

// leastBudget of a run: the ceilings alone take most of it.
const leastBudget = 20 * time.Second

// patterns reads a flag that names fusion patterns. One of them must have one of the precisions that are
// asked for, if any are.
func patterns(c *cli.Context, flag string, precisions []record.DType) ([]fusion.Pattern, error) {
	names, err := list(c, flag)
	if err != nil {
		return nil, err
	}
	if slices.Equal(names, []string{"none"}) {
		return nil, nil
	}
	return selectPatterns(c, "--"+flag+" "+c.String(flag), names, precisions)
}

// selectPatterns finds patterns by name or group; what says how they were asked for.
func selectPatterns(c *cli.Context, what string, names []string, precisions []record.DType) ([]fusion.Pattern, error) {
	out, err := fusion.Select(fusion.Builtin(), names)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	for _, p := range out {
		for _, d := range p.DTypes {
			if len(precisions) == 0 || slices.Contains(precisions, d) {
				return out, nil
			}
		}
	}
	return nil, fmt.Errorf("--precision %s: none of the patterns of %s has it (ridge list patterns)", c.String("precision"), what)
}

func fusionProfile(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return err
	}
	cfgs, err := configs(c)
	if err != nil {
		return err
	}
	if err := checkFiles(c, len(cfgs)); err != nil {
		return err
	}
	budget := c.Duration("budget")
	if c.IsSet("budget") && budget < leastBudget {
		return fmt.Errorf("--budget %v: expected at least %v", budget, leastBudget)
	}
	for i := range cfgs {
		cfgs[i].Target = budget
		p := &cfgs[i].Plan
		if p.Fusion, err = patterns(c, "patterns", p.Precisions); err != nil {
			return err
		}
		if len(p.Fusion) == 0 {
			return fmt.Errorf("--patterns none: expected at least one pattern (ridge list patterns)")
		}
		p.Mode, p.ProbesOnly = c.String("mode"), true
		if err := checkMode(p.Mode); err != nil {
			return err
		}
	}
	doc, err := runThen(c, cfgs, func(doc record.Calibration) error { return deliverFusion(c, cfgs[0].DataDir, len(cfgs) > 1, doc) })
	if err != nil {
		return err
	}
	return judge(doc)
}

// checkFiles refuses places that cannot hold a profile of each of several devices.
func checkFiles(c *cli.Context, devices int) error {
	if devices < 2 {
		return nil
	}
	out := c.String("output")
	st, err := os.Stat(out)
	switch {
	case c.Bool("json"):
		return fmt.Errorf("--json: a profile is of one device, and --device %s names %d: each gets a file of its own; leave --json out", c.String("device"), devices)
	case out == "-", err == nil && !st.Mode().IsRegular():
		return fmt.Errorf("--output %s: a profile is of one device, and --device %s names %d: each gets a file of its own; expected a file name", out, c.String("device"), devices)
	}
	return nil
}

// deliverFusion writes the profile of each device where it was asked for and prints the tables.
func deliverFusion(c *cli.Context, dataDir string, several bool, doc record.Calibration) error {
	profiles, err := record.FusionProfiles(&doc)
	if err != nil {
		return err
	}
	if len(profiles) == 0 {
		return fmt.Errorf("the run has no fusion profile")
	}
	for _, p := range profiles {
		data, err := record.EncodeFusion(p)
		if err != nil {
			return err
		}
		out, ending := c.String("output"), "-fusion.json"
		if several {
			ending = ofDevice(ending, p.Device.ID)
			if out != "" {
				out = ofDevice(out, p.Device.ID)
			}
		}
		if printed, err := deliverTo(c, out, dataDir, doc.RunID, ending, data); printed || err != nil {
			return err
		}
	}
	for _, p := range profiles { // the files come first
		if several {
			if _, err := fmt.Fprintf(c.App.Writer, "%s (%s)\n", p.Device.ID, p.Device.Name); err != nil {
				return err
			}
		}
		if err := report.WriteFusion(c.App.Writer, p, report.Detect(c.App.Writer)); err != nil {
			return err
		}
	}
	return nil
}
