// Package child does work on files from outside in child processes. Such files may be made to exhaust or to attack what reads them, so a
// program starts itself for each one, with bounds on memory and time, and without the environment and the secrets of its parent.
package child

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/process"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

const (
	// workEnv names the work of a program that is a child.
	workEnv = "WINDLASS_CHILD"
	// maxWait is how long a request waits for others to end.
	maxWait = 20 * time.Second
	// openFiles limits the files of a child: it needs its three streams and what the runtime has.
	openFiles = 16
)

// Work is something that children do with files.
type Work struct {
	// Name identifies it among the works of a program.
	Name string
	// Do answers one request in the child. An error that is an *Error reaches the caller of Runner.Do, any other one ends the child. A panic
	// is a refusal: the file is damaged.
	Do func(request json.RawMessage, data []byte) (Answer, error)

	// Memory limits the data of a child in bytes, on Linux only. From SoftMemory on it collects garbage rather than to use more.
	Memory, SoftMemory int64
	// CPU limits its processor time, in whole seconds and on Linux only. Time limits all of its time.
	CPU, Time time.Duration
	// MaxAnswer limits the bytes of an answer.
	MaxAnswer int
}

// Answer is what a child found.
type Answer struct {
	// Head becomes JSON.
	Head any
	// Body is sent as it is.
	Body []byte
}

// Error is why a file is refused. Its text continues the name of the file, and may be shown to users and models.
type Error struct {
	// Text is the reason.
	Text string
	// Exhausted: the file could not be read within the limits of time and memory, which another attempt may be.
	Exhausted bool
}

// Error returns the text.
func (r *Error) Error() string { return r.Text }

// Refuse returns a refusal.
func Refuse(format string, args ...any) error { return &Error{Text: fmt.Sprintf(format, args...)} }

// isParent reports whether Main was called, so that this program can be the child too.
var isParent atomic.Bool

// Main is the first call of programs that use a Runner, with all the work that their children do. In a child it does that
// work, and does not
// return.
func Main(works ...Work) {
	name := os.Getenv(workEnv)
	if name == "" {
		isParent.Store(true)
		return
	}
	for _, w := range works {
		if w.Name != name {
			continue
		}
		if err := serve(w, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	fmt.Fprintf(os.Stderr, "%s names no work of this program: %q\n", workEnv, name)
	os.Exit(1)
}

// Runner starts the children of one kind of work, some at a time. It is safe for concurrent use.
type Runner struct {
	work  Work
	slots chan struct{} // holds one for each child
	wait  time.Duration
}

// New returns a runner that has no more children than atATime, nor than there are processors.
func New(w Work, atATime int) *Runner {
	return &Runner{work: w, slots: make(chan struct{}, max(1, min(atATime, runtime.GOMAXPROCS(0)))), wait: maxWait}
}

// Acquire waits until a child may be started; release must be called when it has ended. The error is UNAVAILABLE if that takes too long.
func (r *Runner) Acquire(ctx context.Context) (release func(), err error) {
	late := time.NewTimer(r.wait)
	defer late.Stop()
	select {
	case r.slots <- struct{}{}:
		return func() { <-r.slots }, nil
	case <-late.C:
		return nil, fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "too many files are being decoded")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// executable returns this program: on Linux also if its file was replaced since it was started.
func executable() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}

// Do has a child answer a request about a file, decodes the head of the answer and returns its body. The caller has called Acquire. The
// error is an *Error if the child refuses the file or exceeds its limits; any other error says nothing about the file.
func (r *Runner) Do(ctx context.Context, request any, data []byte, head any) ([]byte, error) {
	if !isParent.Load() {
		return nil, errors.New("the program has not called child.Main")
	}
	self, err := executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	w := r.work
	within, cancel := context.WithTimeout(ctx, w.Time)
	defer cancel()
	p, err := process.Start(process.Config{
		Path: self, Env: []string{workEnv + "=" + w.Name, fmt.Sprintf("GOMEMLIMIT=%d", w.SoftMemory), "GOTRACEBACK=none"},
		Line: func(string) {}, MaxLine: w.MaxAnswer, WriteTimeout: w.Time,
		Limits: process.Limits{Memory: config.Size(w.Memory), CPU: w.CPU, Files: openFiles},
	})
	if err != nil {
		return nil, fmt.Errorf("start a child process: %w", err)
	}
	defer p.Close()
	stop := context.AfterFunc(within, p.Close)
	defer stop()
	got, body, err := exchange(p, w.MaxAnswer, request, data)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		text := fmt.Sprintf("cannot be decoded with %d MiB of memory within %s", w.Memory>>20, w.CPU)
		return nil, &Error{Text: text, Exhausted: true}
	case got.Refused != "":
		return nil, &Error{Text: got.Refused}
	}
	if err := json.Unmarshal(got.Head, head); err != nil {
		return nil, fmt.Errorf("decode the answer of a child process: %w", err)
	}
	return body, nil
}
