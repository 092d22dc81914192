package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/assembly"
	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/workflows/temporal"
)

// askTimeout bounds a request to Temporal.
const askTimeout = 20 * time.Second

// versions returns the command that lists and promotes worker versions.
func versions(a *app.App) *cobra.Command {
	var file, format string
	cmd := &cobra.Command{
		Use:   "versions",
		Short: "List the workers' versions and their states",
		Long: `List the versions of the workers' deployment (worker.deployment) as Temporal reports them.

current   takes new turns
draining  turns are left that began with it: leave its workers running
drained   its workers may be stopped
inactive  was never current`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := output.Parse(format)
			if err != nil {
				return app.Usage("%v", err)
			}
			return withTemporal(cmd, a, file, func(ctx context.Context, c temporal.Client, deployment string) error {
				list, err := temporal.Versions(ctx, c, deployment)
				if err != nil {
					return err
				}
				return printVersions(a, f, list)
			})
		},
	}
	cmd.PersistentFlags().StringVar(&file, "config", "", "YAML file with configuration")
	cmd.Flags().StringVarP(&format, "output", "o", string(output.Table), "table, json, yaml or name")
	cmd.AddCommand(promote(a, &file))
	return cmd
}

func promote(a *app.App, file *string) *cobra.Command {
	return &cobra.Command{
		Use:   "promote BUILD_ID",
		Short: "Route all new turns to one version of the workers",
		Long: `Route all new turns to one version of the workers. Running turns stay on the version that they started with.

It is refused while no worker of that version runs. Workers without a version get nothing to do any more.`,
		Example: "  windlassd versions promote 2026-11-20.1 --config windlass.yaml",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withTemporal(cmd, a, *file, func(ctx context.Context, c temporal.Client, deployment string) error {
				if err := temporal.Promote(ctx, c, deployment, args[0]); err != nil {
					return err
				}
				_, err := fmt.Fprintf(a.Out, "new turns go to version %s of %s\n", args[0], deployment)
				return err
			})
		},
	}
}

// withTemporal connects to the configured Temporal server.
func withTemporal(cmd *cobra.Command, a *app.App, file string,
	do func(ctx context.Context, c temporal.Client, deployment string) error,
) error {
	cfg, err := load(a, assembly.Defaults(), config.Options{File: file, Flags: cmd.Flags()})
	if err != nil {
		return err
	}
	if cfg.Worker.Deployment == "" {
		return app.Usage("worker.deployment is not set: these workers have no versions (name the file that the workers run with: --config FILE)")
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), askTimeout)
	defer cancel()
	dial, err := cfg.Temporal.Client(slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	c, err := temporal.Dial(ctx, dial)
	if err != nil {
		return err
	}
	defer c.Close()
	err = do(ctx, c, cfg.Worker.Deployment)
	if errors.Is(err, temporal.ErrNoDeployment) {
		err = fmt.Errorf("%w; start a worker with worker.deployment and worker.build_id set", err)
	}
	return err
}

func printVersions(a *app.App, f output.Format, list []temporal.Version) error {
	items, rows := make([]json.RawMessage, len(list)), make([][]string, len(list))
	for i, v := range list {
		raw, err := json.Marshal(v)
		if err != nil {
			return err
		}
		items[i], rows[i] = raw, []string{v.BuildID, v.State, v.Created.UTC().Format(time.RFC3339)}
	}
	switch f {
	case output.Name:
		for _, v := range list {
			if _, err := fmt.Fprintln(a.Out, v.BuildID); err != nil {
				return err
			}
		}
		return nil
	case output.Table:
		return output.Rows(a.Out, []string{"BUILD ID", "STATE", "SINCE"}, rows)
	}
	return output.List(a.Out, f, items)
}
