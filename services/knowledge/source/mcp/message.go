package mcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/windlass-dev/windlass/libs/fault"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	"github.com/windlass-dev/windlass/services/knowledge/source"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

// listing is a page of resources/list.
type listing struct {
	Resources  []resource `json:"resources"`
	NextCursor string     `json:"nextCursor"`
}

// resource is an entry of a list. Its size and its time are not used: they are the word of the server.
type resource struct {
	URI      string `json:"uri"`
	MIMEType string `json:"mimeType"`
	Meta     meta   `json:"_meta"`
}

// meta has the labels that a server gives to a resource, in its list or with its content.
type meta struct {
	Labels json.RawMessage `json:"windlass/labels"`
}

// labels returns them; an error if they are not a list of texts.
func (m meta) labels() (out []string, err error) {
	if len(m.Labels) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(m.Labels, &out); err != nil {
		return nil, errors.New("its _meta.windlass/labels is not a list of labels")
	}
	return out, nil
}

// reading is the answer of resources/read.
type reading struct {
	ResultType string    `json:"resultType"`
	Contents   []content `json:"contents"`
}

// content is a text or bytes in base64.
type content struct {
	MIMEType string  `json:"mimeType"`
	Text     *string `json:"text"`
	Blob     *string `json:"blob"`
	Meta     meta    `json:"_meta"`
}

// item returns the item that a resource becomes. Several texts are one document, with a blank line between them.
func (a reading) item(r resource, maxBytes int64) (item source.Item, err error) {
	item = source.Item{Key: r.URI, MediaType: r.MIMEType}
	switch {
	case a.ResultType != "" && a.ResultType != "complete":
		return item, errors.New("its server asks a question before it gives it")
	case len(a.Contents) == 0:
		return item, errors.New("it has no content")
	}
	if item.Labels, err = r.Meta.labels(); err != nil {
		return item, err
	}
	var texts []string
	for _, c := range a.Contents {
		labels, err := c.Meta.labels()
		if err != nil {
			return item, err
		}
		item.Labels = append(item.Labels, labels...)
		switch {
		case c.Text != nil:
			texts = append(texts, *c.Text)
		case c.Blob != nil && len(a.Contents) > 1:
			return item, errors.New("it has several contents, of which not all are texts")
		case c.Blob == nil:
			return item, errors.New("it has neither text nor data")
		case int64(base64.StdEncoding.DecodedLen(len(*c.Blob))) > maxBytes+2: // up to two bytes are padding
			return item, fmt.Errorf("it has more than %d bytes", maxBytes)
		default:
			if item.Data, err = base64.StdEncoding.DecodeString(*c.Blob); err != nil {
				return item, errors.New("its data is not in base64")
			}
		}
	}
	if texts != nil {
		item.Data = []byte(strings.Join(texts, "\n\n"))
	}
	if declared := a.Contents[0].MIMEType; declared != "" {
		item.MediaType = declared
	}
	return item, nil
}

// cursorParams returns the parameters for a page of a list.
func cursorParams(cursor string) map[string]string {
	if cursor == "" {
		return nil
	}
	return map[string]string{"cursor": cursor}
}

// ask sends a request as the caller in ctx, and decodes the answer. Its error is for people.
func (k Kind) ask(ctx context.Context, spec store.SourceSpec, method string, params map[string]string, answer any) error {
	var raw []byte
	if params != nil {
		var err error
		if raw, err = json.Marshal(params); err != nil {
			return fmt.Errorf("encode parameters: %w", err)
		}
	}
	resp, err := k.Servers.ForwardRequest(ctx, &registryv1.ForwardRequestRequest{Source: spec.MCPSource, Method: method, ParamsJson: raw})
	if err != nil {
		return fault.From(err)
	}
	if refused := resp.GetError(); refused != nil {
		return fmt.Errorf("the server answers with error %d: %s", refused.GetCode(), refused.GetMessage())
	}
	if err := json.Unmarshal(resp.GetResultJson(), answer); err != nil {
		return errors.New("the answer of the server is not what the protocol has")
	}
	return nil
}
