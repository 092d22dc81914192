// Package secrets has the commands for stored secrets. Values are read from standard input or a prompt, never from arguments, which other
// programs of the machine can see.
package secrets

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/insight"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/internal/cli/usage"
	"github.com/windlass-dev/windlass/libs/fault"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

const (
	path = "/v1/secrets"
	// maxValue is the largest value that the server takes, in bytes.
	maxValue = 64 << 10
)

// Command returns "windlass secret".
func Command(a *app.App, run insight.Runner) *cobra.Command {
	set := &cobra.Command{
		Use: "set NAME [--description TEXT]", Short: "Store a secret, or replace its value", Args: cobra.ExactArgs(1),
		Long: `Store a secret, or replace its value, which is read from standard input or asked for. A line break at its end is not part of it.

Sources refer to the secret as ${secret:NAME}. Nobody can read it back.`,
		Example: "  windlass secret set crm_token\n  pass show crm | windlass secret set crm_token",
		RunE:    run(func(c insight.Call) error { return setSecret(a, c) }),
	}
	set.Flags().String("description", "", "what the secret is, for lists; it is not encrypted")
	list := &cobra.Command{Use: "list", Short: "List secrets, without their values", Args: cobra.NoArgs, RunE: run(listSecrets)}
	remove := &cobra.Command{Use: "delete NAME", Short: "Delete a secret", Args: cobra.ExactArgs(1), RunE: run(deleteSecret)}
	rotate := &cobra.Command{
		Use: "rotate", Short: "Encrypt all secrets with a new data key", Args: cobra.NoArgs,
		Long: "Make a new data key, encrypt the secrets of all tenants with it, and remove the previous data keys. Values and versions stay.",
		RunE: run(rotateSecrets),
	}
	return usage.Group("secret", "Secrets: values that sources refer to as ${secret:NAME}", []string{"secrets"}, set, list, remove, rotate)
}

func setSecret(a *app.App, c insight.Call) error {
	value, err := read(a, c.Args[0])
	if err != nil {
		return err
	}
	body := map[string]any{"value": value}
	if d := c.Cmd.Flag("description").Value.String(); d != "" {
		body["description"] = d
	}
	var s policyv1.Secret
	raw, err := c.Client.Do(c.Ctx, client.Request{Method: http.MethodPatch, Path: one(c.Args[0]), Body: body}, &s)
	if fault.CodeOf(err) == "not_found" {
		body["name"] = c.Args[0]
		raw, err = c.Client.Do(c.Ctx, client.Request{Method: http.MethodPost, Path: path, Body: body}, &s)
	}
	if err != nil {
		return err
	}
	return c.Print(s.GetName(), raw, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "secret %s set, version %d; refer to it as ${secret:%s}\n", s.GetName(), s.GetVersion(), s.GetName())
		return err
	})
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
		text, err = io.ReadAll(io.LimitReader(a.In, maxValue+2))
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

func one(name string) string { return path + "/" + url.PathEscape(name) }

func listSecrets(c insight.Call) error {
	items, _, err := c.Client.List(c.Ctx, path, "secrets", nil, 0)
	if err != nil {
		return err
	}
	var names []string
	rows := make([][]string, len(items))
	for i, item := range items {
		var s policyv1.Secret
		if err := protojson.Unmarshal(item, &s); err != nil {
			return fmt.Errorf("the answer is not what a Windlass server says: %w", err)
		}
		names = append(names, s.GetName())
		rows[i] = []string{
			s.GetName(), fmt.Sprint(s.GetVersion()), c.Ago(s.GetUpdateTime().AsTime()), s.GetSetBy(), output.Cell(s.GetDescription()),
		}
	}
	raw, err := json.Marshal(items)
	if err != nil {
		return fmt.Errorf("encode the list: %w", err)
	}
	return c.Print(strings.Join(names, "\n"), raw, func(w io.Writer) error {
		return output.Rows(w, []string{"NAME", "VERSION", "AGE", "SET BY", "DESCRIPTION"}, rows)
	})
}

func deleteSecret(c insight.Call) error {
	raw, err := c.Client.Do(c.Ctx, client.Request{Method: http.MethodDelete, Path: one(c.Args[0])}, nil)
	if err != nil {
		return err
	}
	return c.Print(c.Args[0], raw, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "secret %s deleted\n", output.Line(c.Args[0]))
		return err
	})
}

func rotateSecrets(c insight.Call) error {
	var done policyv1.RotateSecretsResponse
	raw, err := c.Client.Do(c.Ctx, client.Request{Method: http.MethodPost, Path: path + ":rotate", Body: map[string]any{}}, &done)
	if err != nil {
		return err
	}
	return c.Print(done.GetKeyId(), raw, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "Secrets that are encrypted with the new data key %s: %d\n", done.GetKeyId(), done.GetSecrets())
		return err
	})
}
