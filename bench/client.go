package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"sync"
	"sync/atomic"
	"time"
)

// client creates turns of one agent as a program that shows streamed answers: a POST whose response is the turn's event stream. Each turn
// has its own session, created beforehand, so that all turns are alike.
type client struct {
	mesh  *mesh
	agent string
	// rounds is the number of sequential tool calls per turn.
	rounds int
	// apart creates the turn with one request and watches it with another.
	apart bool
	// timeline records when each event happened.
	timeline bool

	mu       sync.Mutex
	sessions []string
	made     atomic.Int64
}

// prepare creates n sessions.
func (c *client) prepare(ctx context.Context, n int) error {
	_, err := loop(ctx, 4, n, func(ctx context.Context) (sample, error) {
		var made struct {
			ID string `json:"id"`
		}
		err := call(ctx, c.mesh.http, http.MethodPost, c.mesh.url+"/v1/sessions", map[string]any{"agent_id": c.agent}, &made)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.sessions = append(c.sessions, made.ID)
		return sample{}, err
	})
	return err
}

func (c *client) session() (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.sessions) == 0 {
		return "", errors.New("no session is prepared")
	}
	last := c.sessions[len(c.sessions)-1]
	c.sessions = c.sessions[:len(c.sessions)-1]
	return last, nil
}

// turn runs one turn and reads its events to the end.
func (c *client) turn(ctx context.Context) (sample, error) {
	session, err := c.session()
	if err != nil {
		return sample{}, err
	}
	n := c.made.Add(1)
	question := fmt.Sprintf("What is %d + %d?", 10000+n, 20000+n)
	if c.rounds > 1 {
		question += fmt.Sprintf(" Calculate in %d rounds.", c.rounds)
	}
	input := map[string]any{"input": question}
	s := sample{begin: time.Now()}
	resp, err := c.open(ctx, session, input, &s)
	if err != nil {
		return s, err
	}
	defer resp.Body.Close()
	if err := c.watch(resp.Body, &s); err != nil {
		return s, fmt.Errorf("turn %s: %w", s.turn, err)
	}
	return s, nil
}

// open creates a turn and opens its event stream: with one request, or with two as an EventSource needs.
func (c *client) open(ctx context.Context, session string, input any, s *sample) (*http.Response, error) {
	gateway := c.mesh.gateway()
	url := gateway + "/v1/sessions/" + session + "/turns"
	if c.apart {
		var made struct {
			ID string `json:"id"`
		}
		if err := call(ctx, c.mesh.http, http.MethodPost, url, input, &made); err != nil {
			return nil, err
		}
		s.turn, s.accepted = made.ID, time.Since(s.begin)
		return openStream(ctx, c.mesh.http, http.MethodGet, gateway+"/v1/turns/"+s.turn+"/events", nil)
	}
	resp, err := openStream(ctx, c.mesh.http, http.MethodPost, url, input)
	if err == nil {
		s.turn, s.accepted = path.Base(resp.Header.Get("Location")), time.Since(s.begin)
	}
	return resp, err
}

// watch reads the turn's events and records when they arrive.
func (c *client) watch(body io.Reader, s *sample) error {
	start := s.begin
	err := frames(body, func(event string, data []byte) error {
		switch event {
		case "message.delta", "message.completed": // the latter if the whole message was complete before the watcher connected
			if s.first == 0 {
				s.first = time.Since(start)
			}
		case "turn.completed":
			s.total = time.Since(start)
		case "turn.failed", "turn.cancelled", "error-status":
			return fmt.Errorf("%s: %.500s", event, data)
		}
		if c.timeline {
			return s.note(start, data)
		}
		return nil
	})
	if err == nil && (s.total == 0 || s.first == 0) {
		err = errors.New("the event stream ended without an answer")
	}
	return err
}

// note records when an event happened by the mesh's clock, which is ours: it runs on this machine.
func (s *sample) note(start time.Time, data []byte) error {
	var e struct {
		Type string    `json:"type"`
		Step string    `json:"step"`
		Time time.Time `json:"time"`
	}
	if err := json.Unmarshal(data, &e); err != nil {
		return fmt.Errorf("read event: %w", err)
	}
	if e.Type == "" || e.Time.IsZero() {
		return nil
	}
	name := e.Type
	if e.Step != "" {
		name += " " + e.Step
	}
	if n := len(s.events); n > 0 && s.events[n-1].name == name {
		return nil // only the first of several deltas
	}
	s.events = append(s.events, moment{name: name, at: e.Time.Sub(start)})
	return nil
}
