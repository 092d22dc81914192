// Package bank has the commands for banks of documents.
package bank

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/gateway/codec"
	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/libs/enum"
	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
)

// Noun returns "windlass bank".
func Noun() command.Noun {
	return command.Noun{
		Name: "bank", Plural: "banks", Short: "Banks: documents that agents answer from", More: commands,
		List: &knowledgev1.ListBanksRequest{}, Get: &knowledgev1.GetBankRequest{}, Remove: &knowledgev1.DeleteBankRequest{},
		Header: []string{"ID", "DOCUMENTS", "CHUNKS", "MODE", "AGE", "DESCRIPTION"},
		Read: command.Typed((*knowledgev1.Bank).GetId, func(m *knowledgev1.Bank, now time.Time) []string {
			return []string{
				m.GetId(), fmt.Sprint(m.GetDocuments()), fmt.Sprint(m.GetChunks()), m.GetMode(), output.Ago(now, m.GetCreateTime().AsTime()),
				output.Cell(m.GetDescription()),
			}
		}),
	}
}

// documents is the noun of the documents of a bank, which are listed in their bank only.
func documents() command.Noun {
	return command.Noun{
		Name: "document", Plural: "documents", Header: []string{"ID", "NAME", "STATE", "TYPE", "BYTES", "CHUNKS", "AGE", "LABELS", "PROBLEM"},
		Read: command.Typed((*knowledgev1.Document).GetId, func(m *knowledgev1.Document, now time.Time) []string {
			return []string{
				m.GetId(), output.Cell(m.GetName()), enum.Name(m.GetState()), m.GetMediaType(), fmt.Sprint(m.GetSize()),
				fmt.Sprint(m.GetChunks()), output.Ago(now, m.GetUpdateTime().AsTime()), output.Cell(strings.Join(m.GetLabels(), ",")),
				output.Cell(m.GetProblem()),
			}
		}),
	}
}

func commands(r *command.Runner) []*cobra.Command {
	create := &cobra.Command{
		Use: "create NAME", Short: "Create a bank", Args: cobra.ExactArgs(1), RunE: r.Run(create),
		Example: "windlass bank create handbook --description 'How we work: leave, travel, expenses'",
	}
	create.Flags().String("display-name", "", "name for people")
	create.Flags().String("description", "", "what the documents are about; models read it when they choose where to search")
	add := &cobra.Command{
		Use: "add BANK FILE…", Short: "Add documents to a bank, or new versions of them; - reads the standard input",
		Args: cobra.MinimumNArgs(2), RunE: r.Run(add), Example: "windlass bank add handbook docs/*.md --label staff",
	}
	add.Flags().String("name", "", "name of the document, for one file; none = the path as it is given")
	add.Flags().String("type", "", "media type, for example text/markdown; none = by the name and the content")
	add.Flags().StringArray("label", nil, "label, which readers need; may be repeated")
	add.Flags().StringToString("attribute", nil, "attribute, by which searches filter, as NAME=VALUE; may be repeated")
	add.Flags().Bool("wait", false, "wait until the documents are ingested")
	list := &cobra.Command{Use: "documents BANK", Short: "List the documents of a bank", Args: cobra.ExactArgs(1), RunE: r.Run(list)}
	list.Flags().Int("limit", command.DefaultLimit, "list so many at most, 0 = all")
	search := &cobra.Command{
		Use: "search BANK QUERY…", Short: "Find passages in a bank", Args: cobra.MinimumNArgs(2), RunE: r.Run(search),
		Example: "windlass bank search handbook how many days of leave",
	}
	search.Flags().Int("limit", 10, "so many passages at most, up to 100")
	search.Flags().StringToString("attribute", nil, "only in documents with this attribute, as NAME=VALUE; may be repeated")
	remove := &cobra.Command{
		Use: "remove BANK DOCUMENT…", Short: "Delete documents of a bank, by their ids", Args: cobra.MinimumNArgs(2), RunE: r.Run(remove),
	}
	return append([]*cobra.Command{create, add, list, search, remove}, sourceCommands(r)...)
}

func create(c *command.Call) error {
	b := &knowledgev1.Bank{Id: c.Args[0]}
	if err := c.Given(b, "display-name", "description"); err != nil {
		return err
	}
	return c.Done(&knowledgev1.CreateBankRequest{Bank: b}, b.GetId(), "bank %s created", output.Line(b.GetId()))
}

func add(c *command.Call) error {
	if c.Flag("name") != "" && len(c.Args) > 2 {
		return app.Usage("--name is for one file")
	}
	var added []*knowledgev1.Document
	for _, path := range c.Args[1:] {
		d, err := addFile(c, path)
		if err != nil {
			return fmt.Errorf("%s: %w", output.Line(path), err)
		}
		added = append(added, d)
	}
	if c.Bool("wait") {
		return waitForDocuments(c, added)
	}
	return nil
}

// waitForDocuments shows the progress of documents until each is ingested. It fails if one could not be.
func waitForDocuments(c *command.Call, added []*knowledgev1.Document) error {
	bar := newBar(c)
	defer bar.clear()
	var problems []error
	for i, d := range added {
		now := d
		for waits(now.GetState()) {
			if paused, err := bankPaused(c, now.GetState() == knowledgev1.DocumentState_DOCUMENT_STATE_QUEUED); paused || err != nil {
				return errors.Join(append(problems, err)...)
			}
			bar.draw(int32(i), int32(len(added)), enum.Name(now.GetState()))
			if err := bar.pause(); err != nil {
				return err
			}
			now = &knowledgev1.Document{}
			if _, err := c.Do(&knowledgev1.GetDocumentRequest{BankId: c.Args[0], DocumentId: d.GetId()}, now); err != nil {
				return err
			}
		}
		if now.GetState() != knowledgev1.DocumentState_DOCUMENT_STATE_READY {
			name, problem := output.Line(d.GetName()), output.Line(now.GetProblem())
			problems = append(problems, fmt.Errorf("%s is %s: %s", name, enum.Name(now.GetState()), problem))
		}
	}
	return errors.Join(problems...)
}

// bankPaused reports whether the bank is paused, and notes it. It asks the server only while what the caller waits for is queued.
func bankPaused(c *command.Call, queued bool) (bool, error) {
	if !queued {
		return false, nil
	}
	var b knowledgev1.Bank
	if _, err := c.Do(&knowledgev1.GetBankRequest{BankId: c.Args[0]}, &b); err != nil || !b.GetPaused() {
		return false, err
	}
	c.Note("bank %[1]s is paused: see windlass bank resume %[1]s", output.Line(c.Args[0]))
	return true, nil
}

// waits reports whether a document of a state is still to be ingested.
func waits(state knowledgev1.DocumentState) bool {
	return state == knowledgev1.DocumentState_DOCUMENT_STATE_QUEUED || state == knowledgev1.DocumentState_DOCUMENT_STATE_INGESTING
}

// addFile stores one file.
func addFile(c *command.Call, path string) (*knowledgev1.Document, error) {
	form, err := formOf(c, path)
	if err != nil {
		return nil, err
	}
	form.Content = c.In
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }() // read only: nothing is lost
		form.Content = f
	}
	var d knowledgev1.Document
	if err := c.Client.Upload(c.Ctx, form, &d); err != nil {
		return nil, err
	}
	raw, err := codec.Marshal(&d)
	if err != nil {
		return nil, err
	}
	return &d, c.Printf(d.GetId(), raw, "%s is %s, %s", output.Line(d.GetName()), d.GetId(), enum.Name(d.GetState()))
}

// formOf returns the form of a file, without its content.
func formOf(c *command.Call, path string) (client.Form, error) {
	form := client.Form{Path: "/v1/banks" + client.Path(c.Args[0], "documents"), MediaType: c.Flag("type"), Name: filepath.Base(path)}
	name := c.Flag("name")
	switch {
	case path == "-" && name == "":
		return form, app.Usage("the standard input needs a --name")
	case name == "":
		name = filepath.ToSlash(filepath.Clean(path))
	}
	form.Fields = [][2]string{{"name", name}}
	labels, err := c.Cmd.Flags().GetStringArray("label")
	if err != nil {
		return form, err
	}
	for _, label := range labels {
		form.Fields = append(form.Fields, [2]string{"labels", label})
	}
	attributes, err := c.Cmd.Flags().GetStringToString("attribute")
	if err != nil {
		return form, err
	}
	for name, value := range attributes {
		form.Fields = append(form.Fields, [2]string{"attributes", name + "=" + value})
	}
	slices.SortFunc(form.Fields[1:], func(a, b [2]string) int { return strings.Compare(a[0]+a[1], b[0]+b[1]) })
	return form, nil
}

func list(c *command.Call) error {
	limit, err := c.Limit()
	if err != nil {
		return err
	}
	return documents().ListAt(c, &knowledgev1.ListDocumentsRequest{BankId: c.Args[0]}, nil, limit)
}

func search(c *command.Call) error {
	limit, err := c.Limit()
	if err != nil {
		return err
	}
	query, err := c.Input(c.Args[1:])
	if err != nil {
		return err
	}
	req := &knowledgev1.SearchBankRequest{BankId: c.Args[0], Query: query, PageSize: int32(min(limit, 100))}
	if err := c.Given(req, "attribute=attributes"); err != nil {
		return err
	}
	var resp knowledgev1.SearchBankResponse
	raw, err := c.Do(req, &resp)
	if err != nil {
		return err
	}
	var names []string
	var rows [][]string
	for _, found := range resp.GetResults() {
		names = append(names, found.GetDocumentId())
		rows = append(rows, []string{
			fmt.Sprintf("%.2f", found.GetScore()), output.Cell(found.GetDocumentName()), output.Cell(strings.Join(found.GetHeading(), " › ")),
			fmt.Sprintf("%d–%d", found.GetStart(), found.GetEnd()), output.Short(output.Line(found.GetText()), textWidth),
		})
	}
	if len(rows) == 0 && c.Format.Plain() {
		c.Note("nothing found (%s)", resp.GetMode())
	}
	return c.PrintTable(strings.Join(names, "\n"), raw, []string{"SCORE", "DOCUMENT", "HEADING", "BYTES", "TEXT"}, rows...)
}

// textWidth is how many characters of a passage are printed.
const textWidth = 100

func remove(c *command.Call) error {
	for _, id := range c.Args[1:] {
		req := &knowledgev1.DeleteDocumentRequest{BankId: c.Args[0], DocumentId: id}
		if err := c.Done(req, id, "document %s deleted", output.Line(id)); err != nil {
			return err
		}
	}
	return nil
}
