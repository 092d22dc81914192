package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// client makes turns of one agent as a program would that shows the answer while it comes: POST, then the turn's event stream. Each
// turn has a session of its own, made beforehand, so that all turns are alike.
type client struct {
	mesh  *mesh
	agent string
	// rounds is how many tool calls a turn has, one after the other.
	rounds int
	// timeline keeps when each event happened.
	timeline bool

	mu       sync.Mutex
	sessions []string
	made     atomic.Int64
}

// prepare makes n sessions.
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

// turn makes one turn and reads its events to the end.
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
	start := time.Now()
	var made struct {
		ID string `json:"id"`
	}
	if err := call(ctx, c.mesh.http, http.MethodPost, c.mesh.url+"/v1/sessions/"+session+"/turns", input, &made); err != nil {
		return sample{}, err
	}
	s := sample{turn: made.ID, accepted: time.Since(start)}
	if err := c.watch(ctx, start, &s); err != nil {
		return s, fmt.Errorf("turn %s: %w", made.ID, err)
	}
	return s, nil
}

// watch follows the turn's events and notes when they come.
func (c *client) watch(ctx context.Context, start time.Time, s *sample) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.mesh.url+"/v1/turns/"+s.turn+"/events", nil)
	if err != nil {
		return fmt.Errorf("build the request: %w", err)
	}
	resp, err := c.mesh.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the event stream answered %d", resp.StatusCode)
	}
	err = frames(resp.Body, func(event, data []byte) error {
		switch string(event) {
		case "message.delta", "message.completed": // the latter when the whole message came before the watcher
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

// note keeps when an event happened by the mesh's clock, which is ours: it runs on this machine.
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
		return nil // of a run of deltas the first
	}
	s.events = append(s.events, moment{name: name, at: e.Time.Sub(start)})
	return nil
}
