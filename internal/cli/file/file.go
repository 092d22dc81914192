// Package file has the commands for files that users give to agents.
package file

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/gateway/codec"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// Noun returns "windlass file".
func Noun() command.Noun {
	return command.Noun{
		Name: "file", Plural: "files", Short: "Files: images, audio and documents for agents", More: commands,
		List: &sessionsv1.ListFilesRequest{}, Get: &sessionsv1.GetFileRequest{}, Remove: &sessionsv1.DeleteFileRequest{},
		Header: []string{"ID", "NAME", "TYPE", "BYTES", "PIXELS", "AGE"},
		Read: command.Typed((*sessionsv1.File).GetId, func(m *sessionsv1.File, now time.Time) []string {
			pixels := ""
			if m.GetWidth() > 0 {
				pixels = fmt.Sprintf("%d×%d", m.GetWidth(), m.GetHeight())
			}
			return []string{
				m.GetId(), output.Cell(m.GetName()), m.GetMediaType(), fmt.Sprint(m.GetSize()), pixels, output.Ago(now, m.GetCreateTime().AsTime()),
			}
		}),
	}
}

func commands(r *command.Runner) []*cobra.Command {
	upload := &cobra.Command{
		Use: "upload PATH", Short: "Upload a file; - reads the standard input", Args: cobra.ExactArgs(1), RunE: r.Run(upload),
		Example: "windlass file upload picture.png",
	}
	upload.Flags().String("type", "", "media type, for example text/markdown; none = as found in the content")
	upload.Flags().String("name", "", "file name to show; none = that of the path")
	read := &cobra.Command{
		Use: "read ID [--file FILE]", Short: "Write the bytes of a file", Args: cobra.ExactArgs(1), RunE: r.Run(read),
		Long: "Write the bytes of a file: to another file unchanged, else as text with terminal control characters replaced.",
	}
	read.Flags().String("file", "", "where to; - writes the bytes as they are to the standard output")
	return []*cobra.Command{upload, read}
}

func upload(c *command.Call) error {
	path, in := c.Args[0], c.In
	name := c.Flag("name")
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }() // read only: nothing is lost
		in = f
		if name == "" {
			name = filepath.Base(path)
		}
	}
	var created sessionsv1.File
	if err := c.Client.Upload(c.Ctx, client.Form{Name: name, MediaType: c.Flag("type"), Content: in}, &created); err != nil {
		return err
	}
	raw, err := codec.Marshal(&created)
	if err != nil {
		return err
	}
	return c.Printf(created.GetId(), raw, "%s is %s, %s, %d bytes", created.GetName(), created.GetId(), created.GetMediaType(),
		created.GetSize())
}

func read(c *command.Call) error {
	raw, err := c.Client.FileContent(c.Ctx, c.Args[0])
	if err != nil {
		return err
	}
	return c.WriteBytes(raw, c.Flag("file"))
}
