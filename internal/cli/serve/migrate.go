package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/assembly"
	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/sqldb"
)

// migrateCommand returns the command that changes the tables for a new version, or prints what a role needs that does not.
func migrateCommand(a *app.App) *cobra.Command {
	var file, format, grants string
	cmd := &cobra.Command{
		Use:   "migrate [ROLE…]",
		Short: "Bring the tables of roles up to date",
		Long: `Bring the tables of the given roles up to date, or those of all roles, as the roles do by themselves when they start.

With database.migrate set to verify they do not: run this before their new version starts, as the owner of the schemas. Processes of the version
before may go on; several runs at once wait for each other. When there is nothing to do, it says so and succeeds.

--print-grants prints statements for PostgreSQL instead. The owner of the schemas runs them once, after the first migration; the named role then
may read and change rows and nothing else, which is all that the processes need.`,
		Example: `  windlassd migrate --config windlass.yaml
  windlassd migrate --print-grants windlass_app | psql "$OWNER_URL"`,
		ValidArgs: assembly.Stored(),
		Args: func(_ *cobra.Command, args []string) error {
			for _, arg := range args {
				if !slices.Contains(assembly.Stored(), arg) {
					return app.Usage("there is no role %q with tables; those are %s", arg, strings.Join(assembly.Stored(), ", "))
				}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, roles []string) error {
			if format != "table" && format != "json" {
				return app.Usage("it prints text, or one JSON object with -o json; not %q", format)
			}
			if len(roles) == 0 {
				roles = assembly.Stored()
			}
			if cmd.Flags().Changed("print-grants") {
				return printGrants(a.Out, roles, grants)
			}
			cfg, err := load(a, assembly.Defaults(), config.Options{File: file, Flags: cmd.Flags()})
			if err != nil {
				return err
			}
			done, err := assembly.Migrate(cmd.Context(), cfg, roles, slog.New(slog.DiscardHandler))
			return errors.Join(err, printMigrated(a.Out, format, done))
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "YAML file with configuration")
	cmd.Flags().StringVarP(&format, "output", "o", "table", "table or json")
	cmd.Flags().StringVar(&grants, "print-grants", "", "print the grants that a database `role` needs, and change nothing")
	return cmd
}

func printGrants(out io.Writer, roles []string, role string) error {
	text, err := sqldb.Grants(roles, role)
	if err != nil {
		return app.Usage("--print-grants: %v", err)
	}
	_, err = io.WriteString(out, text)
	return err
}

func printMigrated(out io.Writer, format string, done []sqldb.Migrated) error {
	if format == "json" {
		return json.NewEncoder(out).Encode(map[string]any{"schemas": append([]sqldb.Migrated{}, done...)})
	}
	var b strings.Builder
	for _, m := range done {
		if len(m.Applied) == 0 {
			fmt.Fprintf(&b, "%-10s up to date at %d\n", m.Schema, m.To)
		} else {
			fmt.Fprintf(&b, "%-10s from %d to %d: applied %s\n", m.Schema, m.From, m.To, strings.Trim(fmt.Sprint(m.Applied), "[]"))
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}
