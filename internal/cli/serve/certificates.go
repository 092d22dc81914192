package serve

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/assembly"
	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/devserver"
	"github.com/windlass-dev/windlass/libs/config"
)

// temporalCertificates returns the command that writes certificates for a windlass-temporal beside separate processes.
func temporalCertificates(a *app.App) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "temporal-certificates DIR",
		Short: "Write certificates for windlass-temporal and its clients",
		Long: `Write certificates that follow from mesh.key, with which windlass-temporal accepts only the processes of this mesh.

DIR gets ca.pem, server.pem for windlass-temporal, and client.pem for temporal.tls, each of the last two with its key. They are valid for 90
days. To renew them, run the command again: the files are read when they change, and those of before stay valid for their time.
'windlass up' does all this by itself, in its data directory.`,
		Example: "  WINDLASS_MESH_KEY=… windlassd temporal-certificates .windlass/temporal",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := load(a, assembly.Defaults(), config.Options{File: file, Flags: cmd.Flags()})
			if err != nil {
				return err
			}
			if cfg.Mesh.Key.IsZero() {
				return errors.New("mesh.key is not set: the certificates follow from it")
			}
			files, err := devserver.Issue(args[0], cfg.Mesh.Key)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Out, `Start Temporal with

  windlass-temporal --tls-cert %[1]s --tls-key %[1]s --tls-ca %[3]s --tls-server-name %[4]s

and configure its clients:

  temporal:
    tls: {ca: %[3]s, cert: %[2]s, key: %[2]s, server_name: %[4]s}
`, files.Server, files.Client, files.CA, devserver.ServerName)
			return err
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "YAML file with configuration")
	return cmd
}
