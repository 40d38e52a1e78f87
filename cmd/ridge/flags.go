package main

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/urfave/cli/v2"
)

// checkFlags looks at the flags of a command before it starts.
func checkFlags(c *cli.Context) error {
	args, _ := c.App.Metadata["ordered"].([]string)
	if err := noRepeatedFlags(c.Command, commonFlags(), c.App.Commands, args); err != nil {
		return err
	}
	return noEmptyFlags(c)
}

// noRepeatedFlags refuses a flag of one value that is given twice: the library would keep the last value and say nothing of the others,
// and half of what was asked for would be measured. args have gone through flagsFirst. A switch that is repeated says nothing new.
func noRepeatedFlags(cmd *cli.Command, global []cli.Flag, commands []*cli.Command, args []string) error {
	at, found := findCommand(global, commands, args)
	if found == nil {
		return nil
	}
	takesValue, given := valueFlags(cmd.Flags), map[string]string{}
	for rest := args[at+1:]; len(rest) > 0 && len(rest[0]) > 1 && rest[0][0] == '-' && rest[0] != "--"; {
		name, value, inOne := strings.Cut(strings.TrimLeft(rest[0], "-"), "=")
		rest = rest[1:]
		if !inOne && takesValue[name] && len(rest) > 0 {
			value, rest = rest[0], rest[1:]
		}
		f := flagNamed(cmd.Flags, name)
		if f == nil || repeatable(f) {
			continue
		}
		if _, isSwitch := f.(*cli.BoolFlag); isSwitch && !inOne {
			value = "true"
		}
		before, twice := given[f.Names()[0]]
		if _, isSwitch := f.(*cli.BoolFlag); twice && !(isSwitch && before == value) {
			return fmt.Errorf("--%s is given twice: %.60q and %.60q; expected one of them", name, before, value)
		}
		given[f.Names()[0]] = value
	}
	return nil
}

func flagNamed(flags []cli.Flag, name string) cli.Flag {
	for _, f := range flags {
		if slices.Contains(f.Names(), name) {
			return f
		}
	}
	return nil
}

// repeatable flags add up: --param, and --energy with the ids of cases.
func repeatable(f cli.Flag) bool {
	switch f.(type) {
	case *cli.StringSliceFlag, *cli.GenericFlag:
		return true
	}
	return false
}

// longestHardware is that of a machine's name, which stands in every document and view.
const longestHardware = 200

// hardware reads --hardware.
func hardware(c *cli.Context) (string, error) {
	name := c.String("hardware")
	switch {
	case utf8.RuneCountInString(name) > longestHardware:
		return "", fmt.Errorf("--hardware %.40q…: a name of %d characters; expected at most %d", name, utf8.RuneCountInString(name), longestHardware)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return "", fmt.Errorf("--hardware %q: expected UTF-8 text without control characters", name)
	}
	return name, nil
}

// formatOf reads --format and --json, which is the same as --format json.
func formatOf(c *cli.Context) (string, error) {
	format := c.String("format")
	switch {
	case !c.Bool("json"):
		return format, nil
	case c.IsSet("format") && format != "json":
		return "", fmt.Errorf("--json and --format %s are two formats: choose one", format)
	}
	return "json", nil
}
