package bank

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/libs/enum"
	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
)

// sources is the noun of the sources of a bank, which are listed in their bank only.
func sources() command.Noun {
	return command.Noun{
		Name: "bank source", Plural: "sources", Header: []string{"ID", "KIND", "FROM", "STATE", "ITEMS", "FAILED", "SYNCED", "PROBLEM"},
		Read: command.Typed((*knowledgev1.BankSource).GetId, func(m *knowledgev1.BankSource, now time.Time) []string {
			state, ago := enum.Name(m.GetState()), ""
			if m.GetPaused() {
				state += ", paused"
			}
			if m.GetSyncTime() != nil {
				ago = output.Ago(now, m.GetSyncTime().AsTime())
			}
			return []string{
				m.GetId(), m.GetKind(), output.Cell(from(m)), state, fmt.Sprint(m.GetProgress().GetTotal()),
				fmt.Sprint(m.GetProgress().GetFailed()), ago, output.Cell(m.GetProblem()),
			}
		}),
	}
}

// from returns what a source reads.
func from(m *knowledgev1.BankSource) string {
	return strings.TrimSpace(m.GetUrl() + m.GetFolder() + m.GetMcpSource() + " " + m.GetUri())
}

// sourceCommands are the commands about sources of a bank, and about pauses.
func sourceCommands(r *command.Runner) []*cobra.Command {
	follow := &cobra.Command{
		Use: "follow BANK KIND [ADDRESS]", Short: "Add a source to a bank: url, sitemap, folder of the server, mcp source or docs of Windlass",
		Args: cobra.RangeArgs(2, 3), RunE: r.Run(follow),
		Example: "  windlass bank follow handbook sitemap https://example.com/sitemap.xml --every 1h\n" +
			"  windlass bank follow handbook folder /srv/handbook --label staff --wait\n  windlass bank follow manual docs\n" +
			"  windlass bank follow notes mcp notes-server --uri notes://team/",
	}
	follow.Flags().String("uri", "", "for mcp: which resources, as the beginning of their URIs or a template of them; empty = all")
	follow.Flags().StringArray("label", nil, "label that all documents get, which readers need; may be repeated")
	follow.Flags().StringToString("attribute", nil, "attribute that all documents get, as NAME=VALUE; may be repeated")
	follow.Flags().Duration("every", 0, "pause between two syncs, at least 5s; 0 = only windlass bank sync begins one")
	follow.Flags().Bool("wait", false, "wait for the end of the first sync")
	list := &cobra.Command{Use: "sources BANK", Short: "List the sources of a bank", Args: cobra.ExactArgs(1), RunE: r.Run(listSources)}
	list.Flags().Int("limit", command.DefaultLimit, "list so many at most, 0 = all")
	sync := &cobra.Command{
		Use: "sync BANK SOURCE", Short: "Make a bank follow one of its sources now", Args: cobra.ExactArgs(2), RunE: r.Run(syncSource),
	}
	sync.Flags().Bool("no-wait", false, "return once the sync is queued")
	unfollow := &cobra.Command{
		Use: "unfollow BANK SOURCE…", Short: "Delete sources of a bank with their documents", Args: cobra.MinimumNArgs(2), RunE: r.Run(unfollow),
	}
	return []*cobra.Command{
		follow, list, sync, unfollow,
		{
			Use: "pause BANK [SOURCE]", Short: "Stop the ingestion of a bank or the syncs of a source", Args: cobra.RangeArgs(1, 2),
			RunE: r.Run(pause),
		},
		{Use: "resume BANK [SOURCE]", Short: "Let ingestion or syncs continue", Args: cobra.RangeArgs(1, 2), RunE: r.Run(resume)},
	}
}

func follow(c *command.Call) error {
	s := &knowledgev1.BankSource{Kind: c.Args[1]}
	address := ""
	if len(c.Args) == 3 {
		address = c.Args[2]
	}
	switch s.GetKind() {
	case "folder":
		s.Folder = address
	case "mcp":
		s.McpSource = address
	default:
		s.Url = address
	}
	if err := c.Given(s, "uri", "label=labels", "attribute=attributes"); err != nil {
		return err
	}
	every, err := c.Cmd.Flags().GetDuration("every")
	if err != nil {
		return err
	}
	if every < 0 || every%time.Second != 0 {
		return app.Usage("--every takes whole seconds")
	}
	s.IntervalSeconds = int32(min(every/time.Second, maxInterval))
	var made knowledgev1.BankSource
	raw, err := c.Do(&knowledgev1.CreateBankSourceRequest{BankId: c.Args[0], Source: s}, &made)
	if err != nil {
		return err
	}
	if c.Bool("wait") {
		return waitForSync(c, &made)
	}
	return c.Printf(made.GetId(), raw, "bank %s follows %s", output.Line(c.Args[0]), output.Line(made.GetId()))
}

// maxInterval is a year, in seconds: more is refused by the server.
const maxInterval = 366 * 24 * 3600

func listSources(c *command.Call) error {
	limit, err := c.Limit()
	if err != nil {
		return err
	}
	return sources().ListAt(c, &knowledgev1.ListBankSourcesRequest{BankId: c.Args[0]}, nil, limit)
}

func syncSource(c *command.Call) error {
	var s knowledgev1.BankSource
	raw, err := c.Do(&knowledgev1.SyncBankSourceRequest{BankId: c.Args[0], SourceId: c.Args[1]}, &s)
	if err != nil {
		return err
	}
	if c.Bool("no-wait") {
		return c.Printf(s.GetId(), raw, "sync of %s is %s", output.Line(s.GetId()), enum.Name(s.GetState()))
	}
	return waitForSync(c, &s)
}

// waitForSync shows the progress of a sync until it has ended.
func waitForSync(c *command.Call, s *knowledgev1.BankSource) error {
	var now knowledgev1.BankSource
	req := &knowledgev1.GetBankSourceRequest{BankId: c.Args[0], SourceId: s.GetId()}
	raw, err := c.Do(req, &now)
	bar := newBar(c)
	for ; err == nil && !ended(&now); raw, err = c.Do(req, &now) {
		if paused, err := bankPaused(c, now.GetState() == knowledgev1.SyncState_SYNC_STATE_QUEUED); paused || err != nil {
			return err
		}
		p := now.GetProgress()
		bar.draw(p.GetAdded()+p.GetUpdated()+p.GetUnchanged()+p.GetFailed(), p.GetTotal(), enum.Name(now.GetState()))
		if err := bar.pause(); err != nil {
			return err
		}
	}
	bar.clear()
	if err != nil {
		return err
	}
	p := now.GetProgress()
	err = c.Printf(now.GetId(), raw, "%s: %d added, %d updated, %d unchanged, %d removed, %d failed", output.Line(now.GetId()), p.GetAdded(),
		p.GetUpdated(), p.GetUnchanged(), p.GetRemoved(), p.GetFailed())
	for _, problem := range now.GetProblems() {
		c.Note("%s: %s", output.Line(problem.GetItem()), output.Line(problem.GetProblem()))
	}
	switch {
	case err != nil:
		return err
	case now.GetState() == knowledgev1.SyncState_SYNC_STATE_FAILED:
		return fmt.Errorf("the source could not be read: %s", output.Line(strings.TrimSuffix(now.GetProblem(), ".")))
	case now.GetPaused():
		c.Note("the source is paused: see windlass bank resume")
	}
	return nil
}

// ended reports whether nothing happens with a sync any more.
func ended(s *knowledgev1.BankSource) bool {
	switch s.GetState() {
	case knowledgev1.SyncState_SYNC_STATE_QUEUED:
		return s.GetPaused()
	case knowledgev1.SyncState_SYNC_STATE_SYNCING:
		return false
	default:
		return true
	}
}

func unfollow(c *command.Call) error {
	for _, id := range c.Args[1:] {
		req := &knowledgev1.DeleteBankSourceRequest{BankId: c.Args[0], SourceId: id}
		if err := c.Done(req, id, "source %s deleted, with its documents", output.Line(id)); err != nil {
			return err
		}
	}
	return nil
}

func pause(c *command.Call) error {
	if len(c.Args) == 2 {
		req := &knowledgev1.PauseBankSourceRequest{BankId: c.Args[0], SourceId: c.Args[1]}
		return c.Done(req, c.Args[1], "source %s paused", output.Line(c.Args[1]))
	}
	return c.Done(&knowledgev1.PauseBankRequest{BankId: c.Args[0]}, c.Args[0], "bank %s paused", output.Line(c.Args[0]))
}

func resume(c *command.Call) error {
	if len(c.Args) == 2 {
		req := &knowledgev1.ResumeBankSourceRequest{BankId: c.Args[0], SourceId: c.Args[1]}
		return c.Done(req, c.Args[1], "source %s resumed", output.Line(c.Args[1]))
	}
	return c.Done(&knowledgev1.ResumeBankRequest{BankId: c.Args[0]}, c.Args[0], "bank %s resumed", output.Line(c.Args[0]))
}
