// Package artifact has the commands for artifacts, which hold what is too large for a conversation.
package artifact

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/internal/cli/usage"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// noun is not listed with the others: artifacts are listed only per session, and getting one returns bytes, not a resource.
func noun() command.Noun {
	return command.Noun{
		Name: "artifact", Plural: "artifacts", Header: []string{"ID", "NAME", "TYPE", "BYTES", "AGE", "TURN"},
		Read: command.Typed((*sessionsv1.Artifact).GetId, func(m *sessionsv1.Artifact, now time.Time) []string {
			return []string{
				m.GetId(), output.Cell(m.GetName()), m.GetMediaType(), fmt.Sprint(m.GetSize()),
				output.Ago(now, m.GetCreateTime().AsTime()), m.GetTurnId(),
			}
		}),
	}
}

// Command returns "windlass artifact".
func Command(r *command.Runner) *cobra.Command {
	list := &cobra.Command{
		Use: "list SESSION", Aliases: []string{"ls"}, Short: "List the artifacts of a session", Args: cobra.ExactArgs(1),
		RunE: r.Run(func(c *command.Call) error {
			limit, err := c.Limit()
			if err != nil {
				return err
			}
			return noun().ListAt(c, &sessionsv1.ListArtifactsRequest{SessionId: c.Args[0]}, nil, limit)
		}),
	}
	list.Flags().Int("limit", command.DefaultLimit, "list so many at most, 0 = all")
	get := &cobra.Command{
		Use: "get ID [--file FILE]", Short: "Write the bytes of an artifact", Args: cobra.ExactArgs(1), RunE: r.Run(get),
		Long: "Write the bytes of an artifact: to a file unchanged, else as text with terminal control characters replaced.",
	}
	get.Flags().String("file", "", "where to; - writes the bytes as they are to the standard output")
	return usage.Group("artifact", "Artifacts: what is too large for a conversation", []string{"artifacts"}, list, get)
}

func get(c *command.Call) error {
	raw, err := c.Do(&sessionsv1.ReadArtifactRequest{ArtifactId: c.Args[0]}, nil)
	if err != nil {
		return err
	}
	return c.WriteBytes(raw, c.Flag("file"))
}
