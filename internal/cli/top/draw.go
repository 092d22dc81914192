package top

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/output"
)

// Table is one of the tables of a frame.
type Table struct {
	// Title stands above it, with the number of rows.
	Title  string
	Header []string
	Rows   [][]string
	// More means that there are rows beyond these.
	More bool
}

// Frame is what is shown at one time.
type Frame struct {
	// Head are the lines above the tables.
	Head   []string
	Tables []Table
}

// Reader reads what there is now.
type Reader func(ctx context.Context) (Frame, error)

// Control sequences of terminals (ECMA-48 and xterm's alternate screen).
const (
	enter      = "\x1b[?1049h\x1b[?25l"
	leave      = "\x1b[?25h\x1b[?1049l"
	home       = "\x1b[H"
	eraseRight = "\x1b[K"
	eraseBelow = "\x1b[J"
)

// Once prints one frame.
func Once(w io.Writer, f Frame, paint func(column, cell string) string) error {
	text, err := f.text(paint)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, text)
	return err
}

// Run draws frames until ctx ends. A frame that cannot be read is told above the last one; only the first must be readable.
func Run(ctx context.Context, a *app.App, every time.Duration, read Reader, paint func(column, cell string) string) error {
	frame, err := read(ctx)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(a.Out, enter); err != nil {
		return err
	}
	defer func() { _, _ = io.WriteString(a.Out, leave) }() // best effort
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for problem := ""; ; {
		text, err := frame.text(paint)
		if err != nil {
			return err
		}
		width, height := size(a.Out)
		if _, err := io.WriteString(a.Out, fit(problem+text, width, height)); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		now, err := read(ctx)
		if err != nil {
			problem = app.Explain(err) + "\n"
			continue
		}
		frame, problem = now, ""
	}
}

// text formats a frame.
func (f Frame) text(paint func(column, cell string) string) (string, error) {
	var b strings.Builder
	for _, line := range f.Head {
		b.WriteString(output.Line(line) + "\n")
	}
	for _, t := range f.Tables {
		count := fmt.Sprint(len(t.Rows))
		if t.More {
			count += " and more"
		}
		fmt.Fprintf(&b, "\n%s: %s\n", t.Title, count)
		if len(t.Rows) == 0 {
			continue
		}
		if err := output.Rows(&b, append([]string{}, t.Header...), t.Rows, paint); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

// fit returns what draws a text over the last one, cut to a screen.
func fit(text string, width, height int) string {
	var b strings.Builder
	b.WriteString(home)
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) > height {
		lines = lines[:height]
	}
	for i, line := range lines {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(cut(line, width) + eraseRight)
	}
	b.WriteString(eraseBelow)
	return b.String()
}

// cut shortens a line to a width. Colours take no room, and end where it was cut.
func cut(line string, width int) string {
	var b strings.Builder
	n, escape := 0, false
	for _, r := range line {
		switch {
		case r == '\x1b':
			escape = true
		case escape:
			escape = r != 'm'
		case n == width:
			return b.String() + "\x1b[0m"
		default:
			n++
		}
		b.WriteRune(r)
	}
	return b.String()
}

// size returns the size of a terminal, a usual one if it is unknown.
func size(w io.Writer) (width, height int) {
	if f, ok := w.(*os.File); ok {
		if width, height, err := term.GetSize(int(f.Fd())); err == nil && width > 0 && height > 0 {
			return width, height
		}
	}
	return 80, 24
}
