package client

import (
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

// Upload sends a file and reads the answer into resp. An empty media type leaves it to the server.
func (c *Client) Upload(ctx context.Context, name, mediaType string, content io.Reader, resp proto.Message) error {
	body, w := io.Pipe()
	form := multipart.NewWriter(w)
	go func() {
		part, err := form.CreatePart(partHeader(name, mediaType))
		if err == nil {
			_, err = io.Copy(part, content)
		}
		if err == nil {
			err = form.Close()
		}
		_ = w.CloseWithError(err) // it never fails
	}()
	defer func() { _ = body.Close() }() // ends the copy if the server does not read all
	req, err := c.request(ctx, request{method: http.MethodPost, path: filesPath})
	if err != nil {
		return err
	}
	req.Body, req.ContentLength = body, -1
	req.Header.Set("Content-Type", form.FormDataContentType())
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
