package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/assembly"
	"github.com/windlass-dev/windlass/internal/backup"
	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/libs/config"
)

// shownRows bounds how many turns and calls are printed for people.
const shownRows = 20

// Commands returns the commands that run the mesh on this machine, and look after its data directory.
func Commands(a *app.App) []*cobra.Command {
	return []*cobra.Command{Up(a), backupCommand(a), restoreCommand(a)}
}

func backupCommand(a *app.App) *cobra.Command {
	o := backup.Options{Windlass: a.Build().Version}
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Back up a data directory, also while 'windlass up' runs on it",
		Long: `Write the data directory of 'windlass up' to one file, also while it is in use.

The file (.tar.gz) has a manifest, every database as it was at one moment, Temporal's among them, and the logins of the built-in issuer.
The message bus needs no backup: it keeps the last hour of text deltas, and a cache.
Keys are left out, since with them everything sealed in the backup can be read, and so are passwords and secrets of the issuer's accounts.
They do not change by themselves: copy them once, to another place. Conversations, memories and documents are in the file in clear, as they
are in the data directory: protect it as you protect that.`,
		Example: "  windlass backup /backups/monday.tar.gz --data-dir /var/lib/windlass",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			asJSON, err := wantJSON(cmd)
			if err != nil {
				return err
			}
			o.File = args[0]
			m, err := backup.Write(cmd.Context(), o)
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(a.Out).Encode(m)
			}
			_, err = io.WriteString(a.Out, backedUp(o, m))
			return err
		},
	}
	cmd.Flags().StringVar(&o.DataDir, "data-dir", ".windlass", "data directory to back up")
	cmd.Flags().BoolVar(&o.WithKeys, "with-keys", false, "include keys and accounts: the file then opens everything sealed in it")
	return cmd
}

func backedUp(o backup.Options, m backup.Manifest) string {
	var b strings.Builder
	fmt.Fprintf(&b, "backed up %s to %s: %d files, %d bytes before compression\n", o.DataDir, o.File, len(m.Files), m.Bytes())
	if len(m.LeftOut) > 0 {
		fmt.Fprintf(&b, "left out, copy them to another place once, or use --with-keys: %s\n", names(m.LeftOut))
	}
	return b.String()
}

func names(files []backup.File) string {
	all := make([]string, len(files))
	for i, f := range files {
		all[i] = f.Name
	}
	return strings.Join(all, ", ")
}

// restored is what restore did.
type restored struct {
	Backup backup.Manifest `json:"backup"`
	// Recovered is null if the backup has no databases of the services.
	Recovered *assembly.Recovered `json:"recovered"`
}

func restoreCommand(a *app.App) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Restore a backup to a new data directory",
		Long: `Restore a file of 'windlass backup' to a data directory that does not exist or is empty.

Checksums are verified. What was in progress when the backup was made is not run again, since it may have gone on after the backup: turns in
progress fail with the code outcome_unknown, and open tool calls become unresolved. The directory appears, or gets its files, when all of
this is done; start 'windlass up' on it then.`,
		Example: "  windlass restore /backups/monday.tar.gz --data-dir /var/lib/windlass",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			asJSON, err := wantJSON(cmd)
			if err != nil {
				return err
			}
			var done restored
			done.Backup, err = backup.Restore(cmd.Context(), args[0], dir, done.recover)
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(a.Out).Encode(done)
			}
			_, err = io.WriteString(a.Out, done.text(args[0], dir))
			return err
		},
	}
	cmd.Flags().StringVar(&dir, "data-dir", ".windlass", "data directory to restore to")
	return cmd
}

// recover gives what was in progress an unknown outcome.
func (r *restored) recover(ctx context.Context, dir string, m backup.Manifest) error {
	if !m.Has(assembly.Sessions+".db") || !m.Has(assembly.Registry+".db") {
		return nil
	}
	cfg := assembly.Defaults()
	cfg.Database.URL = "sqlite:" + dir
	done, err := assembly.Recover(ctx, cfg, slog.New(slog.DiscardHandler))
	r.Recovered = &done
	return err
}

func (r restored) text(file, dir string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "restored %s of %s to %s\n", file, r.Backup.CreateTime.Format("2006-01-02 15:04:05 MST"), dir)
	if r.Recovered == nil {
		b.WriteString("the backup has no sessions and no ledger: if they are in PostgreSQL, restore that too, and run 'windlassd recover'\n")
	} else {
		b.WriteString(recoveredText(*r.Recovered))
	}
	if to, err := filepath.Abs(dir); err == nil && r.Backup.DataDir != "" && to != r.Backup.DataDir {
		fmt.Fprintf(&b, "it was %s: settings that name that path still do, such as the command of the source notes\n", r.Backup.DataDir)
	}
	if len(r.Backup.LeftOut) > 0 {
		fmt.Fprintf(&b, "copy the keys to %s before you start it:\n", dir)
		for _, f := range r.Backup.LeftOut {
			fmt.Fprintf(&b, "  %-20s SHA-256 begins with %s\n", f.Name, f.Fingerprint)
		}
	}
	return b.String()
}

// report prints what a recovery did. One that failed may have done a part, which the next one does not find again.
func report(out io.Writer, format string, r assembly.Recovered, failed bool) error {
	if failed && len(r.Turns)+len(r.Calls) == 0 && r.Fires+r.Results == 0 {
		return nil
	}
	if format == "json" {
		return json.NewEncoder(out).Encode(r)
	}
	_, err := io.WriteString(out, words(failed, "done before it failed, and not done again when you repeat it:\n")+recoveredText(r))
	return err
}

// recoveredText says what a recovery did.
func recoveredText(r assembly.Recovered) string {
	var b strings.Builder
	fmt.Fprintf(&b, "turns in progress, which failed with outcome_unknown: %d\n", len(r.Turns))
	for i, t := range r.Turns {
		if more(&b, i, len(r.Turns)) {
			break
		}
		fmt.Fprintf(&b, "  %s  %s, session %s, agent %s\n", t.ID, t.Status, t.SessionID, t.AgentID)
	}
	fmt.Fprintf(&b, "tool calls whose outcome is unknown: %d\n", len(r.Calls))
	for i, c := range r.Calls {
		if more(&b, i, len(r.Calls)) {
			break
		}
		fmt.Fprintf(&b, "  %s  %s%s%s\n", c.ID, c.Tool, words(c.Once, ", once"), words(c.TurnID != "", ", turn "+c.TurnID))
	}
	if r.Fires+r.Results > 0 {
		fmt.Fprintf(&b, "given up: %d fires of schedules, %d results of sub-agents\n", r.Fires, r.Results)
	}
	return b.String()
}

// more reports whether enough rows are printed, and says how many are not.
func more(b *strings.Builder, i, rows int) bool {
	if i < shownRows {
		return false
	}
	fmt.Fprintf(b, "  and %d more, which -o json lists\n", rows-i)
	return true
}

func words(apply bool, text string) string {
	if apply {
		return text
	}
	return ""
}

// recoverCommand returns the command that prepares restored databases for the start of a mesh.
func recoverCommand(a *app.App) *cobra.Command {
	var file, format string
	var confirm bool
	cmd := &cobra.Command{
		Use:   "recover",
		Short: "Give what was in progress in restored databases an unknown outcome",
		Long: `Prepare the databases of sessions and registry, which were restored from a backup, for the start of the mesh.

What was in progress when the backup was made may have gone on after it, so it is not run again: turns in progress fail with the code
outcome_unknown, and open tool calls become unresolved. Run it after a restore of the database and before any process of the mesh starts;
in a mesh that runs it would fail every turn. 'windlass restore' does it by itself.`,
		Example: "  windlassd recover --confirm --config windlass.yaml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !confirm {
				return app.Usage("this fails every turn in progress: stop all processes of the mesh, then use --confirm")
			}
			if format != "table" && format != "json" {
				return app.Usage("it prints text, or one JSON object with -o json; not %q", format)
			}
			cfg, err := load(a, assembly.Defaults(), config.Options{File: file, Flags: cmd.Flags()})
			if err != nil {
				return err
			}
			done, err := assembly.Recover(cmd.Context(), cfg, slog.New(slog.DiscardHandler))
			return errors.Join(err, report(a.Out, format, done, err != nil))
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "YAML file with configuration")
	cmd.Flags().BoolVar(&confirm, "confirm", false, "no process of the mesh runs")
	cmd.Flags().StringVarP(&format, "output", "o", "table", "table or json")
	return cmd
}
