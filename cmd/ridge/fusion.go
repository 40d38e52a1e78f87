package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"ridge/goharness/campaign"
	"ridge/goharness/fusion"
	"ridge/goharness/record"
	"ridge/goharness/report"
)

func fusionCommand() *cli.Command {
	return &cli.Command{
		Name: "fusion", Usage: "measure which operator fusions pay on this machine, into a fusion profile",
		Description: "Measures each pattern's fused kernel against the best unfused chain, of this build's kernels or of a vendor library that\n" +
			"is installed (ridge info says which; RIDGE_VENDOR_PATH names their directories), in quartets A B B A, and\n" +
			"gives a verdict per shape and a recommendation per pattern. ridge list patterns shows the patterns.",
		Flags: append(measureFlags(),
			&cli.StringFlag{Name: "patterns", Value: "all", Usage: "all, groups (" + strings.Join(fusion.Groups(fusion.Builtin()), ",") + ") or pattern names, comma-separated"},
			&cli.StringFlag{Name: "mode", Value: record.Hot, Usage: "hot or cold"},
		),
		Action: fusionProfile,
	}
}

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
	cfg, err := config(c)
	if err != nil {
		return err
	}
	if cfg.Plan.Fusion, err = patterns(c, "patterns", cfg.Plan.Precisions); err != nil {
		return err
	}
	if len(cfg.Plan.Fusion) == 0 {
		return fmt.Errorf("--patterns none: expected at least one pattern (ridge list patterns)")
	}
	if cfg.Plan.Mode = c.String("mode"); cfg.Plan.Mode != record.Hot && cfg.Plan.Mode != record.Cold {
		return fmt.Errorf("--mode %q: expected hot or cold", cfg.Plan.Mode)
	}
	cfg.Plan.ProbesOnly = true
	doc, err := runThen(c, []campaign.Config{cfg}, func(doc record.Calibration) error { return deliverFusion(c, cfg.DataDir, doc) })
	if err != nil {
		return err
	}
	return judge(doc)
}

// deliverFusion writes the profile where it was asked for and prints the tables.
func deliverFusion(c *cli.Context, dataDir string, doc record.Calibration) error {
	if len(doc.FusionProfiles) == 0 {
		return fmt.Errorf("the run has no fusion profile")
	}
	var profile record.Fusion
	if err := json.Unmarshal(doc.FusionProfiles[0], &profile); err != nil {
		return err
	}
	data, err := record.EncodeFusion(profile)
	if err != nil {
		return err
	}
	if printed, err := deliverFile(c, dataDir, doc.RunID, "-fusion.json", data); printed || err != nil {
		return err
	}
	return report.WriteFusion(c.App.Writer, profile, report.Detect(c.App.Writer))
}
