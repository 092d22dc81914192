package client

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxFrame bounds one frame of an event stream, bytes.
const maxFrame = 32 << 20

// frame is one dispatched frame of an event stream.
type frame struct {
	// id is the id line's value; hasID tells an empty one from none.
	id    string
	hasID bool
	// name is the event line's value.
	name string
	data []byte
}

// frames reads a Server-Sent Events stream as the WHATWG specification says: comments and fields of no interest (the pauses are ours) are skipped, data lines
// joined, and a frame that the stream's end cut off is dropped.
type frames struct {
	r     *bufio.Reader
	first bool
}

func newFrames(r io.Reader) *frames { return &frames{r: bufio.NewReaderSize(r, 32<<10), first: true} }

// next gives the next frame that has data. Its errors are the stream's: io.EOF at its end.
func (f *frames) next() (frame, error) {
	var out frame
	var data [][]byte
	size := 0
	for {
		line, err := f.line()
		if err != nil {
			return frame{}, err
		}
		if len(line) == 0 {
			if data == nil {
				out = frame{}
				continue
			}
			out.data = bytes.Join(data, []byte("\n"))
			return out, nil
		}
		if size += len(line); size > maxFrame {
			return frame{}, fmt.Errorf("an event is larger than %d bytes", maxFrame)
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "data":
			data = append(data, bytes.Clone(value))
		case "event":
			out.name = string(value)
		case "id":
			if bytes.IndexByte(value, 0) < 0 {
				out.id, out.hasID = string(value), true
			}
		}
	}
}

// line gives one line without its end; lines end with LF or CR LF: a lone CR, which the specification allows too, is not written by any server we speak to.
func (f *frames) line() ([]byte, error) {
	var line []byte
	for {
		part, err := f.r.ReadSlice('\n')
		line = append(line, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			if len(line) > maxFrame {
				return nil, fmt.Errorf("an event is larger than %d bytes", maxFrame)
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		break
	}
	line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
	if f.first {
		f.first = false
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	return line, nil
}
