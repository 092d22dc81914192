package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/internal/cli/state"
	"github.com/windlass-dev/windlass/libs/fault"
)

// Call is one run of a command that calls a server.
type Call struct {
	*app.App
	// Ctx ends with the run.
	Ctx context.Context
	// Cmd has the flags, Args are the arguments; shortened ids in both are whole.
	Cmd  *cobra.Command
	Args []string
	// Client calls the server.
	Client *client.Client
	// Format is how results are printed.
	Format output.Format
	// Now is when the run began.
	Now time.Time
	// State is what the command line remembers between two runs.
	State state.Store

	nouns []Noun
}

// Do is client.Client.Invoke.
func (c *Call) Do(req, resp proto.Message) (json.RawMessage, error) {
	return c.Client.Invoke(c.Ctx, req, resp)
}

// Noun returns the noun with a name, such as "turn". It panics if the command line has none.
func (c *Call) Noun(name string) Noun {
	for _, n := range c.nouns {
		if n.Name == name {
			return n
		}
	}
	panic("no noun is called " + name)
}

// Print writes one resource: its name, its JSON or YAML, or for people the output of text.
func (c *Call) Print(id string, raw json.RawMessage, text func(io.Writer) error) error {
	switch c.Format {
	case output.Name:
		for line := range strings.Lines(id) {
			if _, err := fmt.Fprintln(c.Out, output.Line(line)); err != nil {
				return err
			}
		}
		return nil
	case output.Table:
		return text(c.Out)
	default:
		return output.Value(c.Out, c.Format, raw)
	}
}

// Printf is Print with a line for people, which gets its line break here.
func (c *Call) Printf(id string, raw json.RawMessage, format string, args ...any) error {
	return c.Print(id, raw, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, format+"\n", args...)
		return err
	})
}

// Done makes a request, and prints a line for people about it, as Printf does.
func (c *Call) Done(req proto.Message, id, format string, args ...any) error {
	raw, err := c.Do(req, nil)
	if err != nil {
		return err
	}
	return c.Printf(id, raw, format, args...)
}

// PrintFields is Print with the fields of the resource for people.
func (c *Call) PrintFields(id string, raw json.RawMessage) error {
	return c.Print(id, raw, func(w io.Writer) error { return output.Fields(w, raw) })
}

// PrintTable is Print with a table for people. Names are one on each line.
func (c *Call) PrintTable(names string, raw json.RawMessage, header []string, rows ...[]string) error {
	return c.Print(names, raw, func(w io.Writer) error { return output.Rows(w, header, rows) })
}

// WriteBytes writes bytes to a file, which "-" replaces with the standard output, or else as text without control characters.
func (c *Call) WriteBytes(raw []byte, file string) (err error) {
	switch file {
	case "":
		_, err = io.WriteString(c.Out, output.Text(string(raw)))
	case "-":
		_, err = c.Out.Write(raw)
	default:
		if err = os.WriteFile(file, raw, 0o600); err == nil {
			c.Note("%d bytes are in %s", len(raw), file)
		}
	}
	return err
}

// Note prints a message for people beside the result.
func (c *Call) Note(format string, args ...any) {
	_, _ = fmt.Fprintf(c.Err, format+"\n", args...) // best effort
}

// StreamBroke notes that a stream of events is connected again after an error.
func (c *Call) StreamBroke(err error) {
	why, _, _ := strings.Cut(app.Explain(err), "\n")
	if c.Terminal {
		c.Note("") // the cursor may be in the middle of a line
	}
	c.Note("the stream broke (%s), connecting again…", why)
}

// Ago formats the time since t.
func (c *Call) Ago(t time.Time) string { return output.Ago(c.Now, t) }

// Paint returns how cells of tables are coloured, nil where they are not.
func (c *Call) Paint() func(column, cell string) string {
	if !c.Colour() {
		return nil
	}
	return output.Paint
}

// Unreachable reports whether an error means that the server did not answer.
func Unreachable(err error) bool {
	e := fault.As(err)
	return e != nil && e.Code == codes.Unavailable
}
