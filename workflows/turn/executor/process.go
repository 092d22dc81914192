package executor

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/windlass-dev/windlass/libs/process"
	executorv1 "github.com/windlass-dev/windlass/proto/gen/windlass/executor/v1"
)

// processLink speaks JSON lines with a child process.
type processLink struct {
	spec *spec
	proc *process.Process
	out  *bufio.Reader
}

// openProcess starts the program in a group of its own, without a shell, and writes the invocation to it.
func (h *Host) openProcess(s *spec, in *executorv1.Invocation) (link, error) {
	program, err := h.program(s)
	if err != nil {
		return nil, err
	}
	log, session, agent := h.log, in.GetSessionId(), in.GetAgent().GetId()
	proc, err := process.Start(process.Config{
		Path: program, Args: s.command[1:], Env: process.Environment(s.env), Dir: s.dir,
		Line: func(line string) {
			log.DebugContext(context.Background(), "executor wrote to its error output", "agent", agent, "session", session, "line", s.redact(line))
		},
		MaxLine: maxLine, WriteTimeout: writeTimeout, Grace: h.cfg.Grace, Limits: h.cfg.Limits,
	})
	if err != nil {
		return nil, failed("the executor cannot be started: %s", s.redact(err.Error()))
	}
	l := &processLink{spec: s, proc: proc, out: bufio.NewReaderSize(proc.Reader(), 64<<10)}
	if err := l.send(first(in)); err != nil {
		l.cut()
		return nil, err
	}
	return l, nil
}

// program returns the path of an executor's program, if the operator's list has it.
func (h *Host) program(s *spec) (string, error) {
	program, err := h.programs.Find(s.command, s.dir, s.env)
	switch {
	case err == nil:
		return program, nil
	case errors.Is(err, process.ErrNotAllowed):
		return "", failed("%s", s.redact(err.Error())).
			Hint("Add it to worker.executors.commands in the configuration of the process with the worker role.")
	default:
		return "", failed("the executor cannot be started: %s", err).
			Hint("Install the program on the worker's machine, or name its folder in worker.executors.command_path.")
	}
}

func (l *processLink) send(req *executorv1.RunRequest) error {
	line, err := Encode(req)
	if err != nil {
		return err
	}
	if _, err := l.proc.Writer().Write(append(line, '\n')); err != nil {
		select {
		case <-l.proc.Done(): // it says why
			return l.died()
		default:
			return away("%s", l.words(err.Error()))
		}
	}
	return nil
}

func (l *processLink) recv() (*executorv1.RunResponse, error) {
	for {
		line, err := l.out.ReadBytes('\n')
		if errors.Is(err, process.ErrLineTooLong) {
			return nil, failed("a line of the executor's output is longer than %d bytes", maxLine)
		}
		if err != nil { // the output ended, and the process ends within its grace time
			<-l.proc.Done()
			if l.proc.Code() == 0 {
				return nil, io.EOF
			}
			return nil, l.died()
		}
		e, err := Decode(line)
		if err != nil {
			return nil, failed("the executor's output is not understood: %s", l.spec.redact(err.Error()))
		}
		if e != nil {
			return e, nil
		}
	}
}

// died returns why the process ended, with its last error output.
func (l *processLink) died() error {
	return away("the executor's process went away: %s", l.words(l.proc.Exit().Error()))
}

func (l *processLink) words(text string) string {
	if tail := l.proc.Tail(); len(tail) > 0 {
		text += "; it last wrote: " + strings.Join(tail, " | ")
	}
	return l.spec.redact(text)
}

func (l *processLink) finish() { l.proc.Finish() }

func (l *processLink) cut() { l.proc.Close() }
