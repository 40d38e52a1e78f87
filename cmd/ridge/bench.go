package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"ridge/goharness/campaign"
	"ridge/goharness/plan"
	"ridge/goharness/record"
)

func benchCommand() *cli.Command {
	flags := append(measureFlags(),
		&cli.StringFlag{Name: "case", Usage: "measure the case of this id (every result carries its own)"},
		concurrentFlag(),
		noCeilingsFlag(),
	)
	flags = append(flags, caseFlags()...)
	return &cli.Command{
		Name: "bench", Usage: "verify and time one op over sizes and kernels", ArgsUsage: "OP",
		Description: "Examples: ridge bench gemm --m 512,1024 --n 1024 --k 1024 --precision fp32 --kernel all\n          ridge bench --case 'cpu/gemm/fp32/m=64,n=64,k=64/threads=1/hot'",
		Flags:       flags, Action: bench,
	}
}

func noCeilingsFlag() cli.Flag {
	return &cli.BoolFlag{Name: "no-ceilings", Usage: "do not probe the ceilings first (the result is then not held against limits)"}
}

// caseFlags choose the cases of an op.
func caseFlags() []cli.Flag {
	flags := []cli.Flag{
		&cli.StringFlag{Name: "kernel", Usage: "force a kernel, or all: every kernel of the op in turn"},
		&cli.StringFlag{Name: "mode", Value: record.Hot, Usage: "hot or cold"},
		&cli.StringSliceFlag{Name: "param", Usage: "parameter of the op, NAME=VALUE[,VALUE…]; several values sweep"},
	}
	for _, name := range []string{"m", "n", "k"} {
		flags = append(flags, &cli.StringFlag{Name: name, Usage: "sizes of parameter " + name + ", comma-separated"})
	}
	return flags
}

func bench(c *cli.Context) error {
	cfgs, err := benchConfigs(c)
	if err != nil {
		return err
	}
	for i := range cfgs {
		cfg := &cfgs[i]
		if cfg.Cases, err = benchCases(c, cfg); err != nil {
			return err
		}
		cfg.SkipPreflight, cfg.NoProbes = true, c.Bool("no-ceilings")
		// Only the ceilings of the precisions and thread counts asked for are probed.
		cfg.Plan.ProbesOnly, cfg.ProbesFor = true, cfg.Cases
	}
	doc, err := runCampaign(c, cfgs...)
	if err != nil {
		return err
	}
	return judge(doc)
}

// benchConfigs are those of --device, or of the device that --case names.
func benchConfigs(c *cli.Context) ([]campaign.Config, error) {
	id, err := record.ParseCaseID(c.String("case"))
	if err != nil || c.IsSet("device") || c.Bool("concurrent") {
		return configs(c) // benchCases says what is wrong with the case
	}
	if err := checkDevice(id.Device); err != nil {
		return nil, fmt.Errorf("case %s: %w", c.String("case"), err)
	}
	cfg, err := configOf(c, id.Device)
	return []campaign.Config{cfg}, err
}

// benchCases makes the cases of the command line.
func benchCases(c *cli.Context, cfg *campaign.Config) ([]record.Case, error) {
	var refs []record.ProgramRef
	threads, mode, device := cfg.Plan.Threads, c.String("mode"), cfg.Plan.Device
	if err := checkMode(mode); err != nil {
		return nil, err
	}
	if id := c.String("case"); id != "" {
		for _, name := range []string{"threads", "mode", "device", "precision", "m", "n", "k", "param"} {
			if c.IsSet(name) && (name != "device" || !c.Bool("concurrent")) {
				return nil, fmt.Errorf("--%s %v: --case names it already; remove one of the two", name, c.Value(name))
			}
		}
		if c.Args().Present() {
			return nil, fmt.Errorf("bench: --case names the op; remove %q", c.Args().First())
		}
		k, err := plan.FromID(cfg.Plan.Ops, id)
		if err != nil {
			return nil, err
		}
		if k.Mode != record.Hot && k.Mode != record.Cold {
			return nil, fmt.Errorf("case %s: mode %q: expected hot or cold", id, k.Mode)
		}
		if err := checkAffinity(c.String("affinity"), k.Threads, "case "+id); err != nil {
			return nil, err
		}
		if forced := k.Program.Kernel; forced != "" && c.IsSet("kernel") && c.String("kernel") != forced {
			return nil, fmt.Errorf("--kernel %s: the case names kernel %s", c.String("kernel"), forced)
		}
		refs, threads, mode = []record.ProgramRef{k.Program}, k.Threads, k.Mode
		if !c.Bool("concurrent") { // which measures it on each of its devices
			device = k.Device
		}
		cfg.Plan.Threads = threads
	} else {
		var err error
		if refs, err = sweepRefs(c, cfg); err != nil {
			return nil, err
		}
	}
	return refCases(c, cfg, refs, threads, mode, device)
}

func checkMode(mode string) error {
	if mode != record.Hot && mode != record.Cold {
		return fmt.Errorf("--mode %q: expected hot or cold", mode)
	}
	return nil
}

// refCases makes a case of every program and kernel; threads 0 is what the affinity allows.
func refCases(c *cli.Context, cfg *campaign.Config, refs []record.ProgramRef, threads int, mode, device string) ([]record.Case, error) {
	if threads == 0 {
		cpus, err := hostCPUs(0, c.String("affinity"))
		if err != nil {
			return nil, err
		}
		threads = len(cpus)
	}
	var out []record.Case
	for _, ref := range refs {
		kernels := kernelsFor(c, device, ref)
		if len(kernels) == 0 {
			return nil, fmt.Errorf("--kernel all: no kernel for %s at %s can run here (ridge list kernels)", ref.Op, ref.DType)
		}
		for _, kernel := range kernels {
			if err := kernelExists(kernel); err != nil {
				return nil, err
			}
			r := ref
			r.Kernel = kernel
			k, err := plan.NewCase(cfg.Plan.Ops, device, r, threads, mode)
			if err != nil {
				return nil, err
			}
			o, err := cfg.Plan.Ops.New(r.Op, r.Params, r.DType)
			if err != nil {
				return nil, err
			}
			k.Quick, k.Warmup, k.Trials, k.BudgetNS = cfg.Plan.Quick, cfg.Plan.Warmup, cfg.Plan.Trials, cfg.Plan.Budget(o.FLOPs(), o.Bytes())
			if !slices.ContainsFunc(out, func(x record.Case) bool { return x.ID == k.ID }) {
				out = append(out, k)
			}
		}
	}
	return out, nil
}

// kernelsFor gives the forced kernels of a case, those of its device's platform; "" lets the platform choose.
func kernelsFor(c *cli.Context, device string, ref record.ProgramRef) []string {
	switch k := c.String("kernel"); {
	case k == "" && ref.Kernel != "":
		return []string{ref.Kernel}
	case k == "all":
		platform, _, _ := strings.Cut(device, ":")
		var out []string
		for _, b := range backends() {
			if b.Name() != platform {
				continue
			}
			for _, info := range b.Kernels() {
				if info.Op == ref.Op && info.DType == ref.DType && info.Available == nil && !strings.HasSuffix(info.Name, "_model") {
					out = append(out, info.Name)
				}
			}
		}
		return out
	default:
		return []string{k}
	}
}

func sweepRefs(c *cli.Context, cfg *campaign.Config) ([]record.ProgramRef, error) {
	if c.NArg() != 1 {
		return nil, fmt.Errorf("bench: expected one op (ridge list ops) or --case ID, got %d arguments", c.NArg())
	}
	return opRefs(c, cfg, c.Args().First())
}

// opRefs makes the cross product of the parameters' values and the precisions.
func opRefs(c *cli.Context, cfg *campaign.Config, name string) ([]record.ProgramRef, error) {
	spec, ok := cfg.Plan.Ops.Spec(name)
	if !ok {
		return nil, fmt.Errorf("%s: unknown op %q: ridge list ops shows them", c.Command.Name, name)
	}
	given := map[string]string{}
	for _, p := range []string{"m", "n", "k"} {
		if c.IsSet(p) {
			given[p] = c.String(p)
		}
	}
	if err := paramFlags(c.StringSlice("param"), given); err != nil {
		return nil, err
	}
	sets, err := plan.Sweep(given)
	if err != nil {
		return nil, err
	}
	dtypes := cfg.Plan.Precisions
	if len(dtypes) == 0 {
		dtypes = spec.DTypes[:1]
		if slices.Contains(spec.DTypes, record.FP32) {
			dtypes = []record.DType{record.FP32}
		}
	}
	var out []record.ProgramRef
	for _, params := range sets {
		for _, d := range dtypes {
			if _, err := cfg.Plan.Ops.New(name, params, d); err != nil {
				return nil, err
			}
			out = append(out, record.ProgramRef{Op: name, DType: d, Params: params})
		}
	}
	return out, nil
}

// paramFlags joins repeated --param flags. The flag library splits values at commas, so a
// word without '=' continues the list before it.
func paramFlags(words []string, into map[string]string) error {
	last := ""
	for _, w := range words {
		name, value, ok := strings.Cut(w, "=")
		switch {
		case ok && name != "":
			if _, twice := into[name]; twice {
				return fmt.Errorf("--param %s is given twice", name)
			}
			into[name], last = value, name
		case !ok && last != "":
			into[last] += "," + w
		default:
			return fmt.Errorf("--param %q: expected NAME=VALUE[,VALUE…]", w)
		}
	}
	return nil
}
