// Command ridge calibrates a machine, tells what it is, and shows what was measured. The
// files here parse flags and print; everything else is in goharness.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"ridge/goharness/campaign"
)

// Exit codes.
const (
	exitOK          = 0
	exitFault       = 1 // the tool worked and found something wrong
	exitUsage       = 2 // usage or bad input
	exitInterrupted = 3
)

// version and revision (the commit, with -dirty when files were changed) are set by the
// Makefile's -ldflags.
var version, revision = "dev", "unknown"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	signal.Ignore(syscall.SIGXFSZ) // a file that may not grow (ulimit -f) is an error of its writing, as a full disk is
	// A second signal ends what the first could not: a write that nobody reads.
	context.AfterFunc(ctx, func() { time.Sleep(oneSignal); stop() })
	code := run(ctx, os.Args, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// oneSignal is how long after a signal others are taken for the same one: timeout(1) sends its own twice, to the command and to its
// process group, and make passes on what the terminal has sent to all.
const oneSignal = time.Second

// exitError carries an exit code; an empty message prints nothing more.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// fault is for what the tool found wrong in a run that worked.
func fault(format string, a ...any) error {
	return &exitError{exitFault, fmt.Errorf(format, a...)}
}

// interruptedBySignal is for what a signal ended: it says what is kept and how to go on.
func interruptedBySignal(format string, a ...any) error {
	return &exitError{exitInterrupted, fmt.Errorf(format, a...)}
}

// run executes one command line and returns the exit code. Errors print as one line.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	open := new(held)
	defer open.close()
	app := &cli.App{
		Name:            "ridge",
		Usage:           "measure what a machine can do, and tell the truth about it",
		Version:         version + " (revision " + revision + ")",
		HideHelpCommand: true,
		Writer:          stdout,
		ErrWriter:       stderr,
		Flags:           commonFlags(),
		Commands: []*cli.Command{
			infoCommand(), doctorCommand(), listCommand(), calibrateCommand(), benchCommand(), fusionCommand(), tuneCommand(), profileCommand(), verifyCommand(), reportCommand(), compareCommand(), historyCommand(), serveCommand(), selftestCommand(), workerCommand(),
		},
		Metadata: map[string]any{"args": args, "held": open},
		OnUsageError: func(_ *cli.Context, err error, _ bool) error {
			return usageError("ridge", commonFlags(), err)
		},
		ExitErrHandler: func(*cli.Context, error) {},
		Action: func(c *cli.Context) error {
			if c.Args().Present() && c.Args().First() != "help" {
				return fmt.Errorf("unknown command %q: ridge --help lists the commands", c.Args().First())
			}
			return cli.ShowAppHelp(c)
		},
	}
	for _, c := range app.Commands {
		c.Flags = append(c.Flags, commonFlags()...)
		c.OnUsageError = func(_ *cli.Context, err error, _ bool) error {
			return usageError("ridge "+c.Name, c.Flags, err)
		}
		c.HideHelpCommand = true
		c.Before = checkFlags
	}
	ordered := flagsFirst(app.Flags, app.Commands, args)
	app.Metadata["ordered"] = ordered
	told := tellHelp(app, ordered)
	err := app.RunContext(ctx, ordered)
	if err == nil {
		err = told()
	}
	if err == nil {
		return exitOK
	}
	code := exitUsage
	var e *exitError
	switch {
	case errors.As(err, &e):
		code = e.code
	case campaign.Interrupted(err) || errors.Is(err, context.Canceled):
		code = exitInterrupted
	}
	fmt.Fprintln(stderr, "ridge:", plain(oneLine(err.Error())))
	return code
}

func oneLine(s string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(s, "\n", " ")), " ")
}

// commonFlags work everywhere.
func commonFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "json", Usage: "print the document as JSON on standard output"},
		&cli.StringFlag{Name: "data-dir", Usage: "where runs are kept", EnvVars: []string{"RIDGE_DATA_DIR"}, DefaultText: "$XDG_DATA_HOME/ridge"},
		&cli.BoolFlag{Name: "quiet", Usage: "no progress on standard error"},
	}
}
