package main

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ridge/goharness/backend"
	"ridge/goharness/campaign"
	"ridge/goharness/plan"
	"ridge/goharness/record"
	"ridge/goharness/runner"
)

func verifyCommand() *cli.Command {
	return &cli.Command{
		Name: "verify", Usage: "verify every kernel of a device in small shapes, without timing any for a figure",
		Description: "Runs each kernel that the device can run for each of its ops and precisions, in small shapes with tails, and holds\n" +
			"the outputs against the expectations as before every measurement. A kernel that is wrong, crashes or hangs is\n" +
			"named, the others go on, and the exit code is 1; so it is where a kernel of a GPU takes none of the shapes here, since\n" +
			"nobody has verified it then. Those of the CPU that take only arrays beyond its last cache are listed; a calibration\n" +
			"verifies them in its own shapes.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "device", Value: "cpu", Usage: "device whose kernels to verify; several, comma-separated, or cuda:all, one after the other"},
			&cli.StringFlag{Name: "precision", Usage: "precisions, comma-separated; default: all"},
			&cli.StringFlag{Name: "kernel", Usage: "this kernel alone"},
			&cli.StringFlag{Name: "under", Usage: "start the worker, which runs the kernels, under a tool: `WORDS` that stand before its command, as \"compute-sanitizer --tool memcheck\""},
			&cli.StringFlag{Name: "output", Usage: "write the document to this file (- for standard output)"},
			&cli.StringFlag{Name: "resume", Usage: "go on with an interrupted run: its id or journal"},
			&cli.BoolFlag{Name: "force", Usage: "verify while another run measures the device"},
		},
		Action: verify,
	}
}

func verify(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return err
	}
	cfgs, err := configs(c)
	if err != nil {
		return err
	}
	if err := kernelExists(c.String("kernel")); err != nil {
		return err
	}
	tool := strings.Fields(c.String("under"))
	if c.IsSet("under") && len(tool) == 0 {
		return fmt.Errorf("--under %q: expected the words of a command", c.String("under"))
	}
	if len(tool) > 0 {
		if _, err := exec.LookPath(tool[0]); err != nil {
			return fmt.Errorf("--under %q: %w", c.String("under"), err)
		}
	}
	for i := range cfgs {
		if err := verifyCases(c, &cfgs[i]); err != nil {
			return err
		}
		if len(tool) > 0 {
			cfgs[i].Deadline = underTool
		}
	}
	doc, err := runThen(c, cfgs, func(doc record.Calibration) error { return deliverVerified(c, cfgs, doc) })
	if err != nil {
		return err
	}
	if bad, _ := unverified(doc.Results); len(bad) > 0 {
		return fault("%d kernels did not pass: %s", len(bad), bad[0])
	}
	if unsuited := mustTake(doc.Results); len(unsuited) > 0 {
		return fault("%d kernels were not verified, since they take none of the small shapes: %s", len(unsuited), unsuited[0])
	}
	return nil
}

// mustTake are the kernels of GPUs that no case suited. Those of the CPU that store past its caches take arrays beyond its last cache
// alone: they are listed, and a calibration verifies them.
func mustTake(results []record.Result) []string {
	_, unsuited := unverified(slices.DeleteFunc(slices.Clone(results), func(r record.Result) bool { return r.Device == "cpu" }))
	return unsuited
}

// underTool is the time for a request to a worker whose every access a tool looks at.
func underTool(q runner.Request, c record.Case, p *runner.Prepared) time.Duration {
	return 10 * runner.DefaultDeadline(q, c, p)
}

// verifyCases chooses what is verified on a device.
func verifyCases(c *cli.Context, cfg *campaign.Config) (err error) {
	var kernels []backend.KernelInfo
	platform, _, _ := strings.Cut(cfg.Plan.Device, ":")
	for _, b := range backends() {
		if b.Name() != platform {
			continue
		}
		for _, k := range b.Kernels() {
			if !strings.HasSuffix(k.Name, "_model") && (len(cfg.Plan.Precisions) == 0 || slices.Contains(cfg.Plan.Precisions, k.DType)) &&
				(c.String("kernel") == "" || c.String("kernel") == k.Name) {
				kernels = append(kernels, k)
			}
		}
	}
	if cfg.Cases, err = plan.Checks(cfg.Plan.Ops, cfg.Plan.Device, kernels); err != nil {
		return err
	}
	if len(cfg.Cases) == 0 {
		return fmt.Errorf("verify: no kernel that was selected can run on %s (ridge list kernels says why)", cfg.Plan.Device)
	}
	cfg.SkipPreflight, cfg.NoProbes, cfg.Plan.ProbesOnly = true, true, true
	return nil
}

// deliverVerified writes the document and prints what did not pass.
func deliverVerified(c *cli.Context, cfgs []campaign.Config, doc record.Calibration) error {
	data, err := record.EncodeCalibration(doc)
	if err != nil {
		return err
	}
	if printed, err := deliverFile(c, cfgs[0].DataDir, doc.RunID, ".json", data); printed || err != nil {
		return err
	}
	failed, unsuited := unverified(doc.Results)
	for _, line := range append(slices.Clone(unsuited), failed...) {
		fmt.Fprintln(c.App.Writer, line)
	}
	for _, cfg := range cfgs {
		results := resultsOf(doc.Results, cfg.Plan.Device)
		failed, unsuited := unverified(results)
		n := len(asked(results))
		if _, err := fmt.Fprintf(c.App.Writer, "%d kernels on %s: %d passed, %d failed, %d not verified; %d cases\n",
			n, cfg.Plan.Device, n-len(failed)-len(unsuited), len(failed), len(unsuited), len(results)); err != nil {
			return err
		}
	}
	return nil
}

// resultsOf a device.
func resultsOf(results []record.Result, device string) (out []record.Result) {
	for _, r := range results {
		if r.Device == device {
			out = append(out, r)
		}
	}
	return out
}

// verifying is a kernel on a device.
type verifying struct{ device, kernel string }

// asked are the kernels that results were asked of, on each device.
func asked(results []record.Result) []verifying {
	var out []verifying
	for _, r := range results {
		if v := (verifying{r.Device, r.KernelRequested}); !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// unverified says of each kernel that failed in a case what became of it, and of each that no case suited why (it wants other
// shapes than the small ones, or more memory than there is): a line each.
func unverified(results []record.Result) (failed, unsuited []string) {
	for _, k := range asked(results) {
		ran, why, first := false, "", ""
		for _, r := range results {
			if r.KernelRequested != k.kernel || r.Device != k.device {
				continue
			}
			line := fmt.Sprintf("%s: %s: %s: %s", k.kernel, r.ID, r.Status, oneLine(r.Reason))
			switch {
			case r.Status.Counts():
				ran = true
			case r.Status == record.Unsupported || r.Status == record.Skipped:
				if first == "" {
					first = line
				}
			case why == "":
				why = line
			}
		}
		switch {
		case why != "":
			failed = append(failed, why)
		case !ran:
			unsuited = append(unsuited, first)
		}
	}
	return failed, unsuited
}
