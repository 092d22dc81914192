package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
)

// maxFrame bounds one line of an event stream.
const maxFrame = 4 << 20

// frames reads server-sent events and hands each to see, until the stream ends or see returns an error.
func frames(r io.Reader, see func(event, data []byte) error) error {
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 0, 16<<10), maxFrame)
	var event, data []byte
	for sc.Scan() {
		line := sc.Bytes()
		if len(line) == 0 {
			if len(data) > 0 {
				if err := see(event, data); err != nil {
					return err
				}
			}
			event, data = event[:0], data[:0]
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "event":
			event = append(event[:0], value...)
		case "data":
			data = append(data, value...)
		}
	}
	if err := sc.Err(); err != nil {
		return fmt.Errorf("read the event stream: %w", err)
	}
	return nil
}
