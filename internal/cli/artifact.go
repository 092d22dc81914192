package cli

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/internal/cli/usage"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// artifacts are listed only per session, and getting one returns bytes, not a resource.
func artifacts() noun {
	return noun{
		name: "artifact", plural: "artifacts", short: "Artifacts: what is too large for a conversation", path: "/v1/artifacts",
		header: []string{"ID", "NAME", "TYPE", "BYTES", "AGE", "TURN"},
		read: typed((*sessionsv1.Artifact).GetId, func(m *sessionsv1.Artifact, now time.Time) []string {
			return []string{
				m.GetId(), output.Cell(m.GetName()), m.GetMediaType(), fmt.Sprint(m.GetSize()),
				output.Ago(now, m.GetCreateTime().AsTime()),
				m.GetTurnId(),
			}
		}),
	}
}

func artifactCommand(a *app.App) *cobra.Command {
	n := artifacts()
	list := &cobra.Command{
		Use: "list SESSION", Aliases: []string{"ls"}, Short: "List the artifacts of a session", Args: cobra.ExactArgs(1),
		RunE: run(a, func(c *call) error {
			limit, err := c.cmd.Flags().GetInt("limit")
			if err != nil || limit < 0 {
				return app.Usage("--limit must be 0 or more")
			}
			return n.listAt(c, "/v1/sessions"+client.Path(c.args[0])+"/artifacts", n.plural, nil, limit)
		}),
	}
	list.Flags().Int("limit", 100, "list so many at most, 0 = all")
	get := &cobra.Command{
		Use: "get ID [--file FILE]", Short: "Write the bytes of an artifact", Args: cobra.ExactArgs(1), RunE: run(a, getArtifact),
		Long: "Write the bytes of an artifact: to a file unchanged, else as text with terminal control characters replaced.",
	}
	get.Flags().String("file", "", "where to; - writes the bytes as they are to the standard output")
	return usage.Group(n.name, n.short, []string{n.plural}, list, get)
}

func getArtifact(c *call) error {
	raw, err := c.client.Do(c.ctx, client.Request{Path: artifacts().path + client.Path(c.args[0])}, nil)
	if err != nil {
		return err
	}
	switch file := flag(c.cmd, "file"); file {
	case "":
		_, err = io.WriteString(c.Out, output.Text(string(raw)))
	case "-":
		_, err = c.Out.Write(raw)
	default:
		if err = os.WriteFile(file, raw, 0o600); err == nil {
			c.note("%d bytes are in %s", len(raw), file)
		}
	}
	return err
}
