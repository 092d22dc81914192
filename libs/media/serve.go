package media

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// serve answers one request in a child.
func serve(in io.Reader, out io.Writer) error {
	from := bufio.NewReader(in)
	line, err := from.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	var r request
	if err := json.Unmarshal(line, &r); err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	data, err := io.ReadAll(from)
	if err != nil {
		return fmt.Errorf("read the file: %w", err)
	}
	got, err := do(r, data)
	if refused, ok := errors.AsType[*Error](err); ok {
		got, err = answer{Refused: refused.text}, nil
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(got)
}

// do does a request. A decoder that panics has met a damaged file.
func do(r request, data []byte) (got answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = refuse("is damaged")
		}
	}()
	switch {
	case r.Form != nil:
		return convertImage(data, *r.Form)
	case r.PDF:
		return pdfText(data)
	}
	return answer{}, errors.New("the request is for nothing")
}
