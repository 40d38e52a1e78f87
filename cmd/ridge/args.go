package main

import (
	"strings"

	"github.com/urfave/cli/v2"
)

// flagsFirst lets flags stand behind arguments ("ridge bench gemm --m 512"), which the flag
// library reads only before them. Everything after "--" stays as it is.
func flagsFirst(global []cli.Flag, commands []*cli.Command, args []string) []string {
	at, cmd := findCommand(global, commands, args)
	if cmd == nil {
		return args
	}
	takesValue := valueFlags(cmd.Flags)
	var flags, words []string
	rest := args[at+1:]
	for i := 0; i < len(rest); i++ {
		a := rest[i]
		if a == "--" {
			words = append(words, rest[i+1:]...)
			break
		}
		if len(a) < 2 || a[0] != '-' {
			words = append(words, a)
			continue
		}
		if a == "-h" || a == "--help" {
			return append(append([]string{}, args[:at+1]...), "--help") // of the command, whatever the words
		}
		flags = append(flags, a)
		if name := strings.TrimLeft(a, "-"); !strings.Contains(name, "=") && takesValue[name] {
			if i+1 == len(rest) {
				// The value is missing: the words stay away from the flag that would eat them.
				return append(append([]string{}, args[:at+1]...), flags...)
			}
			i++
			flags = append(flags, rest[i])
		}
	}
	out := append(append([]string{}, args[:at+1]...), flags...)
	if len(words) > 0 {
		out = append(append(out, "--"), words...)
	}
	return out
}

// findCommand finds the subcommand: the first word that is neither a global flag nor the
// value of one.
func findCommand(global []cli.Flag, commands []*cli.Command, args []string) (int, *cli.Command) {
	takesValue := valueFlags(global)
	for i := 1; i < len(args); i++ {
		a := args[i]
		if len(a) > 1 && a[0] == '-' {
			if name := strings.TrimLeft(a, "-"); !strings.Contains(name, "=") && takesValue[name] {
				i++
			}
			continue
		}
		for _, c := range commands {
			if c.HasName(a) {
				return i, c
			}
		}
		return 0, nil
	}
	return 0, nil
}

// valueFlags maps the names of flags to whether a value follows them.
func valueFlags(flags []cli.Flag) map[string]bool {
	out := map[string]bool{}
	for _, f := range flags {
		_, isBool := f.(*cli.BoolFlag)
		for _, n := range f.Names() {
			out[n] = !isBool
		}
	}
	return out
}
