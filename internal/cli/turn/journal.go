package turn

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// journalPage is how many events one request asks for.
const journalPage = 200

func journalCommand(r *command.Runner) *cobra.Command {
	cmd := &cobra.Command{
		Use: "journal ID", Short: "List the events of a turn, the newest first", Args: cobra.ExactArgs(1), RunE: r.Run(listJournal),
	}
	cmd.Flags().Bool("oldest-first", false, "list the oldest events first")
	cmd.Flags().Int("limit", 100, "list so many events at most")
	return cmd
}

// listJournal prints pages of the journal. Its events have the form of event streams.
func listJournal(c *command.Call) error {
	limit, err := c.Cmd.Flags().GetInt("limit")
	if err != nil || limit < 1 {
		return app.Usage("--limit must be more than 0")
	}
	req := &sessionsv1.ListTurnEventsRequest{TurnId: c.Args[0], Order: "desc"}
	if c.Bool("oldest-first") {
		req.Order = "asc"
	}
	var events []json.RawMessage
	for {
		req.PageSize = int32(min(limit-len(events), journalPage))
		raw, err := c.Do(req, nil)
		if err != nil {
			return err
		}
		var page struct {
			Events []json.RawMessage `json:"events"`
			Next   string            `json:"next_page_token"`
		}
		if err := client.Decode(raw, &page); err != nil {
			return err
		}
		events = append(events, page.Events...)
		if req.PageToken = page.Next; page.Next == "" || len(events) >= limit {
			break
		}
	}
	raw, err := json.Marshal(events)
	if err != nil {
		return fmt.Errorf("encode the events: %w", err)
	}
	return c.Print("", raw, func(w io.Writer) error {
		rows := make([][]string, len(events))
		for i, text := range events {
			var e struct {
				Seq  uint32    `json:"seq"`
				Type string    `json:"type"`
				Time time.Time `json:"time"`
				Step string    `json:"step"`
			}
			if err := json.Unmarshal(text, &e); err != nil {
				return fmt.Errorf("decode an event: %w", err)
			}
			rows[i] = []string{fmt.Sprint(e.Seq), e.Time.Local().Format(time.DateTime), e.Type, e.Step}
		}
		return output.Rows(w, []string{"SEQ", "TIME", "TYPE", "STEP"}, rows)
	})
}
