// Package process runs a program that speaks lines as a child process: start, watch, line-wise error output, and a sure end for the whole process group.
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
	"time"
)

// Config says what to run.
type Config struct {
	// Path is the program.
	Path string
	// Args are its arguments, without its own name.
	Args []string
	// Env is its whole environment.
	Env []string
	// Dir is its working directory; empty means ours.
	Dir string
	// Line gets each line of its error output, cut to 1 KiB; at most a hundred per second, the rest is counted. It must not block.
	Line func(string)
	// MaxLine bounds one line of its output, in bytes.
	MaxLine int
	// TooLong gives what stands for a longer line, of which it sees both ends; nil ends the reader with ErrLineTooLong.
	TooLong func(head, tail []byte, limit int) []byte
	// WriteTimeout bounds one write to a process that does not read. The process is killed after it, as half a message breaks the stream.
	WriteTimeout time.Duration
	// Grace is how long it may take to end by itself after SIGTERM.
	Grace time.Duration
}

// Process is a running child. Its methods are safe for concurrent use.
type Process struct {
	cfg    Config
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	errs   *errLines
	done   chan struct{}
	exit   error // why it ended, set before done is closed

	closeOnce sync.Once
	reader    *lineReader

	signals sync.Mutex
	over    bool // the child is reaped: its number may be another's by now
}

// Start runs the program. The caller must Close it, also after it ended by itself.
func Start(cfg Config) (*Process, error) {
	p := &Process{cfg: cfg, done: make(chan struct{})}
	p.cmd = exec.CommandContext(context.Background(), cfg.Path, cfg.Args...) // Close ends it: no context would end its whole group
	p.cmd.Env = cfg.Env
	if p.cmd.Env == nil {
		p.cmd.Env = []string{} // nil would pass on all of ours
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

// pipes connects the child's three streams. It returns the child's ends.
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

// run starts the child and waits for its end, on one thread: the kernel's parent-death signal means the thread that started
// the child, not the process.
func (p *Process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := p.cmd.Start(); err != nil {
		close(p.done)
		p.errs.none()
		started <- err
		return
	}
	started <- nil
	err := p.cmd.Wait()
	p.signal(killGroup) // what it left behind holds our pipes open
	p.signals.Lock()
	p.over = true
	p.signals.Unlock()
	deadline := time.Now().Add(time.Second)
	_ = p.stdout.SetReadDeadline(deadline) // a process outside the group may hold them still
	_ = p.errs.file.SetReadDeadline(deadline)
	<-p.errs.ended
	p.exit = exitError(err)
	close(p.done)
}

// Pid is the child's process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended, and its error output is read.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit says why the process ended. It may be called after Done only.
func (p *Process) Exit() error { return p.exit }

// Code is the exit status, -1 after a signal. It may be called after Done only.
func (p *Process) Code() int { return p.cmd.ProcessState.ExitCode() }

// Tail returns the last lines of its error output.
func (p *Process) Tail() []string { return p.errs.tail() }

// Reader returns the process's output, line by line within limits. It ends with the process.
func (p *Process) Reader() io.Reader { return p.reader }

// Writer returns the process's input. An error of Write means that the process cannot have read a whole line: *NotWrittenError.
func (p *Process) Writer() io.WriteCloser { return &writer{p: p} }

// Close ends the process: its input is closed, its group gets SIGTERM, and SIGKILL after the grace time. It returns when it is over.
func (p *Process) Close() {
	p.closeOnce.Do(func() {
		_ = p.stdin.Close() // twice is no harm
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

// Finish lets the process end by itself: its input is closed, and it has the grace time before Close ends it. It returns when it is over.
func (p *Process) Finish() {
	_ = p.stdin.Close() // twice is no harm
	timer := time.NewTimer(p.cfg.Grace)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
	}
	p.Close()
}

// outputEnded ends a process that closed its output: nobody can hear it any more. One that is about to exit gets the time for it.
func (p *Process) outputEnded() {
	time.AfterFunc(p.cfg.Grace, func() { p.signal(killGroup) })
}

// signal sends to the process group unless it is gone.
func (p *Process) signal(send func(*os.Process)) {
	p.signals.Lock()
	defer p.signals.Unlock()
	if !p.over {
		send(p.cmd.Process)
	}
}

// NotWrittenError says that a message did not get to the process as a whole.
type NotWrittenError struct{ Err error }

// Error says why.
func (e *NotWrittenError) Error() string {
	return "the process does not read its input: " + e.Err.Error()
}

// Unwrap gives the cause.
func (e *NotWrittenError) Unwrap() error { return e.Err }

type writer struct{ p *Process }

// Write writes one message. Calls do not overlap: the transport holds a lock.
func (w *writer) Write(b []byte) (int, error) {
	_ = w.p.stdin.SetWriteDeadline(time.Now().Add(w.p.cfg.WriteTimeout)) // pipes have deadlines where we run
	n, err := w.p.stdin.Write(b)
	if err != nil {
		w.p.signal(killGroup) // half a message cannot be taken back
		return n, &NotWrittenError{Err: err}
	}
	return n, nil
}

// Close closes the input; a well-behaved server ends then.
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
