package main

import (
	"strings"

	"github.com/urfave/cli/v2"
)

// flagsFirst lets flags stand behind arguments ("ridge bench gemm --m 512"), which the flag
// library reads only before them, and the flags of all commands before the command
// ("ridge --json list ops"), where the library would keep them from the command.
// Everything after "--" stays as it is.
func flagsFirst(global []cli.Flag, commands []*cli.Command, args []string) []string {
	at, cmd := findCommand(global, commands, args)
	if cmd == nil {
		return args
	}
	front, flags := splitGlobal(global, args[1:at])
	head := append(append([]string{args[0]}, front...), args[at])
	takesValue := valueFlags(cmd.Flags)
	var words []string
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
			return append(head, "--help") // of the command, whatever the words
		}
		flags = append(flags, a)
		if name := strings.TrimLeft(a, "-"); !strings.Contains(name, "=") && takesValue[name] {
			if i+1 == len(rest) {
				// The value is missing: the words stay away from the flag that would eat them.
				return append(head, flags...)
			}
			i++
			flags = append(flags, rest[i])
		}
	}
	out := append(head, flags...)
	if len(words) > 0 {
		out = append(append(out, "--"), words...)
	}
	return out
}

// splitGlobal parts what stands before the command: the flags of all commands with their
// values, and the rest (--help, --version, what nobody knows), which stays for the library.
func splitGlobal(global []cli.Flag, args []string) (front, moved []string) {
	takesValue := valueFlags(global)
	for i := 0; i < len(args); i++ {
		name, _, inOne := strings.Cut(strings.TrimLeft(args[i], "-"), "=")
		value, known := takesValue[name]
		if !known {
			front = append(front, args[i])
			continue
		}
		moved = append(moved, args[i])
		if value && !inOne && i+1 < len(args) {
			i++
			moved = append(moved, args[i])
		}
	}
	return front, moved
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
		if g, generic := f.(*cli.GenericFlag); generic { // --energy stands alone or has its value behind a "="
			b, alone := g.Value.(interface{ IsBoolFlag() bool })
			isBool = alone && b.IsBoolFlag()
		}
		for _, n := range f.Names() {
			out[n] = !isBool
		}
	}
	return out
}
