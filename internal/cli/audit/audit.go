// Package audit has the commands for the audit trail.
package audit

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/internal/cli/usage"
	"github.com/windlass-dev/windlass/libs/enum"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// Command returns "windlass audit".
func Command(r *command.Runner) *cobra.Command {
	list := &cobra.Command{
		Use: "list", Short: "List audit records, the newest first", Args: cobra.NoArgs, RunE: r.Run(list),
		Example: "  windlass audit list --action 'registry.*' --since 24h\n  windlass audit list --outcome refused --subject corp:alice",
	}
	list.Flags().Int("limit", 100, "list so many at most, 0 = all")
	filterFlags(list)
	export := &cobra.Command{
		Use: "export", Short: "Print audit records as CloudEvents, one per line, the oldest first", Args: cobra.NoArgs,
		Example: "  windlass audit export --since 24h > audit.jsonl", RunE: r.Run(export),
	}
	filterFlags(export)
	verify := &cobra.Command{
		Use: "verify", Short: "Check that no audit record was removed, changed or moved", Args: cobra.NoArgs, RunE: r.Run(verify),
		Long: "Compute the chain of hashes of the audit trail again. The exit code is 1 if it is broken.\n" +
			"Keep the number of records and the hash that it prints somewhere else, and give them to later checks: somebody who can write to the\n" +
			"database can make a whole new chain, but not one with the old hash.",
		Example: "  windlass audit verify\n  windlass audit verify --seq 1234 --hash 9f86d081884c7d65…",
	}
	verify.Flags().Int64("seq", 0, "place of a record whose hash was kept")
	verify.Flags().String("hash", "", "hash of that record")
	return usage.Group("audit", "Audit trail: who did what, and what was refused", nil, list, export, verify)
}

func filterFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.String("since", "", "only records from this time on, or from so long ago, such as 2h")
	f.String("until", "", "only records before this time, or before so long ago")
	f.String("subject", "", "only records about this subject")
	f.String("action", "", "only this action; a * at the end stands for any text, such as 'registry.*'")
	f.String("resource", "", "only records about this resource")
	f.String("outcome", "", "only this outcome: allowed, refused, done or failed")
	f.String("turn", "", "only records about this turn")
}

// query returns the request of a command with its filters.
func query(c *command.Call) (*policyv1.ListAuditRecordsRequest, error) {
	req := &policyv1.ListAuditRecordsRequest{
		Subject: c.Flag("subject"), Action: c.Flag("action"), Resource: c.Flag("resource"), TurnId: c.Flag("turn"),
		Outcome: enum.Parse[policyv1.AuditOutcome](c.Flag("outcome")),
	}
	if v := c.Flag("outcome"); v != "" && req.GetOutcome() == 0 {
		return nil, app.Usage("--outcome is %q: use allowed, refused, done or failed", v)
	}
	var err error
	if req.Since, err = when(c, "since"); err != nil {
		return nil, err
	}
	req.Until, err = when(c, "until")
	return req, err
}

// when reads a flag with a time, or how long ago it was; nil if it is not given.
func when(c *command.Call, flag string) (*timestamppb.Timestamp, error) {
	text := c.Flag(flag)
	if text == "" {
		return nil, nil
	}
	if d, err := time.ParseDuration(text); err == nil {
		return timestamppb.New(time.Now().Add(-d)), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return nil, app.Usage("--%s: %q is neither a time such as 2026-01-02T15:04:05Z nor a duration such as 2h", flag, text)
	}
	return timestamppb.New(at), nil
}

func list(c *command.Call) error {
	req, err := query(c)
	if err != nil {
		return err
	}
	limit, err := c.Cmd.Flags().GetInt("limit")
	if err != nil || limit < 0 {
		return app.Usage("--limit must not be negative")
	}
	header := []string{"SEQ", "AGE", "SUBJECT", "ACTION", "RESOURCE", "OUTCOME", "REASON"}
	return command.PrintListing(c, req, limit, header, func(r *policyv1.AuditRecord) (string, []string) {
		return r.GetId(), []string{
			fmt.Sprint(r.GetSeq()), c.Ago(r.GetTime().AsTime()), r.GetSubject(), r.GetAction(), output.Cell(r.GetResource()),
			enum.Name(r.GetOutcome()), output.Cell(r.GetReason()),
		}
	})
}

// cloudEvent is a record as an event of CloudEvents 1.0.
type cloudEvent struct {
	SpecVersion     string          `json:"specversion"`
	ID              string          `json:"id"`
	Source          string          `json:"source"`
	Type            string          `json:"type"`
	Subject         string          `json:"subject,omitempty"`
	Time            string          `json:"time"`
	DataContentType string          `json:"datacontenttype"`
	Data            json.RawMessage `json:"data"`
}

// exportPage is how many records one request of an export reads.
const exportPage = 500

// export writes page by page, so that its memory is bounded.
func export(c *command.Call) error {
	req, err := query(c)
	if err != nil {
		return err
	}
	req.OldestFirst, req.PageSize = true, exportPage
	lines := json.NewEncoder(c.Out)
	lines.SetEscapeHTML(false)
	for {
		raw, err := c.Do(req, nil)
		if err != nil {
			return err
		}
		var page struct {
			Records []json.RawMessage `json:"records"`
			Next    string            `json:"next_page_token"`
		}
		if err := client.Decode(raw, &page); err != nil {
			return err
		}
		for _, item := range page.Records {
			var r policyv1.AuditRecord
			if err := client.Decode(item, &r); err != nil {
				return err
			}
			if err := lines.Encode(cloudEvent{
				SpecVersion: "1.0", ID: r.GetId(), Source: "/windlass/policy", Type: "dev.windlass.audit.recorded.v1", Subject: r.GetResource(),
				Time: r.GetTime().AsTime().Format(time.RFC3339Nano), DataContentType: "application/json", Data: item,
			}); err != nil {
				return fmt.Errorf("write the export: %w", err)
			}
		}
		if page.Next == "" {
			return nil
		}
		req.PageToken = page.Next
	}
}

func verify(c *command.Call) error {
	req := &policyv1.VerifyAuditRequest{}
	if err := c.Given(req, "seq", "hash"); err != nil {
		return err
	}
	var v policyv1.VerifyAuditResponse
	raw, err := c.Do(req, &v)
	if err != nil {
		return err
	}
	if err := c.Print(v.GetHash(), raw, func(w io.Writer) error {
		if !v.GetIntact() {
			return nil
		}
		if first := v.GetFirstSeq(); first > 1 {
			_, err := fmt.Fprintf(w, "the audit trail is intact from record %d on, those before it are not kept any more: "+
				"%d records, the last one, record %d, with the hash %s\n", first, v.GetRecords(), first+v.GetRecords()-1, v.GetHash())
			return err
		}
		_, err := fmt.Fprintf(w, "the audit trail is intact: %d records, the last one with the hash %s\n", v.GetRecords(), v.GetHash())
		return err
	}); err != nil {
		return err
	}
	if !v.GetIntact() {
		return fmt.Errorf("the audit trail is broken at record %d: %s", v.GetBrokenAt(), v.GetProblem())
	}
	return nil
}
