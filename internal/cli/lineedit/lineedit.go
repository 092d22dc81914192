// Package lineedit reads lines from a terminal with editing and history, while other output is written to the same terminal.
package lineedit

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// MaxLine is how many characters a line may have; the library drops what is typed beyond.
const MaxLine = 4096

// ctrlC is what a terminal in raw mode sends for Ctrl-C.
const ctrlC = 3

// Editor owns a terminal until it is closed. Everything that is written to the terminal meanwhile must be written through it.
type Editor struct {
	in       *os.File
	out      *os.File
	restore  *term.State
	terminal *term.Terminal
	keys     *keys
	wanted   chan string
	lines    chan string
	closed   chan struct{}
	once     sync.Once

	mu      sync.Mutex
	waiting bool // a line was requested and not read yet
}

// Open puts a terminal into raw mode. Ctrl-C calls interrupt, and nothing else. history may be nil.
func Open(in, out *os.File, history *History, interrupt func()) (*Editor, error) {
	state, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, fmt.Errorf("prepare the terminal: %w", err)
	}
	e := &Editor{
		in: in, out: out, restore: state, keys: newKeys(), wanted: make(chan string, 1), lines: make(chan string), closed: make(chan struct{}),
	}
	e.terminal = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{e.keys, out}, "")
	if history != nil {
		e.terminal.History = history
	}
	go e.pass(interrupt)
	go e.read()
	return e, nil
}

// Lines are what the person typed, one for each request. It is closed at Ctrl-D.
func (e *Editor) Lines() <-chan string { return e.lines }

// Request asks for a line with a prompt. While one is requested already, it does nothing.
func (e *Editor) Request(prompt string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.waiting {
		return
	}
	e.waiting = true
	e.wanted <- prompt
}

// Write implements io.Writer: a line that is being typed is moved below.
func (e *Editor) Write(b []byte) (int, error) { return e.terminal.Write(b) }

// Close gives the terminal back as it was.
func (e *Editor) Close() error {
	e.once.Do(func() { close(e.closed) })
	e.keys.close()
	return term.Restore(int(e.in.Fd()), e.restore)
}

// pass passes on what is typed. It ends with the process, since a read from a terminal cannot be interrupted.
func (e *Editor) pass(interrupt func()) {
	buf := make([]byte, 256)
	for {
		n, err := e.in.Read(buf)
		rest := buf[:0]
		for _, key := range buf[:n] {
			if key == ctrlC {
				interrupt()
				continue
			}
			rest = append(rest, key)
		}
		e.keys.add(rest)
		if err != nil {
			e.keys.close()
			return
		}
	}
}

// read reads a line for each request.
func (e *Editor) read() {
	defer close(e.lines)
	for {
		var prompt string
		select {
		case prompt = <-e.wanted:
		case <-e.closed:
			return
		}
		if width, height, err := term.GetSize(int(e.out.Fd())); err == nil && width > 0 {
			_ = e.terminal.SetSize(width, height) // at worst long lines are drawn as on a terminal of 80 columns
		}
		e.terminal.SetPrompt(prompt)
		line, err := e.terminal.ReadLine()
		e.terminal.SetPrompt("")
		if err != nil && !errors.Is(err, term.ErrPasteIndicator) {
			return
		}
		e.mu.Lock()
		e.waiting = false
		e.mu.Unlock()
		select {
		case e.lines <- line:
		case <-e.closed:
			return
		}
	}
}
