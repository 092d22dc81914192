package process

import (
	"bufio"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	maxErrLine   = 1 << 10
	errLinesKept = 8
	errLinesPerS = 100 // lines per second that are forwarded
)

// errLines reads a child's stderr: unread, it would block the child on a full pipe.
type errLines struct {
	file  *os.File
	line  func(string)
	ended chan struct{}

	mu   sync.Mutex
	last []string

	window  time.Time
	passed  int
	dropped int
}

func newErrLines(file *os.File, line func(string)) *errLines {
	return &errLines{file: file, line: line, ended: make(chan struct{})}
}

// none is read for a child that never started.
func (e *errLines) none() { close(e.ended) }

// read runs until the output ends.
func (e *errLines) read() {
	defer close(e.ended)
	r := bufio.NewReaderSize(e.file, maxErrLine)
	for {
		part, prefix, err := r.ReadLine()
		if text := strings.TrimSpace(strings.ToValidUTF8(string(part), "?")); text != "" {
			e.add(text)
		}
		for prefix && err == nil { // drop the rest of a long line
			_, prefix, err = r.ReadLine()
		}
		if err != nil {
			return
		}
	}
}

func (e *errLines) add(text string) {
	e.mu.Lock()
	e.last = append(e.last, text)
	if len(e.last) > errLinesKept {
		e.last = slices.Delete(e.last, 0, 1)
	}
	e.mu.Unlock()
	if now := time.Now(); now.Sub(e.window) > time.Second {
		if e.dropped > 0 {
			e.line("(" + strconv.Itoa(e.dropped) + " lines left out)")
		}
		e.window, e.passed, e.dropped = now, 0, 0
	}
	if e.passed++; e.passed > errLinesPerS {
		e.dropped++
		return
	}
	e.line(text)
}

func (e *errLines) tail() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.last)
}
