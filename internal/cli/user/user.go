// Package user has the command for the users of the built-in issuer.
package user

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/internal/cli/usage"
	"github.com/windlass-dev/windlass/internal/embedded"
	"github.com/windlass-dev/windlass/internal/issuer"
	"github.com/windlass-dev/windlass/internal/issuer/account"
)

// configured stands for a password that the configuration sets, which the data directory does not hold.
const configured = "(configured)"

// Command returns "windlass user".
func Command(a *app.App) *cobra.Command {
	var dataDir string
	var clients bool
	list := &cobra.Command{
		Use:   "list",
		Short: "List the users of the built-in issuer, with their passwords",
		Long: `List the users of the issuer that 'windlass up' runs, with the passwords that it generated.

It reads the data directory, so only the operating-system user who runs 'windlass up' can do this.`,
		Example: `  windlass user list
  windlass user list --clients -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			format, err := output.Parse(cmd.Flag("output").Value.String())
			if err != nil {
				return app.Usage("%s", err)
			}
			file, err := issuer.Accounts(filepath.Join(dataDir, embedded.IssuerDir))
			if errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("%s has no users: start 'windlass up' on it once, or name another directory with --data-dir", dataDir)
			}
			if err != nil {
				return err
			}
			if clients {
				return writeClients(a, format, file.Clients)
			}
			return writeUsers(a, format, file.Users)
		},
	}
	list.Flags().StringVar(&dataDir, "data-dir", ".windlass", "directory that keeps the state of windlass up")
	list.Flags().BoolVar(&clients, "clients", false, "list clients and their secrets instead")
	return usage.Group("user", "Users of the built-in issuer", nil, list)
}

func writeUsers(a *app.App, format output.Format, users []account.FileUser) error {
	var rows [][]string
	var names []string
	for _, u := range users {
		password := u.Password
		if password == "" {
			password = configured
		}
		rows = append(rows, []string{u.Name, password, u.Tenant, strings.Join(u.Roles, ","), claims(u.Claims)})
		names = append(names, u.Name)
	}
	return write(a, format, users, names, []string{"NAME", "PASSWORD", "TENANT", "ROLES", "CLAIMS"}, rows)
}

func writeClients(a *app.App, format output.Format, clients []account.FileClient) error {
	var rows [][]string
	var names []string
	for _, c := range clients {
		secret := c.Secret
		switch {
		case c.Public:
			secret = "(none)"
		case secret == "":
			secret = configured
		}
		rows = append(rows, []string{c.ID, secret, strings.Join(c.Audiences, ","), strings.Join(short(c.Grants), ",")})
		names = append(names, c.ID)
	}
	return write(a, format, clients, names, []string{"ID", "SECRET", "AUDIENCES", "GRANTS"}, rows)
}

func write[T any](a *app.App, format output.Format, items []T, names, header []string, rows [][]string) error {
	switch format {
	case output.Name:
		_, err := fmt.Fprintln(a.Out, strings.Join(names, "\n"))
		return err
	case output.Table:
		return output.Rows(a.Out, header, rows)
	}
	var raw []json.RawMessage
	for _, item := range items {
		one, err := json.Marshal(item)
		if err != nil {
			return fmt.Errorf("list accounts: %w", err)
		}
		raw = append(raw, one)
	}
	return output.List(a.Out, format, raw)
}

func claims(all map[string]string) string {
	var pairs []string
	for k, v := range all {
		pairs = append(pairs, k+"="+v)
	}
	slices.Sort(pairs)
	return strings.Join(pairs, ",")
}

// short drops what grant types that are URNs begin with.
func short(grants []string) []string {
	var out []string
	for _, g := range grants {
		out = append(out, g[strings.LastIndexByte(g, ':')+1:])
	}
	return out
}
