// Command bench compares the cost of a turn in Windlass with the same model and tool calls made directly.
//
// It starts a real mesh on a temporary directory, its own model server and the calculator example as MCP server, and runs turns of two
// model calls and one tool call: through Windlass over REST and SSE, and as the floor directly from this process. Both use the same servers
// and payloads, alternating within one run. See docs/reference/performance.md for results and how to read them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// errReach is returned with -check if a goal is missed by more than allowed.
var errReach = errors.New("a goal is missed by far")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run is main with its dependencies passed in. Progress goes to progress, results to out.
func run(ctx context.Context, args []string, out, progress io.Writer) error {
	o, err := parse(args, progress)
	if err != nil {
		return err
	}
	b := &bench{options: o, progress: progress}
	report, err := b.result(ctx)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(out, report.text()); err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	if o.markdown != "" {
		if err := os.WriteFile(o.markdown, []byte(report.markdown()), 0o644); err != nil {
			return fmt.Errorf("write the results: %w", err)
		}
	}
	if o.check {
		if err := report.check(); err != nil {
			return err
		}
	}
	return b.recorded(report, out)
}

// result is the result of a benchmark.
type result interface {
	text() string
	markdown() string
	// check returns errReach if a goal is missed by more than allowed.
	check() error
}

func (b *bench) result(ctx context.Context) (result, error) {
	o := b.options
	switch {
	case o.hostile:
		return b.hostile(ctx)
	case o.session > 0:
		return b.session(ctx)
	case o.long > 0:
		return b.long(ctx)
	case o.watchers > 0:
		return b.watchers(ctx)
	case o.compares():
		return b.compare(ctx)
	}
	return b.measure(ctx)
}
