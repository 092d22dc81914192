package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/windlass-dev/windlass/libs/sse"
)

// maxFrame is the maximum size of one event in bytes.
const maxFrame = 4 << 20

// frames reads server-sent events and calls see for each, until the stream ends or see returns an error.
func frames(r io.Reader, see func(event string, data []byte) error) error {
	in := sse.NewReader(r, sse.Config{MaxEvent: maxFrame})
	for {
		e, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the event stream: %w", err)
		}
		if err := see(e.Type, e.Data); err != nil {
			return err
		}
	}
}
