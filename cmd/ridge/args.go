package main

import (
	"strings"

	"github.com/urfave/cli/v2"
)

// flagsFirst lets flags stand behind arguments ("ridge bench gemm --m 512"), which the flag
// library reads only before them. Everything after "--" stays as it is.
func flagsFirst(commands []*cli.Command, args []string) []string {
	at := -1
	var cmd *cli.Command
	for i := 1; i < len(args) && cmd == nil; i++ {
		for _, c := range commands {
			if c.HasName(args[i]) {
				at, cmd = i, c
			}
		}
	}
	if cmd == nil {
		return args
	}
	takesValue := map[string]bool{}
	for _, f := range cmd.Flags {
		_, isBool := f.(*cli.BoolFlag)
		for _, n := range f.Names() {
			takesValue[n] = !isBool
		}
	}
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
		flags = append(flags, a)
		name := strings.TrimLeft(a, "-")
		if !strings.Contains(name, "=") && takesValue[name] && i+1 < len(rest) {
			i++
			flags = append(flags, rest[i])
		}
	}
	out := append([]string{}, args[:at+1]...)
	out = append(out, flags...)
	if len(words) > 0 {
		out = append(append(out, "--"), words...)
	}
	return out
}
