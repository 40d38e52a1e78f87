package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"
)

var (
	badValue = regexp.MustCompile(`(?s)^invalid (?:boolean )?value "(.*)" for (?:flag )?-+([^:]+): `)
	noFlag   = regexp.MustCompile(`(?s)^flag provided but not defined: -+(.*)$`)
	noValue  = regexp.MustCompile(`(?s)^flag needs an argument: -+(.*)$`)
)

// usageError says the flag library's errors in the form of all others: the flag, what it
// was given and what was expected.
func usageError(where string, flags []cli.Flag, err error) error {
	text := err.Error()
	if m := badValue.FindStringSubmatch(text); m != nil {
		return fmt.Errorf("--%s %q: expected %s", m[2], m[1], expected(flags, m[2]))
	}
	if m := noFlag.FindStringSubmatch(text); m != nil {
		return fmt.Errorf("unknown flag --%s: %s --help lists the flags", m[1], where)
	}
	if m := noValue.FindStringSubmatch(text); m != nil {
		return fmt.Errorf("--%s has no value: expected %s", m[1], expected(flags, m[1]))
	}
	return err
}

// expected says what kind of value a flag takes.
func expected(flags []cli.Flag, name string) string {
	for _, f := range flags {
		for _, n := range f.Names() {
			if n != name {
				continue
			}
			switch x := f.(type) {
			case *cli.IntFlag:
				return "a whole number: " + x.Usage
			case *cli.Float64Flag:
				return "a number: " + x.Usage
			case *cli.DurationFlag:
				return "a duration: " + x.Usage
			case *cli.BoolFlag:
				return "true or false, or no value"
			case *cli.StringFlag:
				return x.Usage
			case *cli.StringSliceFlag:
				return x.Usage
			case *cli.GenericFlag:
				if e, ok := x.Value.(*energyFlag); ok {
					return e.expected()
				}
			}
		}
	}
	return "a value"
}

// noEmptyFlags refuses text flags that are given without text: "--resume $RUN" with RUN
// unset must not start a new run. An environment variable that is set to nothing counts as
// not set; one that names something does not excuse an empty flag, which overrules it.
func noEmptyFlags(c *cli.Context) error {
	for _, f := range c.Command.Flags {
		s, ok := f.(*cli.StringFlag)
		if !ok || !c.IsSet(s.Name) || c.String(s.Name) != "" {
			continue
		}
		fromEnv := false
		for _, e := range s.EnvVars {
			text, there := os.LookupEnv(e)
			fromEnv = fromEnv || there && text == ""
		}
		if !fromEnv {
			return fmt.Errorf("--%s is empty: expected %s", s.Name, s.Usage)
		}
	}
	return nil
}

// checkOutput refuses a place that the document could not be written to, before minutes
// are spent on measuring it.
func checkOutput(c *cli.Context) error {
	return checkPlace(c, "output")
}

// checkPlace does it for the file that a flag names. Pipes and devices stay open to the end of the command.
func checkPlace(c *cli.Context, name string) error {
	flag, path := "--"+name, c.String(name)
	if path == "" || path == "-" {
		return nil
	}
	if strings.ContainsRune(path, 0) {
		return fmt.Errorf("%s %q: a file name cannot hold a NUL", flag, path)
	}
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		return fmt.Errorf("%s %s is a directory: expected a file name", flag, path)
	} else if errors.Is(err, syscall.ENAMETOOLONG) {
		return fmt.Errorf("%s %s: expected a shorter name: %w", flag, path, pathCause(err))
	}
	if err := checkOverwrite(c, name, path); err != nil {
		return err
	}
	if special, err := holdSpecial(c, path); special { // nothing beside it is written
		if err != nil && !errors.Is(err, context.Canceled) {
			return fmt.Errorf("%s %s: %w", flag, path, pathCause(err))
		}
		return err
	}
	dir := dirOf(path)
	if target, err := filepath.EvalSymlinks(path); err == nil { // a link keeps pointing where it points
		dir = dirOf(target)
	}
	// The folder is made: a profile's path is often that of a folder for profiles.
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("%s %s: expected a directory that can be written to, or made: %w", flag, path, pathCause(err))
	}
	return checkWritable(flag+" "+path, dir)
}

func dirOf(path string) string {
	if i := strings.LastIndexByte(path, os.PathSeparator); i > 0 {
		return path[:i]
	} else if i == 0 {
		return "/"
	}
	return "."
}

// checkWritable tries a temporary file in dir.
func checkWritable(what, dir string) error {
	f, err := os.CreateTemp(dir, ".ridge-*")
	if err != nil {
		return fmt.Errorf("%s: expected a directory that can be written to: %w", what, pathCause(err))
	}
	name := f.Name()
	f.Close()
	return os.Remove(name)
}

// pathCause leaves the temporary name out of an error.
func pathCause(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
