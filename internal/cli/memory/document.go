package memory

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
)

// documentCommands are the commands about facts as a document.
func documentCommands(r *command.Runner) []*cobra.Command {
	document := &cobra.Command{
		Use: "document", Short: "Write the active facts as Markdown that can be edited", Args: cobra.NoArgs, RunE: r.Run(document),
	}
	document.Flags().String("version", "", "the document as it was at a time that windlass memory versions lists")
	edit := &cobra.Command{
		Use: "edit [FILE]", Short: "Edit the facts as a document, in $EDITOR or from a file (- = standard input)", Args: cobra.MaximumNArgs(1),
		Long: "Edit the facts as a document. A new line is added, a changed one corrected, and a fact whose line is missing is forgotten.\n" +
			"A file must come from windlass memory document: it is refused if the facts have changed since then.",
		Example: "  windlass memory edit\n  windlass memory document > facts.md\n  windlass memory edit facts.md --dry-run",
		RunE:    r.Run(edit),
	}
	edit.Flags().Bool("dry-run", false, "only show what would change")
	versions := &cobra.Command{
		Use: "versions [FROM [TO]]", Short: "List the versions of the document, or compare two; without TO with the present one",
		Args: cobra.MaximumNArgs(2), RunE: r.Run(versions),
	}
	all := []*cobra.Command{document, edit, versions}
	for _, cmd := range all {
		cmd.Flags().String("agent", "", "only facts that this agent may use; what is added is for it alone")
	}
	return all
}

// at reads the time of a version; nil for none.
func at(text string) (*timestamppb.Timestamp, error) {
	if text == "" {
		return nil, nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return nil, app.Usage("%q is no time of a version, as in 2026-11-28T12:00:00.000001Z", text)
	}
	return timestamppb.New(t), nil
}

func document(c *command.Call) error {
	version, err := at(c.Flag("version"))
	if err != nil {
		return err
	}
	var d knowledgev1.MemoryDocument
	raw, err := c.Do(&knowledgev1.GetMemoryDocumentRequest{AgentId: c.Flag("agent"), Version: version}, &d)
	if err != nil {
		return err
	}
	return c.Printf("", raw, "%s", strings.TrimRight(output.Text(d.GetMarkdown()), "\n"))
}

func edit(c *command.Call) error {
	req := &knowledgev1.UpdateMemoryDocumentRequest{AgentId: c.Flag("agent"), DryRun: c.Bool("dry-run")}
	text, err := edited(c)
	if err != nil {
		return err
	}
	req.Markdown = text
	var done knowledgev1.UpdateMemoryDocumentResponse
	raw, err := c.Do(req, &done)
	if err != nil {
		return err
	}
	return printChanges(c, done.GetChanges(), raw)
}

// edited returns the edited document: that of the file, or what an editor makes of the present one.
func edited(c *command.Call) (string, error) {
	if len(c.Args) == 1 {
		if c.Args[0] != "-" {
			raw, err := os.ReadFile(c.Args[0])
			return string(raw), err
		}
		raw, err := c.ReadIn()
		return string(raw), err
	}
	editor := strings.Fields(cmp.Or(c.Getenv("VISUAL"), c.Getenv("EDITOR")))
	if len(editor) == 0 {
		return "", app.Usage("set EDITOR, or name a file")
	}
	var d knowledgev1.MemoryDocument
	if _, err := c.Do(&knowledgev1.GetMemoryDocumentRequest{AgentId: c.Flag("agent")}, &d); err != nil {
		return "", err
	}
	return inEditor(c, editor, d.GetMarkdown())
}

// inEditor returns what an editor makes of a text, in a file that only its user may read.
func inEditor(c *command.Call, editor []string, text string) (_ string, err error) {
	f, err := os.CreateTemp("", "memory-*.md")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	run := exec.CommandContext(c.Ctx, editor[0], append(editor[1:], f.Name())...) //nolint:gosec // the editor is the user's
	run.Stdin, run.Stdout, run.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := run.Run(); err != nil {
		return "", fmt.Errorf("the editor %s: %w", editor[0], err)
	}
	raw, err := os.ReadFile(f.Name())
	return string(raw), err
}

func versions(c *command.Call) error {
	if len(c.Args) > 0 {
		return compare(c)
	}
	req := &knowledgev1.ListMemoryVersionsRequest{AgentId: c.Flag("agent")}
	return command.PrintListing(c, req, 0, []string{"VERSION", "FACTS", "AGE"}, func(v *knowledgev1.MemoryVersion) (string, []string) {
		t := v.GetTime().AsTime()
		name := t.Format(time.RFC3339Nano)
		return name, []string{name, fmt.Sprint(v.GetFacts()), c.Ago(t)}
	})
}

func compare(c *command.Call) error {
	from, err := at(c.Args[0])
	if err != nil {
		return err
	}
	req := &knowledgev1.CompareMemoryVersionsRequest{AgentId: c.Flag("agent"), From: from}
	if len(c.Args) == 2 {
		if req.To, err = at(c.Args[1]); err != nil {
			return err
		}
	}
	var done knowledgev1.CompareMemoryVersionsResponse
	raw, err := c.Do(req, &done)
	if err != nil {
		return err
	}
	return printChanges(c, done.GetChanges(), raw)
}

// printChanges prints differences as a diff of lines.
func printChanges(c *command.Call, changes []*knowledgev1.MemoryChange, raw []byte) error {
	lines := []string{}
	for _, change := range changes {
		if change.GetBefore() != "" {
			lines = append(lines, "- "+output.Line(change.GetBefore()))
		}
		if change.GetAfter() != "" {
			lines = append(lines, "+ "+output.Line(change.GetAfter()))
		}
	}
	if len(lines) == 0 {
		lines = []string{"no differences"}
	}
	return c.Printf("", raw, "%s", strings.Join(lines, "\n"))
}
