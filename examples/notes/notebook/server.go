package notebook

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/windlass-dev/windlass/examples/internal/toolserver"
)

const (
	defaultLimit = 20
	maxLimit     = 100
	excerptRunes = 160
)

type createInput struct {
	Title string   `json:"title" jsonschema:"short title, at most 200 characters"`
	Text  string   `json:"text" jsonschema:"what to remember, in full"`
	Tags  []string `json:"tags,omitempty" jsonschema:"labels to find the note by"`
}

type listInput struct {
	Tag   string `json:"tag,omitempty" jsonschema:"only notes with this tag"`
	Limit int    `json:"limit,omitempty" jsonschema:"at most this many, 20 by default, 100 at most"`
}

type searchInput struct {
	Query string `json:"query" jsonschema:"words that must all occur in title, text or tags; case does not matter"`
	Limit int    `json:"limit,omitempty" jsonschema:"at most this many, 20 by default, 100 at most"`
}

type idInput struct {
	ID string `json:"id" jsonschema:"id of the note, as create, list and search return it"`
}

// summary is a note without its full text.
type summary struct {
	ID        string    `json:"id" jsonschema:"id of the note, for read and delete"`
	Title     string    `json:"title" jsonschema:"title of the note"`
	Excerpt   string    `json:"excerpt" jsonschema:"beginning of the text"`
	Tags      []string  `json:"tags" jsonschema:"labels of the note"`
	CreatedAt time.Time `json:"created_at" jsonschema:"time of creation, UTC"`
}

type listOutput struct {
	Notes []summary `json:"notes" jsonschema:"the notes, the newest first"`
	Total int       `json:"total" jsonschema:"number of notes that match, also those beyond the limit"`
}

func (o listOutput) String() string {
	lines := []string{fmt.Sprintf("%d of %d notes", len(o.Notes), o.Total)}
	for _, n := range o.Notes {
		lines = append(lines, fmt.Sprintf("%s  %s  %s", n.ID, n.CreatedAt.Format(time.DateTime), n.Title))
	}
	return strings.Join(lines, "\n")
}

type deleteOutput struct {
	ID      string `json:"id" jsonschema:"the id that was asked for"`
	Deleted bool   `json:"deleted" jsonschema:"false when there was no such note (any more)"`
}

func (o deleteOutput) String() string {
	if o.Deleted {
		return "deleted " + o.ID
	}
	return "there is no note " + o.ID
}

// String formats the note for a reader without JSON.
func (n Note) String() string {
	text := fmt.Sprintf("%s (%s, %s)", n.Title, n.ID, n.CreatedAt.Format(time.DateTime))
	if len(n.Tags) > 0 {
		text += "\nTags: " + strings.Join(n.Tags, ", ")
	}
	return text + "\n\n" + n.Text
}

// NewServer returns a book's tool server.
func NewServer(book *Book) *server.MCPServer {
	s := toolserver.New("notes", "Notes that are kept on disk and outlive the conversation.")
	toolserver.Add(s, "create", "Store a new note that outlives this conversation. Each call makes another note. Returns it with its id.",
		toolserver.Once("Create a note"),
		func(_ context.Context, _ mcp.CallToolRequest, in createInput) (Note, error) {
			return book.Create(in.Title, in.Text, in.Tags)
		})
	toolserver.Add(s, "list", "List the stored notes, the newest first, with the beginning of their text. Use search when you know a word.",
		toolserver.ReadOnly("List notes"),
		func(_ context.Context, _ mcp.CallToolRequest, in listInput) (listOutput, error) {
			notes, err := book.All()
			return shorten(withTag(notes, in.Tag), in.Limit), err
		})
	toolserver.Add(s, "search", "Find stored notes by words in their title, text or tags, the newest first.",
		toolserver.ReadOnly("Search notes"),
		func(_ context.Context, _ mcp.CallToolRequest, in searchInput) (listOutput, error) {
			notes, err := book.Search(in.Query)
			return shorten(notes, in.Limit), err
		})
	toolserver.Add(s, "read", "Read one stored note in full.",
		toolserver.ReadOnly("Read a note"),
		func(_ context.Context, _ mcp.CallToolRequest, in idInput) (Note, error) {
			return book.Read(in.ID)
		})
	toolserver.Add(s, "delete", "Delete one stored note for good. Deleting a note that is gone already is not an error.",
		toolserver.Idempotent("Delete a note", true),
		func(_ context.Context, _ mcp.CallToolRequest, in idInput) (deleteOutput, error) {
			deleted, err := book.Delete(in.ID)
			return deleteOutput{ID: in.ID, Deleted: deleted}, err
		})
	toolserver.AddHealthCheck(s, "notes", func(context.Context) (string, error) {
		return "the directory can be written", book.Check()
	})
	return s
}

func withTag(notes []Note, tag string) []Note {
	tag = strings.ToLower(strings.TrimSpace(tag))
	if tag == "" {
		return notes
	}
	var out []Note
	for _, n := range notes {
		for _, t := range n.Tags {
			if t == tag {
				out = append(out, n)
			}
		}
	}
	return out
}

// shorten returns summaries of the first notes.
func shorten(notes []Note, limit int) listOutput {
	if limit <= 0 {
		limit = defaultLimit
	}
	out := listOutput{Notes: []summary{}, Total: len(notes)}
	for _, n := range notes[:min(limit, maxLimit, len(notes))] {
		excerpt := []rune(n.Text)
		if len(excerpt) > excerptRunes {
			excerpt = append(excerpt[:excerptRunes], '…')
		}
		out.Notes = append(out.Notes, summary{n.ID, n.Title, string(excerpt), n.Tags, n.CreatedAt})
	}
	return out
}
