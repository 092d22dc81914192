package command

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
)

// Flag returns a flag's text, "" if the command does not have it.
func (c *Call) Flag(name string) string { return flagText(c.Cmd, name) }

// Bool reports whether a flag is true.
func (c *Call) Bool(name string) bool { return c.Flag(name) == "true" }

// Limit returns the value of --limit.
func (c *Call) Limit() (int, error) {
	limit, err := c.Cmd.Flags().GetInt("limit")
	if err != nil || limit < 0 {
		return 0, app.Usage("--limit must be 0 or more")
	}
	return limit, nil
}

// PeriodFlag adds --period to a command.
func PeriodFlag(cmd *cobra.Command) {
	cmd.Flags().Duration("period", 24*time.Hour, "period until now, for example 1h; at most 31 days")
}

// Period returns the value of --period.
func (c *Call) Period() (*durationpb.Duration, error) {
	period, err := c.Cmd.Flags().GetDuration("period")
	if err != nil || period <= 0 {
		return nil, app.Usage("--period must be more than 0")
	}
	return durationpb.New(period.Round(time.Millisecond)), nil
}

// Given sets the fields of a request that flags set to a text that is not empty. A flag is named as "key", or as "agent=agent_id" if the
// field is not called as the flag, with _ for -.
func (c *Call) Given(m proto.Message, flags ...string) error {
	_, err := setFields(m, c.Cmd.Flags(), flags, func(flag string) bool { return c.Flag(flag) != "" })
	return err
}

// Changed sets the fields that flags set, to whatever value, and returns the mask of an update with their names in order. Flags are named
// as for Given.
func (c *Call) Changed(m proto.Message, flags ...string) (*fieldmaskpb.FieldMask, error) {
	fields, err := setFields(m, c.Cmd.Flags(), flags, c.Cmd.Flags().Changed)
	return &fieldmaskpb.FieldMask{Paths: fields}, err
}

func setFields(m proto.Message, flags *pflag.FlagSet, names []string, want func(flag string) bool) (fields []string, err error) {
	for _, name := range names {
		flag, field, renamed := strings.Cut(name, "=")
		if !renamed {
			field = strings.ReplaceAll(flag, "-", "_")
		}
		if !want(flag) {
			continue
		}
		v, err := value(flags, flag)
		if err = errors.Join(err, client.Set(m, field, v)); err != nil {
			return nil, err
		}
		fields = append(fields, field)
	}
	slices.Sort(fields)
	return fields, nil
}

// value returns the value of a flag as encoding/json takes it.
func value(flags *pflag.FlagSet, name string) (any, error) {
	switch v := flags.Lookup(name).Value; v.Type() {
	case "string":
		return v.String(), nil
	case "stringArray":
		return flags.GetStringArray(name)
	case "stringSlice":
		return flags.GetStringSlice(name)
	case "stringToString":
		return flags.GetStringToString(name)
	default: // a number or a bool
		return json.RawMessage(v.String()), nil
	}
}

// AddParams sets the field params of a request to the value of --params, if that is given.
func (c *Call) AddParams(m proto.Message) error {
	text := c.Flag("params")
	if text == "" {
		return nil
	}
	var params map[string]json.RawMessage // numbers stay as they are written
	if err := json.Unmarshal([]byte(text), &params); err != nil || params == nil {
		return app.Usage(`--params must be a JSON object, as in '{"team":"red"}'`)
	}
	return client.Set(m, "params", params)
}

// Input returns the text of arguments: their words, or standard input if they are "-".
func (c *Call) Input(words []string) (string, error) {
	text := strings.Join(words, " ")
	if text != "-" {
		return text, nil
	}
	raw, err := c.ReadIn()
	return string(raw), err
}

// Argument returns an argument's text, or the text that it refers to: "-" is standard input, "@FILE" a file.
func (c *Call) Argument(arg string) ([]byte, error) {
	switch {
	case arg == "-":
		return c.ReadIn()
	case len(arg) > 1 && arg[0] == '@':
		return os.ReadFile(arg[1:])
	default:
		return []byte(arg), nil
	}
}
