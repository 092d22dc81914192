// Package usage says in the command line's words what is wrong with the arguments and flags of a command.
package usage

import (
	"errors"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/libs/nearest"
)

// Argument is one word of a command's Use: "ID…" or "[RESULT]".
type Argument struct {
	// Name is upper case.
	Name string
	// Optional arguments may be left out; Many means that others of the kind may follow.
	Optional, Many bool
}

// argument names are upper case; flags in a Use and what they take are not arguments.
var argumentWord = regexp.MustCompile(`^\[?([A-Z]+)(…)?\]?$`)

// Arguments reads the arguments of a command from its Use.
func Arguments(cmd *cobra.Command) []Argument {
	var out []Argument
	words := strings.Fields(cmd.Use)
	for i, w := range words {
		m := argumentWord.FindStringSubmatch(w)
		if i == 0 || m == nil || strings.HasPrefix(strings.TrimLeft(words[i-1], "[{"), "-") {
			continue
		}
		out = append(out, Argument{Name: m[1], Optional: w[0] == '[', Many: m[2] != ""})
	}
	return out
}

// Refine makes every command say in the command line's language what is wrong with its arguments and flags.
func Refine(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		Refine(sub)
	}
	check := cmd.Args
	if check == nil {
		return
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		if _, ours := errors.AsType[*app.UsageError](err); err == nil || ours {
			return err
		}
		return wrongArguments(cmd, args)
	}
}

func wrongArguments(cmd *cobra.Command, args []string) error {
	want := Arguments(cmd)
	usage := cmd.CommandPath() + strings.TrimPrefix(cmd.Use, cmd.Name())
	for i, w := range want {
		if i >= len(args) && !w.Optional {
			return app.Usage("%s is missing: %s", w.Name, usage)
		}
	}
	if len(args) > len(want) {
		return app.Usage("%q is too much: %s", args[len(want)], usage)
	}
	return app.Usage("these arguments do not fit: %s", usage)
}

var (
	wrongValue  = regexp.MustCompile(`^invalid argument "(.*)" for "(?:-\w, )?(--[\w-]+)" flag: (.*)$`)
	unknownFlag = regexp.MustCompile(`^unknown (?:shorthand )?flag: (.*)$`)
)

// kinds say what a flag of a type takes.
var kinds = map[string]string{
	"int": "a whole number", "int32": "a whole number", "int64": "a whole number", "uint32": "a whole number, 0 or more",
	"uint64": "a whole number, 0 or more", "float64": "a number", "bool": "true or false",
	"duration": "a duration such as 90s, 5m or 24h", "stringToString": "key=value",
}

// WrongFlag translates an error about flags.
func WrongFlag(cmd *cobra.Command, err error) error {
	if m := wrongValue.FindStringSubmatch(err.Error()); m != nil {
		if f := cmd.Flags().Lookup(strings.TrimPrefix(m[2], "--")); f != nil && kinds[f.Value.Type()] != "" {
			return app.Usage("%s %s: want %s", m[2], m[1], kinds[f.Value.Type()])
		}
		return app.Usage("%s %s: %s", m[2], m[1], m[3])
	}
	if m := unknownFlag.FindStringSubmatch(err.Error()); m != nil {
		return app.Usage("unknown flag %s%s", m[1], nearFlag(cmd, m[1]))
	}
	return app.Usage("%s", err)
}

// nearFlag asks whether a flag that the command has was meant.
func nearFlag(cmd *cobra.Command, given string) string {
	name, long := strings.CutPrefix(given, "--")
	if !long {
		return ""
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if near := nearest.Name(name, names); near != "" {
		return "; did you mean --" + near + "?"
	}
	return ""
}
