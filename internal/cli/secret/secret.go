// Package secret has the commands for stored secrets. Values are read from standard input or a prompt, never from arguments, which other
// programs of the machine can see.
package secret

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/internal/cli/usage"
	"github.com/windlass-dev/windlass/libs/fault"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

const (
	// maxValue is the largest value that the server takes, in bytes.
	maxValue = 64 << 10
	// maxInput is more than any text of such a value has: what is cut there is too large, and refused.
	maxInput = len(app.Mark) + maxValue + len("\r\n") + 1
)

// Command returns "windlass secret".
func Command(r *command.Runner) *cobra.Command {
	set := &cobra.Command{
		Use: "set NAME [--description TEXT]", Short: "Store a secret, or replace its value", Args: cobra.ExactArgs(1),
		Long: `Store a secret, or replace its value, which is read from standard input or asked for. A line break at its end is not part of it.

Sources refer to the secret as ${secret:NAME}. Nobody can read it back.`,
		Example: "  windlass secret set crm_token\n  pass show crm | windlass secret set crm_token",
		RunE:    r.Run(set),
	}
	set.Flags().String("description", "", "what the secret is, for lists; it is not encrypted")
	list := &cobra.Command{Use: "list", Short: "List secrets, without their values", Args: cobra.NoArgs, RunE: r.Run(list)}
	remove := &cobra.Command{Use: "delete NAME", Short: "Delete a secret", Args: cobra.ExactArgs(1), RunE: r.Run(remove)}
	rotate := &cobra.Command{
		Use: "rotate", Short: "Encrypt all secrets with a new data key", Args: cobra.NoArgs,
		Long: "Make a new data key, encrypt the secrets of all tenants with it, and remove the previous data keys. Values and versions stay.",
		RunE: r.Run(rotate),
	}
	return usage.Group("secret", "Secrets: values that sources refer to as ${secret:NAME}", []string{"secrets"}, set, list, remove, rotate)
}

func set(c *command.Call) error {
	value, err := read(c.App, c.Args[0])
	if err != nil {
		return err
	}
	name, description := c.Args[0], c.Flag("description")
	var s policyv1.Secret
	raw, err := c.Do(&policyv1.UpdateSecretRequest{Name: name, Value: value, Description: description}, &s)
	if fault.CodeOf(err) == "not_found" {
		raw, err = c.Do(&policyv1.CreateSecretRequest{Name: name, Value: value, Description: description}, &s)
	}
	if err != nil {
		return err
	}
	return c.Printf(s.GetName(), raw, "secret %s set, version %d; refer to it as ${secret:%s}", s.GetName(), s.GetVersion(), s.GetName())
}

// read reads a value from a person or a pipe.
func read(a *app.App, name string) (string, error) {
	var text []byte
	var err error
	if in, ok := a.In.(*os.File); ok && a.Interactive {
		fmt.Fprintf(a.Err, "Value of %s (not shown): ", output.Line(name))
		text, err = term.ReadPassword(int(in.Fd()))
		fmt.Fprintln(a.Err)
	} else {
		text, err = io.ReadAll(io.LimitReader(a.In, int64(maxInput)))
	}
	if err != nil {
		return "", fmt.Errorf("read the value: %w", err)
	}
	value := strings.TrimPrefix(strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r"), app.Mark)
	switch {
	case value == "":
		return "", errors.New("the value is empty: write it to standard input")
	case len(value) > maxValue:
		return "", fmt.Errorf("the value has more than %d bytes", maxValue)
	}
	return value, nil
}

func list(c *command.Call) error {
	header := []string{"NAME", "VERSION", "AGE", "SET BY", "DESCRIPTION"}
	return command.PrintListing(c, &policyv1.ListSecretsRequest{}, 0, header, func(s *policyv1.Secret) (string, []string) {
		return s.GetName(), []string{
			s.GetName(), fmt.Sprint(s.GetVersion()), c.Ago(s.GetUpdateTime().AsTime()), s.GetSetBy(), output.Cell(s.GetDescription()),
		}
	})
}

func remove(c *command.Call) error {
	return c.Done(&policyv1.DeleteSecretRequest{Name: c.Args[0]}, c.Args[0], "secret %s deleted", output.Line(c.Args[0]))
}

func rotate(c *command.Call) error {
	var done policyv1.RotateSecretsResponse
	raw, err := c.Do(&policyv1.RotateSecretsRequest{}, &done)
	if err != nil {
		return err
	}
	return c.Printf(done.GetKeyId(), raw, "Secrets that are encrypted with the new data key %s: %d", done.GetKeyId(), done.GetSecrets())
}
