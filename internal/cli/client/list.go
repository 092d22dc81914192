package client

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"strconv"

	"google.golang.org/protobuf/proto"
)

// pageSize is the number of items per request.
const pageSize = 200

// List returns the items of a list as the server wrote them, up to limit (0 = all), reading as many pages as needed; more reports whether
// there are further ones. filters are query parameters besides those of the request.
func (c *Client) List(
	ctx context.Context, req proto.Message, filters url.Values, limit int,
) (items []json.RawMessage, more bool, err error) {
	r, err := requestOf(req)
	if err != nil {
		return nil, false, err
	}
	maps.Copy(r.query, filters)
	field := listField(req)
	for {
		size := pageSize
		if limit > 0 {
			size = min(size, limit-len(items))
		}
		r.query.Set("page_size", strconv.Itoa(size))
		raw, err := c.do(ctx, r, nil)
		if err != nil {
			return nil, false, err
		}
		page, token, err := readPage(raw, field)
		if err != nil {
			return nil, false, fmt.Errorf("%s: %w", c.Server(), err)
		}
		items = append(items, page...)
		if token == "" || token == r.query.Get("page_token") {
			return items, false, nil
		}
		if limit > 0 && len(items) >= limit {
			return items, true, nil
		}
		r.query.Set("page_token", token)
	}
}

func readPage(raw []byte, field string) (items []json.RawMessage, token string, err error) {
	var page map[string]json.RawMessage
	if err := json.Unmarshal(raw, &page); err != nil {
		return nil, "", err
	}
	list, ok := page[field]
	if !ok {
		return nil, "", fmt.Errorf("the answer has no %s: is this a Windlass server?", field)
	}
	if err := json.Unmarshal(list, &items); err != nil {
		return nil, "", err
	}
	if t, ok := page["next_page_token"]; ok {
		if err := json.Unmarshal(t, &token); err != nil {
			return nil, "", err
		}
	}
	return items, token, nil
}
