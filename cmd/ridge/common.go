package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"ridge/goharness/backend"
	"ridge/goharness/campaign"
	"ridge/goharness/fusion"
	"ridge/goharness/machine"
	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/goharness/runner"
)

// dataDir is --data-dir, RIDGE_DATA_DIR, or the user's data directory.
func dataDir(c *cli.Context) (string, error) {
	if d := c.String("data-dir"); d != "" {
		return d, nil
	}
	if d := os.Getenv("XDG_DATA_HOME"); d != "" {
		return filepath.Join(d, "ridge"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("no data directory: %w; give --data-dir", err)
	}
	return filepath.Join(home, ".local", "share", "ridge"), nil
}

// launcher starts this binary as the worker, with the tuning of a file ("" for none).
func launcher(c *cli.Context, tuning string) (runner.Launcher, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the ridge binary to start its worker: %w", err)
	}
	args := []string{self, "worker"}
	if a := c.String("affinity"); a != "" {
		args = append(args, "--affinity", a)
	}
	if tuning != "" {
		args = append(args, "--tuning", tuning)
	}
	if g := c.String("cuda-graphs"); g == backend.GraphsOff {
		args = append(args, "--cuda-graphs", g)
	}
	if u := strings.Fields(c.String("under")); len(u) > 0 {
		return runner.Under(u, args, nil), nil
	}
	return runner.Process(args, nil), nil
}

// noArguments refuses words that a command would silently ignore.
func noArguments(c *cli.Context) error {
	if c.Args().Present() {
		return fmt.Errorf("%s takes no argument %q", c.Command.Name, c.Args().First())
	}
	return nil
}

func splitList(s string) []string {
	var out []string
	for _, x := range strings.Split(s, ",") {
		if x = strings.TrimSpace(x); x != "" {
			out = append(out, x)
		}
	}
	return out
}

// list reads a comma-separated flag; a flag given but empty is an error.
func list(c *cli.Context, name string) ([]string, error) {
	out := splitList(c.String(name))
	if c.IsSet(name) && len(out) == 0 {
		return nil, fmt.Errorf("--%s %q: expected names separated by commas", name, c.String(name))
	}
	return out, nil
}

func precisions(c *cli.Context) ([]record.DType, error) {
	names, err := list(c, "precision")
	if err != nil {
		return nil, err
	}
	var out []record.DType
	for _, n := range names {
		d := record.DType(n)
		if !d.Known() && d != record.INT64 {
			return nil, fmt.Errorf("--precision %q: expected some of %s", n, joinPrecisions())
		}
		out = append(out, d)
	}
	return out, nil
}

func joinPrecisions() string {
	var names []string
	for _, p := range record.Precisions {
		names = append(names, string(p))
	}
	return strings.Join(names, ",")
}

func batches(c *cli.Context) ([]int64, error) {
	texts, err := list(c, "batch")
	if err != nil {
		return nil, err
	}
	var out []int64
	for _, t := range texts {
		n, err := strconv.ParseInt(t, 10, 64)
		if err != nil || n < 1 || n > 1<<20 {
			return nil, fmt.Errorf("--batch %q: expected whole numbers from 1 to %d", t, 1<<20)
		}
		out = append(out, n)
	}
	return out, nil
}

// counts reads --warmup and --trials, which replace the stop rule together.
func counts(c *cli.Context) (warmup, trials int, err error) {
	warmup, trials = c.Int("warmup"), c.Int("trials")
	switch {
	case c.IsSet("trials") && (trials < 1 || trials > 1e6):
		return 0, 0, fmt.Errorf("--trials %d: expected 1 to 1000000", trials)
	case c.IsSet("warmup") && (warmup < 0 || warmup > 1e6):
		return 0, 0, fmt.Errorf("--warmup %d: expected 0 to 1000000", warmup)
	case c.IsSet("warmup") && !c.IsSet("trials"):
		return 0, 0, errors.New("--warmup goes with --trials: together they replace the stop rule")
	}
	return warmup, trials, nil
}

// graphs reads --cuda-graphs, which only a CUDA device has, of the commands that time.
func graphs(c *cli.Context, device string) (string, error) {
	if !c.IsSet("cuda-graphs") {
		return backend.GraphsOn, nil
	}
	g := c.String("cuda-graphs")
	switch {
	case g != backend.GraphsOn && g != backend.GraphsOff:
		return "", fmt.Errorf("--cuda-graphs %q: expected on or off", g)
	case !strings.HasPrefix(device, "cuda:"):
		return "", fmt.Errorf("--cuda-graphs %s: --device %s has no CUDA graphs; leave it out", g, device)
	}
	return g, nil
}

func threads(c *cli.Context) (int, error) {
	n := c.Int("threads")
	if c.IsSet("threads") && (n < 1 || n > 4096) {
		return 0, fmt.Errorf("--threads %d: expected 1 to 4096", n)
	}
	return n, nil
}

func userPeaks(c *cli.Context) (record.UserPeaks, error) {
	var u record.UserPeaks
	for name, to := range map[string]*float64{"peak-gflops": &u.GFLOPS, "peak-bandwidth": &u.GBps} {
		v := c.Float64(name)
		if c.IsSet(name) && !(v > 0 && v < 1e12) {
			return u, fmt.Errorf("--%s %v: expected a number above 0", name, v)
		}
		*to = v
	}
	return u, nil
}

func metrics(c *cli.Context) ([]string, error) {
	groups, err := list(c, "metrics")
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		found := false
		for _, k := range record.MetricGroups {
			found = found || k == g
		}
		if !found {
			return nil, fmt.Errorf("--metrics %q: expected some of %s", g, strings.Join(record.MetricGroups, ","))
		}
	}
	return groups, nil
}

// measureFlags are shared by calibrate and bench.
func measureFlags() []cli.Flag {
	return append(energyFlags(),
		&cli.BoolFlag{Name: "quick", Usage: "fewer sizes and samples"},
		&cli.StringFlag{Name: "device", Value: "cpu", Usage: "device to measure; several, comma-separated, or cuda:all, one after the other"},
		&cli.StringFlag{Name: "precision", Usage: "precisions, comma-separated (fp64,fp32,fp16,bf16,int8,...)"},
		&cli.IntFlag{Name: "threads", Usage: "threads (default: what affinity, cpuset and quota allow)"},
		&cli.StringFlag{Name: "affinity", Value: "scatter", Usage: "compact, scatter, none or a CPU list such as 0,2-3"},
		&cli.StringFlag{Name: "cuda-graphs", Value: backend.GraphsOn, Usage: "replay samples of short kernels on a CUDA device as graphs: on or off"},
		&cli.StringFlag{Name: "metrics", Usage: "metric groups in the document: latency,throughput,memory,flops,power,bandwidth"},
		&cli.StringFlag{Name: "hardware", Usage: "name for this machine in the document"},
		&cli.Float64Flag{Name: "peak-gflops", Usage: "theoretical peak for the efficiency columns, of fp32 or of the one --precision"},
		&cli.Float64Flag{Name: "peak-bandwidth", Usage: "theoretical bandwidth in 10^9 bytes/s for the efficiency columns"},
		&cli.IntFlag{Name: "warmup", Usage: "warm-up launches; with --trials"},
		&cli.IntFlag{Name: "trials", Usage: "samples, in place of the stop rule"},
		&cli.StringFlag{Name: "output", Usage: "write the document (profile: the profile) to this file (- for standard output)"},
		&cli.BoolFlag{Name: "force", Usage: "measure although a preflight check failed, or beside another run"},
		&cli.BoolFlag{Name: "no-tuning", Usage: "use the kernels' defaults and not what ridge tune has stored"},
		&cli.StringFlag{Name: "resume", Usage: "go on with an interrupted run: its id or journal"},
	)
}

// deviceIDs are those that --device names: one, several at commas, all of a platform (cuda:all).
func deviceIDs(c *cli.Context) ([]string, error) {
	names, err := list(c, "device")
	if err != nil {
		return nil, err
	}
	var out []string
	for _, name := range names {
		ids := []string{name}
		if platform, all := strings.CutSuffix(name, ":all"); all {
			if ids = devicesOf(platform); len(ids) == 0 {
				ids = []string{platform + ":0"} // of which checkDevice says why it is not there
			}
		}
		for _, id := range ids {
			if slices.Contains(out, id) {
				return nil, fmt.Errorf("--device %s: %s is there twice", c.String("device"), id)
			}
			out = append(out, id)
		}
	}
	if len(out) == 0 {
		out = []string{c.String("device")}
	}
	return out, nil
}

// devicesOf lists the usable devices of a platform.
func devicesOf(platform string) (ids []string) {
	for _, b := range backends() {
		if b.Name() != platform || b.Available() != nil {
			continue
		}
		ds, _ := b.Devices() // checkDevice says what is wrong with it
		for _, d := range ds {
			ids = append(ids, d.ID)
		}
	}
	return ids
}

// concurrentFlag of the commands that measure several devices at the same time.
func concurrentFlag() cli.Flag {
	return &cli.BoolFlag{Name: "concurrent", Usage: "measure the devices of --device at the same time, each under the load of the others"}
}

// checkConcurrent refuses --concurrent where there is nothing to measure at the same time.
func checkConcurrent(c *cli.Context, ids []string) error {
	switch {
	case !c.Bool("concurrent"):
		return nil
	case len(ids) < 2:
		return fmt.Errorf("--concurrent: --device %s is one device; name several, such as cuda:0,cuda:1 or cuda:all", c.String("device"))
	case slices.Contains(ids, "cpu"):
		return fmt.Errorf("--concurrent --device %s: %s", c.String("device"), campaign.NoConcurrentCPU)
	}
	return nil
}

// configs gathers what the commands that measure have in common, for each device.
func configs(c *cli.Context) ([]campaign.Config, error) {
	ids, err := deviceIDs(c)
	if err != nil {
		return nil, err
	}
	if err := checkConcurrent(c, ids); err != nil {
		return nil, err
	}
	var out []campaign.Config
	for _, id := range ids {
		cfg, err := configOf(c, id)
		if err != nil {
			return nil, err
		}
		if cfg.Concurrent = c.Bool("concurrent"); cfg.Concurrent && cfg.Energy {
			return nil, fmt.Errorf("--concurrent with --energy or --metrics power: %s", campaign.NoConcurrentEnergy)
		}
		if name := c.String("power-trace"); cfg.EnergyOf.Trace != nil && len(ids) > 1 {
			cfg.EnergyOf.Trace = &lateFile{path: ofDevice(name, id)}
		}
		out = append(out, cfg)
	}
	return out, nil
}

// config is that of a command that measures one device.
func config(c *cli.Context) (campaign.Config, error) {
	ids, err := deviceIDs(c)
	if err != nil {
		return campaign.Config{}, err
	}
	if len(ids) > 1 {
		return campaign.Config{}, fmt.Errorf("--device %s: %s takes one device; calibrate, bench, fusion, profile, verify and tune take several", c.String("device"), c.Command.Name)
	}
	return configOf(c, ids[0])
}

// configOf is that of one device.
func configOf(c *cli.Context, device string) (campaign.Config, error) {
	var cfg campaign.Config
	var err error
	fail := func(e error) (campaign.Config, error) { return campaign.Config{}, e }
	if cfg.DataDir, err = dataDir(c); err != nil {
		return fail(err)
	}
	p := &cfg.Plan
	p.Device, p.Quick, p.Ops = device, c.Bool("quick"), fusion.WithPatterns(op.Builtin(), fusion.Builtin())
	p.Peaks = peaks(p.Device)
	cfg.Libraries = libraries(p.Device)
	if err := checkDevice(p.Device); err != nil {
		return fail(err)
	}
	if p.Precisions, err = precisions(c); err != nil {
		return fail(err)
	}
	if p.Threads, err = threads(c); err != nil {
		return fail(err)
	}
	if platform, _, _ := strings.Cut(p.Device, ":"); platform != "cpu" { // one host thread orders everything
		if p.Threads > 1 {
			return fail(fmt.Errorf("--threads %d: the threads of the host are not what --device %s has; leave it out", p.Threads, p.Device))
		}
		p.Threads = 1
	}
	if cfg.Graphs, err = graphs(c, device); err != nil {
		return fail(err)
	}
	if p.Warmup, p.Trials, err = counts(c); err != nil {
		return fail(err)
	}
	if cfg.User, err = userPeaks(c); err != nil {
		return fail(err)
	}
	if cfg.Metrics, err = metrics(c); err != nil {
		return fail(err)
	}
	if err := checkAffinity(c.String("affinity"), p.Threads, "--threads"); err != nil {
		return fail(err)
	}
	if err := checkPlaces(c, cfg.DataDir); err != nil {
		return fail(err)
	}
	tuning, err := tuningFile(c, cfg.DataDir)
	if err != nil {
		return fail(err)
	}
	if cfg.Launch, err = launcher(c, tuning); err != nil {
		return fail(err)
	}
	if cfg.Hardware, err = hardware(c); err != nil {
		return fail(err)
	}
	cfg.Affinity, cfg.Force = c.String("affinity"), c.Bool("force")
	cfg.Resume = c.String("resume")
	if err := energyConfig(c, &cfg); err != nil {
		return fail(err)
	}
	cfg.Tool, cfg.Command = tool(), commandLine(c)
	return cfg, nil
}

// checkDevice refuses a device that this build or machine does not have; another device
// never stands in.
func checkDevice(id string) error {
	var have []string
	for _, b := range backends() {
		if err := b.Available(); err != nil {
			continue
		}
		ds, err := b.Devices()
		if err != nil {
			continue
		}
		for _, d := range ds {
			if d.ID == id {
				return nil
			}
			have = append(have, d.ID)
		}
	}
	platform, _, _ := strings.Cut(id, ":")
	in := false
	for _, b := range backends() {
		if b.Name() == platform {
			in = true
			if err := b.Available(); err != nil {
				return fmt.Errorf("--device %s: %w", id, err)
			}
		}
	}
	usable := "expected one of " + strings.Join(have, ", ")
	if len(have) == 0 {
		usable = "no device is usable here (ridge list devices)"
	}
	if !in {
		return fmt.Errorf("--device %q: this build has no platform %q; %s", id, platform, usable)
	}
	return fmt.Errorf("--device %q: this machine has no such device; %s", id, usable)
}

func hostCPUs(n int, policy string) ([]int, error) {
	return campaign.NewWorkerHost(machine.Source{}).CPUs(n, policy)
}

// checkAffinity checks the policy and then the thread count, which where names.
func checkAffinity(policy string, n int, where string) error {
	host := campaign.NewWorkerHost(machine.Source{})
	if _, err := host.CPUs(0, policy); err != nil {
		return fmt.Errorf("--affinity %q: %w", policy, err)
	}
	if _, err := host.CPUs(n, policy); err != nil {
		return fmt.Errorf("%s: %w; each thread has a CPU of its own", where, err)
	}
	return nil
}

// checkPlaces makes the data directory and tries the places that will be written to.
func checkPlaces(c *cli.Context, dataDir string) error {
	if strings.ContainsRune(dataDir, 0) {
		return fmt.Errorf("--data-dir %q: a directory name cannot hold a NUL", dataDir)
	}
	runs := filepath.Join(dataDir, "runs")
	if err := os.MkdirAll(runs, 0o755); err != nil {
		return fmt.Errorf("--data-dir %s: expected a directory that can be made and written to: %w", dataDir, err)
	}
	if err := checkWritable("--data-dir "+dataDir, runs); err != nil {
		return err
	}
	return checkOutput(c)
}

// commandLine is what the user typed, for the document.
func commandLine(c *cli.Context) []string {
	args, _ := c.App.Metadata["args"].([]string)
	return append([]string{"ridge"}, args[min(1, len(args)):]...)
}

// kernelExists refuses a forced kernel that no platform has.
func kernelExists(name string) error {
	if name == "" {
		return nil
	}
	for _, b := range backends() {
		for _, k := range b.Kernels() {
			if k.Name == name {
				return nil
			}
		}
	}
	return fmt.Errorf("--kernel %q: no such kernel; ridge list kernels shows them", name)
}

// clockReader measures the clock in this process, for info and doctor.
func clockReader() func(load bool) (float64, error) {
	return func(load bool) (float64, error) {
		b := backends()[0]
		if err := b.Available(); err != nil {
			return 0, err
		}
		cpus, err := hostCPUs(0, "scatter")
		if err != nil {
			return 0, err
		}
		d, err := b.Open("cpu", backend.OpenOptions{CPUs: cpus})
		if err != nil {
			return 0, err
		}
		defer func() { _ = d.Close() }()
		return d.MeasureClock(load)
	}
}

func tool() record.Tool {
	var names []string
	compiler, flags := "none", ""
	for _, b := range backends() {
		names = append(names, b.Name())
	}
	compiler, flags = nativeCompiler()
	return campaign.ToolInfo(version, revision, compiler, flags, names)
}
