// Package process runs a line-oriented program as a child process: start, watch, read stderr by line, and reliably end the whole process
// group.
package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// Config describes the program to run.
type Config struct {
	// Path is the program.
	Path string
	// Args are its arguments, without the program name.
	Args []string
	// Env is its whole environment.
	Env []string
	// Dir is its working directory; empty means ours.
	Dir string
	// Line receives each line of stderr, truncated to 1 KiB; at most a hundred per second, the rest is counted. It must not block.
	Line func(string)
	// MaxLine is the maximum length of an output line in bytes.
	MaxLine int
	// TooLong returns the replacement for a longer line, given both its ends; nil ends the reader with ErrLineTooLong.
	TooLong func(head, tail []byte, limit int) []byte
	// WriteTimeout bounds one write to a process that does not read. The process is then killed, since a partial message breaks the stream.
	WriteTimeout time.Duration
	// Grace is how long the process may take to exit after SIGTERM.
	Grace time.Duration
	// Limits bound what the process may use.
	Limits Limits
}

// Process is a running child. Its methods are safe for concurrent use.
type Process struct {
	cfg    Config
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	errs   *errLines
	done   chan struct{}
	exit   error // why it ended; set before done is closed

	closeOnce sync.Once
	reader    *lineReader

	signals sync.Mutex
	over    bool        // the child is reaped: its pid may be reused
	killer  *time.Timer // set when the output ended
}

// Start runs the program. The caller must call Close, even if the process ended by itself.
func Start(cfg Config) (*Process, error) {
	p := &Process{cfg: cfg, done: make(chan struct{})}
	// Close ends it: a context would not end its whole group.
	p.cmd = exec.CommandContext(context.Background(), cfg.Path, cfg.Args...) //nolint:gosec // the operator lists what may be started
	p.cmd.Env = cfg.Env
	if p.cmd.Env == nil {
		p.cmd.Env = []string{} // nil would inherit our environment
	}
	p.cmd.Dir = cfg.Dir
	p.cmd.SysProcAttr = attributes()
	child, err := p.pipes()
	if err != nil {
		return nil, err
	}
	started := make(chan error, 1)
	go p.run(started)
	err = <-started
	closeAll(child)
	if err != nil {
		closeAll([]*os.File{p.stdin, p.stdout, p.errs.file})
		return nil, err
	}
	go p.errs.read()
	return p, nil
}

// pipes creates the child's three streams. It returns the child's ends.
func (p *Process) pipes() ([]*os.File, error) {
	var files []*os.File
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(files)
			return nil, fmt.Errorf("make a pipe: %w", err)
		}
		files = append(files, r, w)
	}
	p.cmd.Stdin, p.stdin = files[0], files[1]
	p.stdout, p.cmd.Stdout = files[2], files[3]
	p.errs = newErrLines(files[4], p.cfg.Line)
	p.cmd.Stderr = files[5]
	p.reader = newLineReader(p.stdout, p.cfg, p.outputEnded)
	return []*os.File{files[0], files[3], files[5]}, nil
}

// run starts the child and waits for it on one thread: the kernel's parent-death signal refers to the thread that started the child, not
// the process.
func (p *Process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := p.cmd.Start(); err != nil {
		close(p.done)
		p.errs.none()
		started <- err
		return
	}
	if err := limit(p.cmd.Process.Pid, p.cfg.Limits); err != nil && !errors.Is(err, syscall.ESRCH) { // it may be over already
		killGroup(p.cmd.Process)
		_ = p.cmd.Wait() // killed
		close(p.done)
		p.errs.none()
		started <- err
		return
	}
	started <- nil
	err := p.cmd.Wait()
	p.signal(killGroup) // its surviving children hold our pipes open
	p.signals.Lock()
	p.over = true
	if p.killer != nil {
		p.killer.Stop()
	}
	p.signals.Unlock()
	deadline := time.Now().Add(time.Second)
	_ = p.stdout.SetReadDeadline(deadline) // a process outside the group may still hold them
	_ = p.errs.file.SetReadDeadline(deadline)
	<-p.errs.ended
	p.exit = exitError(err)
	close(p.done)
}

// Pid returns the child's process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended and its stderr has been read.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit returns why the process ended. Call it only after Done.
func (p *Process) Exit() error { return p.exit }

// Code returns the exit status, -1 after a signal. Call it only after Done.
func (p *Process) Code() int { return p.cmd.ProcessState.ExitCode() }

// Tail returns the last lines of stderr.
func (p *Process) Tail() []string { return p.errs.tail() }

// Reader returns the process's stdout, line by line within limits. It ends with the process.
func (p *Process) Reader() io.Reader { return p.reader }

// Writer returns the process's stdin. An error of Write is a *NotWrittenError: the process cannot have read the whole line.
func (p *Process) Writer() io.WriteCloser { return &writer{p: p} }

// Close ends the process: it closes stdin, sends SIGTERM to the group, and SIGKILL after the grace time. It returns when the process is
// gone.
func (p *Process) Close() {
	p.closeOnce.Do(func() {
		_ = p.stdin.Close() // closing twice is harmless
		select {
		case <-p.done:
		default:
			p.signal(terminateGroup)
			timer := time.NewTimer(p.cfg.Grace)
			defer timer.Stop()
			select {
			case <-p.done:
			case <-timer.C:
				p.signal(killGroup)
				<-p.done
			}
		}
		closeAll([]*os.File{p.stdout, p.errs.file})
	})
	<-p.done
}

// Finish closes stdin and gives the process the grace time to exit before Close ends it. It returns when the process is gone.
func (p *Process) Finish() {
	_ = p.stdin.Close() // closing twice is harmless
	timer := time.NewTimer(p.cfg.Grace)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
	}
	p.Close()
}

// outputEnded kills a process that closed its output, since nothing it does can be seen any more. It gets the grace time to exit first.
func (p *Process) outputEnded() {
	p.signals.Lock()
	defer p.signals.Unlock()
	if !p.over {
		p.killer = time.AfterFunc(p.cfg.Grace, func() { p.signal(killGroup) })
	}
}

// signal signals the process group unless it is gone.
func (p *Process) signal(send func(*os.Process)) {
	p.signals.Lock()
	defer p.signals.Unlock()
	if !p.over {
		send(p.cmd.Process)
	}
}

// NotWrittenError means that a message was not written to the process as a whole.
type NotWrittenError struct{ Err error }

// Error returns the cause.
func (e *NotWrittenError) Error() string {
	return "the process does not read its input: " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *NotWrittenError) Unwrap() error { return e.Err }

type writer struct{ p *Process }

// Write writes one message. Calls must not overlap: the transport holds a lock.
func (w *writer) Write(b []byte) (int, error) {
	_ = w.p.stdin.SetWriteDeadline(time.Now().Add(w.p.cfg.WriteTimeout)) // pipes support deadlines on our platforms
	n, err := w.p.stdin.Write(b)
	if err != nil {
		w.p.signal(killGroup) // a partial message cannot be taken back
		return n, &NotWrittenError{Err: err}
	}
	return n, nil
}

// Close closes stdin; a well-behaved server then exits.
func (w *writer) Close() error {
	if err := w.p.stdin.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

func exitError(err error) error {
	if err == nil {
		return errors.New("the process ended by itself (exit status 0)")
	}
	return fmt.Errorf("the process ended: %w", err)
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // ours, unused from here on
	}
}
