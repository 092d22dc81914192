package client

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"

	"google.golang.org/protobuf/proto"
)

// filesPath is where files are uploaded, and below which their bytes are: they are no JSON, so no rule of the API has them.
const filesPath = "/v1/files"

// Form is a file to upload, with what describes it.
type Form struct {
	// Path is where it goes below the server's address; "" = to the files.
	Path string
	// Fields are sent before it: names and values.
	Fields [][2]string
	// Name is its name. An empty MediaType leaves it to the server.
	Name, MediaType string
	// Content has its bytes.
	Content io.Reader
}

// write writes the form.
func (f Form) write(w *multipart.Writer) error {
	for _, field := range f.Fields {
		if err := w.WriteField(field[0], field[1]); err != nil {
			return err
		}
	}
	part, err := w.CreatePart(partHeader(f.Name, f.MediaType))
	if err == nil {
		_, err = io.Copy(part, f.Content)
	}
	if err == nil {
		err = w.Close()
	}
	return err
}

// Upload sends a file and reads the answer into resp.
func (c *Client) Upload(ctx context.Context, form Form, resp proto.Message) error {
	body, w := io.Pipe()
	parts := multipart.NewWriter(w)
	go func() { _ = w.CloseWithError(form.write(parts)) }() // it never fails
	defer func() { _ = body.Close() }()                     // ends the copy if the server does not read all
	req, err := c.request(ctx, request{method: http.MethodPost, path: cmp.Or(form.Path, filesPath)})
	if err != nil {
		return err
	}
	req.Body, req.ContentLength = body, -1
	req.Header.Set("Content-Type", parts.FormDataContentType())
	answer, err := c.stream.Do(req)
	if err != nil {
		return c.unreachable(ctx, err)
	}
	defer func() { _ = answer.Body.Close() }() // read to its end below
	raw, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	switch {
	case err != nil:
		return fmt.Errorf("read the answer of %s: %w", c.Server(), err)
	case answer.StatusCode >= 300:
		return problem(answer, raw)
	}
	return Decode(raw, resp)
}

func partHeader(name, mediaType string) textproto.MIMEHeader {
	h := textproto.MIMEHeader{}
	h.Set("Content-Disposition", mime.FormatMediaType("form-data", map[string]string{"name": "file", "filename": name}))
	if mediaType != "" {
		h.Set("Content-Type", mediaType)
	}
	return h
}

// FileContent returns the bytes of a file.
func (c *Client) FileContent(ctx context.Context, id string) ([]byte, error) {
	req, err := c.request(ctx, request{path: filesPath + Path(id, "content")})
	if err != nil {
		return nil, err
	}
	answer, err := c.stream.Do(req)
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	defer func() { _ = answer.Body.Close() }() // read to its end below
	raw, err := io.ReadAll(answer.Body)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the file from %s: %w", c.Server(), err)
	case answer.StatusCode >= 300:
		return nil, problem(answer, raw)
	}
	return raw, nil
}
