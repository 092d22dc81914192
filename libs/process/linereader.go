package process

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
)

// TooLargeCode is the JSON-RPC error code for an answer that was too large to read.
const TooLargeCode = -32098

// ErrLineTooLong is returned for a line over the limit if Config.TooLong is not set.
var ErrLineTooLong = errors.New("a line of the process's output is too long")

// lineReader reads whole lines.
type lineReader struct {
	in      *bufio.Reader
	limit   int
	tooLong func(head, tail []byte, limit int) []byte
	ended   func() // called once, when the input ends
	rest    []byte
	err     error
}

const (
	headKept = 256
	tailKept = 256
)

func newLineReader(r io.Reader, cfg Config, ended func()) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(r, 64<<10), limit: cfg.MaxLine, tooLong: cfg.TooLong, ended: ended}
}

// Read implements io.Reader.
func (l *lineReader) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		if l.err != nil {
			return 0, l.err
		}
		if l.rest, l.err = l.next(); l.err != nil {
			l.ended()
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// next returns the next line including its newline.
func (l *lineReader) next() ([]byte, error) {
	var line []byte
	for {
		part, err := l.in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, io.EOF // half a line is no message; the end of a process is no error
		case len(line) > l.limit && l.tooLong == nil:
			return nil, ErrLineTooLong
		case len(line) > l.limit:
			return l.skip(line)
		}
	}
}

// skip discards the rest of a line that is too long, keeping both ends, where the id is.
func (l *lineReader) skip(line []byte) ([]byte, error) {
	head := bytes.Clone(line[:headKept])
	tail := bytes.Clone(line[len(line)-tailKept:])
	for {
		part, err := l.in.ReadSlice('\n')
		tail = append(tail, part...)
		if len(tail) > tailKept {
			tail = append(tail[:0], tail[len(tail)-tailKept:]...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil:
			return nil, io.EOF
		default:
			return l.tooLong(head, tail, l.limit), nil
		}
	}
}

var (
	idAtStart = regexp.MustCompile(`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2.0"\s*,\s*)?"id"\s*:\s*(\d+)\s*,`)
	idAtEnd   = regexp.MustCompile(`,\s*"id"\s*:\s*(\d+)\s*(?:,\s*"jsonrpc"\s*:\s*"2.0"\s*)?\}\s*$`)
)

// TooLargeAnswer is a Config.TooLong for JSON-RPC. It replaces a line that is too long by an error response to the same request, so that
// one huge response does not fail the process's other calls. A line that is not a response is dropped.
func TooLargeAnswer(head, tail []byte, limit int) []byte {
	id := idAtStart.FindSubmatch(head)
	if id == nil {
		id = idAtEnd.FindSubmatch(tail)
	}
	if id == nil {
		return nil
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"larger than %d bytes"}}`+"\n", id[1], TooLargeCode, limit)
}
