package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// newHTTP returns a client that keeps as many connections as turns run at once.
func newHTTP() *http.Client { return &http.Client{Transport: newTransport()} }

func newTransport() *http.Transport {
	return &http.Transport{MaxIdleConns: 1024, MaxIdleConnsPerHost: 256, DisableCompression: true}
}

// call makes one request with a JSON body (nil means none) and decodes the answer into out (nil drops it).
func call(ctx context.Context, c *http.Client, method, url string, body, out any) error {
	resp, err := send(ctx, c, method, url, "application/json", body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, url, err)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return fmt.Errorf("%s %s: %w", method, url, err)
	}
	return nil
}

// openStream makes a request whose response is an event stream; the caller closes it.
func openStream(ctx context.Context, c *http.Client, method, url string, body any) (*http.Response, error) {
	return send(ctx, c, method, url, "text/event-stream", body)
}

// send makes one request; an unsuccessful response is an error.
func send(ctx context.Context, c *http.Client, method, url, accept string, body any) (*http.Response, error) {
	var rd io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("encode the request: %w", err)
		}
		rd = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, rd)
	if err != nil {
		return nil, fmt.Errorf("build the request: %w", err)
	}
	req.Header.Set("Accept", accept)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode < 300 {
		return resp, nil
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, 500))
	return nil, errors.Join(fmt.Errorf("%s %s answered %d: %s", method, url, resp.StatusCode, raw), err, resp.Body.Close())
}
