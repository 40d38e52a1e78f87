package main

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"ridge/goharness/fusion"
	"ridge/goharness/record"
	"ridge/goharness/report"
)

func fusionCommand() *cli.Command {
	return &cli.Command{
		Name: "fusion", Usage: "measure which operator fusions pay on this machine, into a fusion profile",
		Description: "Measures each pattern's fused kernel against the best unfused chain of this build's kernels, in quartets A B B A, and\n" +
			"gives a verdict per shape and a recommendation per pattern. ridge list patterns shows the patterns.",
		Flags: append(measureFlags(),
			&cli.StringFlag{Name: "patterns", Value: "all", Usage: "all, groups (linear,conv,attention) or pattern names, comma-separated"},
			&cli.StringFlag{Name: "mode", Value: record.Hot, Usage: "hot or cold"},
		),
		Action: fusionProfile,
	}
}

// patterns reads a flag that names fusion patterns.
func patterns(c *cli.Context, flag string) ([]fusion.Pattern, error) {
	names, err := list(c, flag)
	if err != nil {
		return nil, err
	}
	if slices.Equal(names, []string{"none"}) {
		return nil, nil
	}
	out, err := fusion.Select(fusion.Builtin(), names)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	return out, nil
}

func fusionProfile(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return err
	}
	selected, err := patterns(c, "patterns")
	if err != nil {
		return err
	}
	cfg, err := config(c)
	if err != nil {
		return err
	}
	if cfg.Plan.Mode = c.String("mode"); cfg.Plan.Mode != record.Hot && cfg.Plan.Mode != record.Cold {
		return fmt.Errorf("--mode %q: expected hot or cold", cfg.Plan.Mode)
	}
	cfg.Plan.Fusion, cfg.Plan.ProbesOnly = selected, true
	doc, err := runThen(c, cfg, func(doc record.Calibration) error { return deliverFusion(c, cfg.DataDir, doc) })
	if err != nil {
		return err
	}
	return judge(doc)
}

// deliverFusion writes the profile where it was asked for and prints the tables.
func deliverFusion(c *cli.Context, dataDir string, doc record.Calibration) error {
	if len(doc.FusionProfiles) == 0 {
		return fmt.Errorf("no pattern was measured: --precision leaves none of the selected patterns (ridge list patterns)")
	}
	var profile record.Fusion
	if err := json.Unmarshal(doc.FusionProfiles[0], &profile); err != nil {
		return err
	}
	data, err := record.EncodeFusion(profile)
	if err != nil {
		return err
	}
	if printed, err := deliverFile(c, dataDir, doc.RunID+"-fusion.json", data); printed || err != nil {
		return err
	}
	return report.WriteFusion(c.App.Writer, profile, report.Detect(c.App.Writer))
}
