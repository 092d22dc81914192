// Package support has the command that collects what somebody needs who helps with a mesh, without its secrets.
package support

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/health"
)

// maxLog is how much of the end of a log is collected, in bytes.
const maxLog = 4 << 20

// Command returns "windlass support-bundle".
func Command(r *command.Runner) *cobra.Command {
	cmd := &cobra.Command{
		Use: "support-bundle [--file FILE] [--config FILE] [--log FILE]…", Short: "Collect what helps to find a fault, without secrets",
		Long: "Write a compressed archive with the version, the checks of 'windlass doctor', readiness, metrics, the configuration, and the\n" +
			"ends of log files. No conversation is collected, except what a log has of it at level debug.\n\n" +
			"Secrets of the configuration and of the environment are replaced, and whatever has the form of a key, a token or a password.\n" +
			"Read the archive all the same before you give it to others.",
		Example: "  windlass support-bundle\n  windlass support-bundle --config windlass.yaml --log gateway.log --log worker.log",
		Args:    cobra.NoArgs, RunE: r.Run(collect),
	}
	cmd.Flags().String("file", "windlass-support.tar.gz", "archive to write; an existing one is not replaced")
	cmd.Flags().String("config", "", "configuration file of the mesh")
	cmd.Flags().StringArray("log", nil, "log file, of which the last 4 MiB are collected; can be repeated")
	cmd.Flags().String("data-dir", ".windlass", "data directory of 'windlass up'")
	return cmd
}

// bundle is an archive that is being written.
type bundle struct {
	ctx     context.Context // of the command
	client  *client.Client
	tar     *tar.Writer
	scrub   *scrubber
	files   []string
	missing []string
}

func collect(c *command.Call) (err error) {
	logs, err := c.Cmd.Flags().GetStringArray("log")
	if err != nil {
		return err
	}
	scrub, err := newScrubber(c.Environ, c.Flag("config"))
	if err != nil {
		return err
	}
	file := c.Flag("file")
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		return app.Usage("%s exists: remove it, or name another with --file", file)
	} else if err != nil {
		return fmt.Errorf("write the bundle: %w", err)
	}
	packed := gzip.NewWriter(f)
	b := &bundle{ctx: c.Ctx, client: c.Client, tar: tar.NewWriter(packed), scrub: scrub}
	err = b.write(c.Build(), c.Flag("data-dir"), logs)
	if err = errors.Join(err, b.tar.Close(), packed.Close(), f.Close()); err != nil {
		return errors.Join(fmt.Errorf("write the bundle: %w", err), os.Remove(file))
	}
	raw, err := json.Marshal(map[string]any{"file": file, "files": b.files, "missing": b.missing})
	if err != nil {
		return fmt.Errorf("print the files: %w", err)
	}
	return c.Print(file, raw, func(w io.Writer) error {
		if _, err := fmt.Fprintf(w, "%s has %d files. Read them before you give them to others.\n", file, len(b.files)); err != nil {
			return err
		}
		for _, m := range b.missing {
			if _, err := fmt.Fprintln(w, "missing: "+m); err != nil {
				return err
			}
		}
		return nil
	})
}

// write collects everything. What cannot be collected is listed, since a mesh with a fault may not answer.
func (b *bundle) write(v app.Build, dataDir string, logs []string) error {
	if err := b.json("version.json", v); err != nil {
		return err
	}
	if err := b.json("doctor.json", health.Check(b.ctx, b.client, dataDir)); err != nil {
		return err
	}
	for _, from := range [][2]string{{"/readyz", "readyz.json"}, {"/metrics", "metrics.txt"}} {
		status, body, err := b.client.Probe(b.ctx, from[0])
		if err == nil && status/100 != 2 && status != 503 {
			err = fmt.Errorf("%s answers %d", from[0], status)
		}
		if err != nil {
			b.lacks(from[1], err)
			continue
		}
		if err := b.text(from[1], string(body)); err != nil {
			return err
		}
	}
	text, err := b.scrub.configuration()
	if err != nil {
		b.lacks("config.yaml", err)
	} else if err := b.text("config.yaml", text); err != nil {
		return err
	}
	for i, path := range logs {
		text, err := tail(path)
		name := fmt.Sprintf("logs/%d-%s", i+1, filepath.Base(path))
		if err != nil {
			b.lacks(name, err)
		} else if err := b.text(name, text); err != nil {
			return err
		}
	}
	if len(b.missing) == 0 {
		return nil
	}
	return b.json("missing.json", b.missing)
}

func (b *bundle) lacks(name string, err error) {
	b.missing = append(b.missing, b.scrub.clean(name+": "+app.Explain(err)))
}

func (b *bundle) json(name string, v any) error {
	raw, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return b.text(name, string(raw)+"\n")
}

// text adds a file without secrets.
func (b *bundle) text(name, text string) error {
	text = b.scrub.clean(text)
	h := &tar.Header{Name: "windlass-support/" + name, Mode: 0o600, Size: int64(len(text)), ModTime: time.Now()}
	if err := b.tar.WriteHeader(h); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if _, err := io.WriteString(b.tar, text); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	b.files = append(b.files, name)
	return nil
}

// tail reads the end of a file, from the beginning of a line.
func tail(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is no file", path)
	}
	from := max(0, info.Size()-maxLog)
	raw, err := io.ReadAll(io.NewSectionReader(f, from, maxLog))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return fromLine(string(raw), from > 0), nil
}

// fromLine drops the first line of a text that was cut.
func fromLine(text string, truncated bool) string {
	if _, rest, ok := strings.Cut(text, "\n"); ok && truncated {
		return rest
	}
	return text
}
