package command

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
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

// PeriodQuery returns the query parameters of a command with --period and flags that are called like them.
func (c *Call) PeriodQuery(flags ...string) (url.Values, error) {
	period, err := c.Cmd.Flags().GetDuration("period")
	if err != nil || period <= 0 {
		return nil, app.Usage("--period must be more than 0")
	}
	query := url.Values{"period": {fmt.Sprintf("%.3fs", period.Seconds())}}
	for _, name := range flags {
		if v := c.Flag(name); v != "" {
			query.Set(name, v)
		}
	}
	return query, nil
}

// Given returns a request's fields that flags set to a text that is not empty. A flag is named as "key", or as "agent=agent_id" if the
// field is not called as the flag, with _ for -.
func (c *Call) Given(flags ...string) map[string]any {
	return c.fields(flags, func(flag string) bool { return c.Flag(flag) != "" })
}

// Changed returns a request's fields that flags set, to whatever text. Flags are named as for Given.
func (c *Call) Changed(flags ...string) map[string]any {
	return c.fields(flags, c.Cmd.Flags().Changed)
}

func (c *Call) fields(flags []string, want func(flag string) bool) map[string]any {
	body := map[string]any{}
	for _, name := range flags {
		flag, field, renamed := strings.Cut(name, "=")
		if !renamed {
			field = strings.ReplaceAll(flag, "-", "_")
		}
		if want(flag) {
			body[field] = c.Flag(flag)
		}
	}
	return body
}

// AddParams adds the flag --params, if it is given, to a request.
func (c *Call) AddParams(body map[string]any) error {
	text := c.Flag("params")
	if text == "" {
		return nil
	}
	var params map[string]json.RawMessage // numbers stay as they are written
	if err := json.Unmarshal([]byte(text), &params); err != nil || params == nil {
		return app.Usage(`--params must be a JSON object, as in '{"team":"red"}'`)
	}
	body["params"] = params
	return nil
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
