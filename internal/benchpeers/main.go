//go:build cgo && linux

// Benchpeers compares ridge's CPU kernels with the machine's limits and with other libraries.
// Every contender is a process of its own; the timed rounds of all contenders of a row are
// interleaved. See docs/benchmarks/bench-peers.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"ridge/goharness/campaign"
	"ridge/goharness/machine"
	"ridge/goharness/measure"
	"ridge/native"
)

func main() {
	err := run(os.Args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "benchpeers:", err)
		os.Exit(exitCode(err))
	}
}

// usage is an error in what was asked for: exit code 2.
type usage struct{ error }

func exitCode(err error) int {
	if u := (usage{}); errors.As(err, &u) {
		return 2
	}
	return 1
}

func run(args []string) error {
	f := flag.NewFlagSet("benchpeers", flag.ContinueOnError)
	var s settings
	only := f.String("only", "", "run the rows whose id, group or label matches this regular expression")
	with := f.String("with", "", "only peers whose name matches this regular expression")
	f.IntVar(&s.Rounds, "rounds", 25, "timed rounds, at least 7")
	budget := f.Float64("budget", 10, "seconds of a row's timed rounds; long launches have fewer rounds, at least 7")
	f.IntVar(&s.Pilot, "pilot", 3, "rounds of all contenders before them, after which slow peers leave")
	f.Float64Var(&s.Keep, "keep", 1.15, "peers slower than this times the best peer leave after the pilot")
	f.IntVar(&s.KeepMax, "keep-max", 3, "at most so many peers stay after the pilot")
	ms := f.Int("ms", 25, "milliseconds of a contender in a round")
	idle := f.Int("idle", 5, "milliseconds of rest before each")
	threads := f.String("threads", "", "thread counts, separated by commas; default 1 and all")
	peers := f.String("peers", "build/peers", "where scripts/peers installed the libraries")
	out := f.String("out", "", "Markdown file, with the data beside it as .jsonl; default docs/benchmarks/CHIP/peers.md")
	update := f.Bool("update", false, "write the chosen rows and keep the file's others; without it and -out a part of the rows is only printed")
	missing := f.Bool("missing", false, "with -update: only rows that the file lacks, to go on with a run that was interrupted")
	render := f.Bool("render", false, "measure nothing: write the Markdown again from its data")
	chip := f.String("chip", "", "name of the chip's folder; default from its identity")
	revision := f.String("revision", "unknown", "revision of the code, for the record")
	scan := f.String("scan", "", "rows of random shapes in place of the table's, KIND/DTYPE:SEED:COUNT, several separated by \";\"; kinds: "+kindNames+"; without -out only printed")
	list := f.Bool("list", false, "list the rows and stop")
	lib := f.String("contend", "", "be a contender: ridge, or an adapter library (used by the program itself)")
	cpuList := f.String("cpus", "", "with -contend: CPUs")
	llc := f.Int64("llc", 0, "with -contend: bytes of last-level cache reached")
	f.SetOutput(io.Discard)
	if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
		f.SetOutput(os.Stdout)
		f.Usage()
		return err
	} else if err != nil {
		return usage{fmt.Errorf("%w (-h lists the flags)", err)}
	}
	if *lib != "" {
		cpus, err := ints(*cpuList)
		if err != nil {
			return err
		}
		return contend(strings.TrimPrefix(*lib, "ridge"), cpus, *llc)
	}
	if s.Rounds < leastRounds || s.Pilot < 1 || *ms < 1 {
		return usage{errors.New("-rounds must be at least 7, -pilot and -ms at least 1")}
	}
	s.Slow = 10 * time.Second
	s.Budget = time.Duration(*budget * float64(time.Second))
	s.Sample, s.Idle, s.Patient = time.Duration(*ms)*time.Millisecond, time.Duration(*idle)*time.Millisecond, time.Minute
	s.Hopeless = 10
	match, err := regexp.Compile(*only)
	if err != nil {
		return usage{fmt.Errorf("-only: %w", err)}
	}
	wanted, err := regexp.Compile(*with)
	if err != nil {
		return usage{fmt.Errorf("-with: %w", err)}
	}
	host := campaign.NewWorkerHost(machine.Source{})
	if *threads == "" {
		cpus, err := host.CPUs(0, "")
		if err != nil {
			return err
		}
		*threads = "1"
		if len(cpus) > 1 {
			*threads += "," + strconv.Itoa(len(cpus))
		}
	}
	counts, err := ints(*threads)
	if err != nil {
		return usage{fmt.Errorf("-threads: %w", err)}
	}
	of := rows()
	if *scan != "" {
		if of, err = randomRows(*scan); err != nil {
			return usage{fmt.Errorf("-scan: %w", err)}
		}
		if *update || *render {
			return usage{errors.New("-scan with -update or -render: its rows are of no chip's table; -out FILE keeps them")}
		}
	}
	all, err := table(of, campaign.Peaks(native.New().Kernels()), counts)
	if err != nil {
		return err
	}
	var chosen []row
	for _, r := range all {
		if r.matches(match) {
			r.entries = slices.DeleteFunc(r.entries, func(e entry) bool { return e.role == peer && !wanted.MatchString(e.name) })
			chosen = append(chosen, r)
		}
	}
	if len(chosen) == 0 && !*render {
		return usage{fmt.Errorf("-only %q -threads %s: no row matches (-list shows them all)", *only, *threads)}
	}
	if *list {
		for _, r := range chosen {
			fmt.Printf("%-28s %-36s %d threads\n", r.group, r.label, r.threads)
		}
		return nil
	}
	id := machine.Read(machine.Source{})
	if *chip == "" {
		*chip = folder(id.CPU)
	}
	// A part of the rows or of the contenders would leave the file without the others.
	printed := false
	f.Visit(func(g *flag.Flag) {
		printed = printed || slices.Contains([]string{"only", "threads", "with", "scan"}, g.Name)
	})
	printed = printed && *out == "" && !*update && !*render
	if *out == "" {
		*out = filepath.Join("docs", "benchmarks", *chip, "peers.md")
	}
	d := &document{path: *out}
	if *update || *render {
		if err := d.read(); err != nil {
			return err
		}
	}
	if *render {
		if len(d.rows) == 0 {
			return fmt.Errorf("-render: %s has no rows: name the folder of a chip that was measured with -chip, or a file with -out", d.data())
		}
		return d.render()
	}
	ordered, err := table(of, campaign.Peaks(native.New().Kernels()), d.threads(counts)) // rows of other thread counts keep their place
	if err != nil {
		return err
	}
	if *missing {
		chosen = slices.DeleteFunc(chosen, d.has)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	b := &bench{settings: s, open: opener(host, *peers, newerThanPeers(id.CPU)), steal: host.StealNS, now: time.Now, wait: measure.ReplaceWait, log: func(text string) { fmt.Fprintln(os.Stderr, text) },
		running: map[string]contender{}, Missing: map[string]error{}, versions: map[string]string{}}
	b.cores, _ = id.CPU.Cores.Get()
	defer b.close()
	if d.header, err = b.header(ctx, id, counts, d.header); err != nil {
		return err
	}
	last := 0
	for i, r := range chosen {
		if r.threads != last { // another pool: other processes
			b.close()
			last = r.threads
		}
		b.cpus = r.threads
		res, err := b.row(ctx, r)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "[%d/%d] %s %s: %v\n", i+1, len(chosen), r.group, r.label, err)
			continue
		}
		res.Version, res.Settings = *revision, s.String()
		fmt.Fprintf(os.Stderr, "[%d/%d] %s\n", i+1, len(chosen), res.line())
		if printed {
			continue
		}
		d.put(res)
		d.header.note(b)
		if err := d.write(ordered); err != nil {
			return err
		}
	}
	for name, err := range b.Missing {
		fmt.Fprintf(os.Stderr, "not measured: %s: %v\n", name, err)
	}
	return nil
}

func (s settings) String() string {
	return fmt.Sprintf("up to %d rounds of %v after %d of all contenders, %v of rest before each; peers beyond %g times the best left after those",
		s.Rounds, s.Sample, s.Pilot, s.Idle, s.Keep)
}

func (r row) matches(re *regexp.Regexp) bool {
	return re.MatchString(fmt.Sprintf("%s %s %s/%s threads=%d", r.group, r.label, r.op, r.dtype, r.threads))
}

func ints(list string) ([]int, error) {
	var out []int
	for _, s := range strings.Split(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil || n < 0 {
			return nil, fmt.Errorf("%q: expected whole numbers separated by commas", list)
		}
		out = append(out, n)
	}
	return out, nil
}

// opener starts contenders: ridge and the C peers as this program, torch and zentorch as a script. The
// OpenMP pools are pinned to the same CPUs as ridge's team. They spin between the launches of
// a sample and go to sleep within the rest before the next contender.
func opener(host *campaign.WorkerHost, dir string, extra []string) func(string, int) (contender, error) {
	return func(library string, threads int) (contender, error) {
		cpus, err := host.CPUs(threads, "")
		if err != nil {
			return nil, err
		}
		var list, places []string
		for _, c := range cpus {
			list, places = append(list, strconv.Itoa(c)), append(places, fmt.Sprintf("{%d}", c))
		}
		n := strconv.Itoa(threads)
		env := []string{"OMP_NUM_THREADS=" + n, "OMP_PLACES=" + strings.Join(places, ","), "OMP_PROC_BIND=close", "OMP_DYNAMIC=false",
			"GOMP_SPINCOUNT=100000", "KMP_BLOCKTIME=3", "OPENBLAS_NUM_THREADS=" + n, "OPENBLAS_THREAD_TIMEOUT=23",
			"BLIS_NUM_THREADS=" + n, "MKL_NUM_THREADS=" + n, "MKL_DYNAMIC=FALSE", "MKL_THREADING_LAYER=INTEL"}
		env = append(env, extra...)
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		argv := []string{self, "-cpus", strings.Join(list, ","), "-llc", strconv.FormatInt(host.LLCReached(cpus), 10), "-contend", "ridge"}
		lib := ""
		switch library {
		case "ridge":
			env = nil
		case "torch", "zentorch":
			argv = []string{filepath.Join(dir, "venv", "bin", "python"), "scripts/peers.d/torch_peer.py", "torch", strings.Join(list, ",")}
			if library == "zentorch" {
				argv[0], argv[2] = filepath.Join(dir, "zen", "bin", "python"), "zen"
			}
			env = append(env, "THP_MEM_ALLOC_ENABLE=1", "MALLOC_MMAP_THRESHOLD_=4000000000", "MALLOC_TRIM_THRESHOLD_=8000000000")
		default:
			if lib, err = filepath.Abs(filepath.Join(dir, "libridgepeer_"+library+".so")); err != nil {
				return nil, err
			}
			argv[len(argv)-1] = lib
		}
		for _, file := range []string{argv[0], lib} {
			if _, err := os.Stat(file); file != "" && err != nil {
				return nil, fmt.Errorf("%w: scripts/peers installs it", err)
			}
		}
		p, err := start(argv, env)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if r, err := p.Ask(ctx, request{Verb: verbHello}); err != nil {
			p.Close()
			return nil, err
		} else if r.Error != "" {
			p.Close()
			return nil, errors.New(r.Error)
		}
		return p, nil
	}
}
