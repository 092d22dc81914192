package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/windlass-dev/windlass/bench/hostile"
	"github.com/windlass-dev/windlass/bench/model"
	"github.com/windlass-dev/windlass/libs/backoff"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// attack is one hostile input; send returns its result.
type attack struct {
	entrance, name string
	send           func(ctx context.Context) (string, error)
}

// besieged is a mesh with everything that the attacks need.
type besieged struct {
	mesh    *mesh
	foe     *hostile.Server
	grpc    *grpc.ClientConn
	session string
	entry   []attack
	next    int // index into entry of the next attack
}

// besiege prepares the attacks on a running mesh.
func besiege(ctx context.Context, m *mesh, f *hostile.Server) (*besieged, error) {
	b := &besieged{mesh: m, foe: f}
	var err error
	if b.grpc, err = grpc.NewClient(m.grpc, grpc.WithTransportCredentials(insecure.NewCredentials())); err != nil {
		return nil, fmt.Errorf("dial gRPC: %w", err)
	}
	if b.session, err = b.newSession(ctx, model.Instant); err != nil {
		return nil, err
	}
	for id, schema := range hostile.Agents() {
		if err := call(ctx, m.http, http.MethodPost, m.url+"/v1/agents", map[string]any{"id": id, "params_schema": json.RawMessage(schema)},
			nil); err != nil {
			return nil, err
		}
	}
	for name := range hostile.Streams() {
		if err := call(ctx, m.http, http.MethodPost, m.url+"/v1/agents", map[string]any{"id": name, "model": "foe/" + name}, nil); err != nil {
			return nil, err
		}
	}
	b.bodies()
	b.bundles()
	b.messages()
	b.tools()
	for _, name := range slices.Sorted(maps.Keys(hostile.Streams())) {
		b.add("model's stream", name, func(ctx context.Context) (string, error) { return b.turn(ctx, name, nil) })
	}
	for _, name := range slices.Sorted(maps.Keys(hostile.Hooks())) {
		b.add("webhook's answer", name, func(ctx context.Context) (string, error) { return b.hook(ctx, name) })
	}
	return b, nil
}

func (b *besieged) add(entrance, name string, send func(ctx context.Context) (string, error)) {
	b.entry = append(b.entry, attack{entrance, name, send})
}

func (b *besieged) newSession(ctx context.Context, agent string) (string, error) {
	var made struct {
		ID string `json:"id"`
	}
	err := call(ctx, b.mesh.http, http.MethodPost, b.mesh.url+"/v1/sessions", map[string]any{"agent_id": agent}, &made)
	return made.ID, err
}

func (b *besieged) bodies() {
	all := hostile.Bodies()
	for _, entrance := range slices.Sorted(maps.Keys(all)) {
		for _, in := range all[entrance] {
			b.add("REST, "+entrance, in.Name, func(ctx context.Context) (string, error) { return b.post(ctx, in) })
		}
	}
}

func (b *besieged) bundles() {
	all := hostile.Bundles()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		text, err := json.Marshal(map[string]any{"yaml": all[name], "dry_run": true})
		if err != nil {
			panic(err) // a string has a JSON form
		}
		b.add("bundle", name, func(ctx context.Context) (string, error) {
			return b.post(ctx, hostile.Body{Path: "/v1/agents:apply", Text: string(text)})
		})
	}
}

// messages sends messages over gRPC, bypassing the gateway.
func (b *besieged) messages() {
	agents := sessionsv1.NewAgentServiceClient(b.grpc)
	for _, row := range []struct {
		name  string
		agent *sessionsv1.Agent
		md    metadata.MD
	}{
		{name: "8,000,000 tools", agent: &sessionsv1.Agent{Id: "a", Tools: slices.Repeat([]string{""}, 8_000_000)}},
		{name: "4,000,000 empty rules", agent: &sessionsv1.Agent{Id: "a", Approvals: slices.Repeat([]*policyv1.ApprovalRule{{}}, 4_000_000)}},
		{name: "as many tools as there may be", agent: &sessionsv1.Agent{Id: "a", Tools: slices.Repeat([]string{""}, 99_000)}},
		{name: "16 MiB of text", agent: &sessionsv1.Agent{Id: "a", Instructions: strings.Repeat("x", 16*hostile.MiB)}},
		{name: "30 MiB of text", agent: &sessionsv1.Agent{Id: "a", Instructions: strings.Repeat("x", 30*hostile.MiB)}},
		{name: "60 MiB of text", agent: &sessionsv1.Agent{Id: "a", Instructions: strings.Repeat("x", 60*hostile.MiB)}},
		{name: "headers of 8 MiB", agent: &sessionsv1.Agent{Id: "a"}, md: metadata.Pairs("x-long", strings.Repeat("x", 8*hostile.MiB))},
	} {
		b.add("gRPC", row.name, func(ctx context.Context) (string, error) {
			_, err := agents.CreateAgent(metadata.NewOutgoingContext(ctx, row.md), &sessionsv1.CreateAgentRequest{Agent: row.agent})
			return status.Code(err).String(), ctx.Err()
		})
	}
}

func (b *besieged) tools() {
	for _, name := range slices.Sorted(maps.Keys(hostile.Lists())) {
		b.add("tool server's list", name, func(ctx context.Context) (string, error) { return b.source(ctx, name, false) })
	}
	for _, name := range slices.Sorted(maps.Keys(hostile.Results())) {
		b.add("tool server's result", name, func(ctx context.Context) (string, error) { return b.source(ctx, name, true) })
	}
}

// post sends a body and returns the status with the problem's code.
func (b *besieged) post(ctx context.Context, in hostile.Body) (string, error) {
	var rd io.Reader = strings.NewReader(in.Text)
	if in.Chunked {
		rd = io.MultiReader(rd)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.mesh.url+strings.Replace(in.Path, "SESSION", b.session, 1), rd)
	if err != nil {
		return "", fmt.Errorf("build the request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	if in.Header[0] != "" {
		req.Header.Set(in.Header[0], in.Header[1])
	}
	res, err := b.mesh.http.Do(req)
	if err != nil {
		if ctx.Err() == nil { // it was rejected while being sent
			return "connection closed", nil
		}
		return "", err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(res.Body, hostile.MiB))
	var problem struct {
		Code string `json:"code"`
	}
	_ = json.Unmarshal(raw, &problem) // a body that is not a problem has no code
	return strings.TrimSpace(fmt.Sprint(res.StatusCode, " ", problem.Code)), err
}

// turn runs a turn to its end and returns how it ended.
func (b *besieged) turn(ctx context.Context, agent string, more map[string]any) (string, error) {
	session, err := b.newSession(ctx, agent)
	if err != nil {
		return "", err
	}
	input := map[string]any{"input": "hello"}
	maps.Copy(input, more)
	asked := b.foe.Asked.Load()
	res, err := openStream(ctx, b.mesh.http, http.MethodPost, b.mesh.url+"/v1/sessions/"+session+"/turns", input)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	outcome := "no end"
	err = frames(res.Body, func(event string, data []byte) error {
		kind, ended := strings.CutPrefix(event, "turn.")
		if ended && (kind == "completed" || kind == "failed" || kind == "cancelled") {
			var e struct {
				Data struct {
					Error struct {
						Code string `json:"code"`
					} `json:"error"`
				} `json:"data"`
			}
			_ = json.Unmarshal(bytes.Clone(data), &e) // the type alone is enough
			outcome = fmt.Sprintf("turn %s %s, %d requests", kind, e.Data.Error.Code, b.foe.Asked.Load()-asked)
			return io.EOF
		}
		return nil
	})
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return outcome, err
}

// source adds a tool server, syncs it, calls its tool if asked to, and removes the server.
func (b *besieged) source(ctx context.Context, name string, invoke bool) (outcome string, err error) {
	var made struct {
		ID    string `json:"id"`
		Name  string `json:"name"`
		State string `json:"state"`
		Tools int    `json:"tool_count"`
	}
	url := b.mesh.url + "/v1/sources"
	source := map[string]any{"name": name, "kind": "mcp", "url": b.foe.URL + "/mcp/" + name, "transport": "http"}
	if err := call(ctx, b.mesh.http, http.MethodPost, url, source, &made); err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, call(ctx, b.mesh.http, http.MethodDelete, url+"/"+made.ID, nil, nil)) }()
	outcome, err = b.post(ctx, hostile.Body{Path: "/v1/sources/" + made.ID + ":sync", Text: "{}"})
	if err != nil || !invoke {
		return outcome, errors.Join(err, call(ctx, b.mesh.http, http.MethodGet, url+"/"+made.ID, nil, &made))
	}
	return b.post(ctx, hostile.Body{Path: "/v1/tools/" + name + "__t:invoke", Text: `{"arguments":{}}`})
}

// hook adds a webhook, runs a turn that notifies it, waits for the first attempt to end and removes the webhook.
func (b *besieged) hook(ctx context.Context, name string) (outcome string, err error) {
	var made struct {
		ID string `json:"id"`
	}
	url := b.mesh.url + "/v1/webhooks"
	if err := call(ctx, b.mesh.http, http.MethodPost, url, map[string]any{"url": b.foe.URL + "/hook/" + name}, &made); err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, call(ctx, b.mesh.http, http.MethodDelete, url+"/"+made.ID, nil, nil)) }()
	if _, err := b.turn(ctx, model.Instant, nil); err != nil {
		return "", err
	}
	for {
		var list struct {
			Deliveries []struct {
				Status   string `json:"status"`
				Attempts int    `json:"attempts"`
			} `json:"deliveries"`
		}
		if err := call(ctx, b.mesh.http, http.MethodGet, url+"/"+made.ID+"/deliveries", nil, &list); err != nil {
			return "", err
		}
		if d := list.Deliveries; len(d) > 0 && d[0].Attempts > 0 {
			return fmt.Sprintf("%s after %d attempts", d[0].Status, d[0].Attempts), nil
		}
		if err := backoff.Sleep(ctx, 50*time.Millisecond); err != nil {
			return "", err
		}
	}
}
