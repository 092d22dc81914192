package wire

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"

	"github.com/windlass-dev/windlass/libs/process"
	"github.com/windlass-dev/windlass/services/mcpbridge/server"
)

const (
	stdioGrace        = 2 * time.Second
	stdioWriteTimeout = 10 * time.Second
)

// stdio is the transport to a child process. The library does the framing; the process is ours.
type stdio struct {
	*transport.Stdio
	proc *process.Process
	lost func(error)
}

// newStdio starts the process. lost is called when it ends.
func (d Dialer) newStdio(sp *server.Spec, lost func(error)) (*stdio, error) {
	path, err := d.Programs.Find(sp.Command, sp.Dir, sp.Env)
	if err != nil {
		return nil, err
	}
	proc, err := process.Start(process.Config{
		Path: path, Args: sp.Command[1:], Env: process.Environment(sp.Env), Dir: sp.Dir,
		Line: func(line string) {
			d.Log.DebugContext(context.Background(), "tool server wrote to its error output", "server_id", sp.ID, "line", sp.Redact(line))
		},
		MaxLine: maxBytes, TooLong: process.TooLargeAnswer, WriteTimeout: stdioWriteTimeout, Grace: stdioGrace, Limits: d.Limits,
	})
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", sp.Command[0], err)
	}
	w := &stdio{Stdio: transport.NewIO(proc.Reader(), proc.Writer(), nil), proc: proc, lost: lost}
	go func() {
		<-proc.Done()
		lost(w.exit())
	}()
	return w, nil
}

// SendRequest also returns if the process does not read its input.
func (w *stdio) SendRequest(ctx context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	type answer struct {
		res *transport.JSONRPCResponse
		err error
	}
	ch := make(chan answer, 1)
	go func() {
		res, err := w.Stdio.SendRequest(ctx, req)
		ch <- answer{res, err}
	}()
	select {
	case a := <-ch:
		if !errors.Is(a.err, transport.ErrTransportClosed) {
			return a.res, a.err
		}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	// Its output ended; the reason is known a moment later.
	select {
	case <-w.proc.Done():
		w.lost(w.exit())
		return nil, w.exit()
	case <-ctx.Done():
		return nil, transport.ErrTransportClosed
	}
}

// Close ends the process.
func (w *stdio) Close() error {
	err := w.Stdio.Close()
	w.proc.Close()
	return err
}

// exit returns why the process ended, with its last lines of output.
func (w *stdio) exit() error {
	tail := w.proc.Tail()
	if len(tail) == 0 {
		return w.proc.Exit()
	}
	return fmt.Errorf("%w; it last wrote: %s", w.proc.Exit(), strings.Join(tail, " | "))
}

// explain adds the process's output to an error of the handshake.
func (w *stdio) explain(err error) error {
	select {
	case <-w.proc.Done():
		return w.exit()
	default:
	}
	if tail := w.proc.Tail(); len(tail) > 0 {
		return fmt.Errorf("%w; the process last wrote: %s", err, strings.Join(tail, " | "))
	}
	return err
}

// notWritten reports whether a request was not written to the process.
func notWritten(err error) bool {
	_, ok := errors.AsType[*process.NotWrittenError](err)
	return ok
}
