// Package summary is the tool server of the summariser example.
package summary

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/windlass-dev/windlass/examples/internal/toolserver"
)

// Limits of a request.
const (
	maxDocument = 256 << 10
	maxFocus    = 300
	usualWords  = 100
	minWords    = 10
	maxWords    = 500
)

// Summariser makes summaries.
type Summariser interface {
	// Summarise returns a summary of a document in about as many words as asked for.
	Summarise(ctx context.Context, document string, o Options) (Summary, error)
	// Check returns what makes the summaries, or why there can be none.
	Check(ctx context.Context) (string, error)
}

// Options say what a summary should be.
type Options struct {
	Words int    `json:"words,omitempty" jsonschema:"length of the summary in words, 100 by default, from 10 to 500"`
	Focus string `json:"focus,omitempty" jsonschema:"what the reader wants to know, at most 300 characters; empty for a general summary"`
}

// Summary is a summary, with what made it.
type Summary struct {
	Text   string `json:"text" jsonschema:"the summary"`
	Method string `json:"method" jsonschema:"model: written by a model; extract: sentences of the document, picked without a model"`
	MadeBy string `json:"made_by" jsonschema:"the model, or how sentences were picked"`
}

func (s Summary) String() string { return s.Text + "\n\n(" + s.MadeBy + ")" }

type textInput struct {
	Text string `json:"text" jsonschema:"the document, at most 256 KiB"`
	Options
}

type fileInput struct {
	Path string `json:"path" jsonschema:"path of a text file, relative to the folder of this server"`
	Options
}

// NewServer returns the server.
func NewServer(s Summariser, files *os.Root) *server.MCPServer {
	srv := toolserver.New("summariser", "Summarises documents. Tell the reader what made a summary: it is in the result.")
	toolserver.Add(srv, "summarise", "Summarise a text.", toolserver.ReadOnly("Summarise a text"),
		func(ctx context.Context, _ mcp.CallToolRequest, in textInput) (Summary, error) {
			return summarise(ctx, s, in.Text, in.Options)
		})
	toolserver.Add(srv, "summarise_file", "Summarise a text file in the folder of this server.", toolserver.ReadOnly("Summarise a file"),
		func(ctx context.Context, _ mcp.CallToolRequest, in fileInput) (Summary, error) {
			text, err := read(files, in.Path)
			if err != nil {
				return Summary{}, err
			}
			return summarise(ctx, s, text, in.Options)
		})
	toolserver.AddHealthCheck(srv, "summariser", s.Check)
	return srv
}

func summarise(ctx context.Context, s Summariser, document string, o Options) (Summary, error) {
	if o.Words == 0 {
		o.Words = usualWords
	}
	switch {
	case o.Words < minWords || o.Words > maxWords:
		return Summary{}, fmt.Errorf("words must be from %d to %d", minWords, maxWords)
	case len(o.Focus) > maxFocus:
		return Summary{}, fmt.Errorf("focus is too long: at most %d characters", maxFocus)
	case len(document) > maxDocument:
		return Summary{}, fmt.Errorf("the document is too long: at most %d bytes; summarise its parts", maxDocument)
	case !utf8.ValidString(document) || strings.ContainsRune(document, 0):
		return Summary{}, errors.New("the document is no text in UTF-8")
	case strings.TrimSpace(document) == "":
		return Summary{}, errors.New("the document is empty")
	}
	return s.Summarise(ctx, document, o)
}

// read returns a regular file of the folder. Links that lead out of it are refused by os.Root.
func read(files *os.Root, path string) (string, error) {
	f, err := files.Open(path)
	if err != nil {
		return "", fmt.Errorf("%s cannot be read: %w", path, reason(err))
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is no regular file", path)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxDocument+1)) // one more, so that a longer one is refused, not cut
	if err != nil {
		return "", fmt.Errorf("%s cannot be read: %w", path, reason(err))
	}
	return string(text), nil
}

// reason is an error without the folder's path, which is not for the caller.
func reason(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
