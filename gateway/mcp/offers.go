package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"golang.org/x/sync/errgroup"

	"github.com/windlass-dev/windlass/gateway/mcp/orchestrator"
	"github.com/windlass-dev/windlass/gateway/mcp/strict"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// In the catalogue of all sources, the URI of a resource is "source+" and its own, and the name of a prompt is "source__" and its own.
// Names of sources have neither a plus nor two underscores in a row.
const (
	uriMark  = "+"
	nameMark = "__"
)

// Limits of the catalogue of all sources.
const (
	offersAtOnce  = 16
	offersTimeout = 10 * time.Second // of one source, which is left out if it takes longer
	maxOffers     = 10_000           // of one source
)

// offers serves what MCP servers offer besides tools.
type offers struct {
	servers registryv1.ServerServiceClient
	skills  skills
	log     *slog.Logger
}

// offer says how what a server offers is listed: in which field, and under which key its items have their name. mend makes an item one of
// the protocol.
type offer struct {
	field, key, mark string
	may              func(*registryv1.MCPServer) bool
	mend             strict.Entry
}

func offerOf(method string) offer {
	switch method {
	case string(mcp.MethodResourcesList):
		return offer{"resources", "uri", uriMark, (*registryv1.MCPServer).GetResources, strict.Resource}
	case string(mcp.MethodResourcesTemplatesList):
		return offer{"resourceTemplates", "uriTemplate", uriMark, (*registryv1.MCPServer).GetResources, strict.Template}
	default:
		return offer{"prompts", "name", nameMark, (*registryv1.MCPServer).GetPrompts, strict.Prompt}
	}
}

// list lists resources, templates of resources, or prompts: those of one source page by page, or those of all sources at once.
func (o *offers) list(q *request) (any, *failure) {
	kind := offerOf(q.method)
	if q.source == orchestrator.Name {
		return map[string]any{kind.field: []any{}}, nil
	}
	if q.source != "" {
		result, f := o.forward(q.ctx, q.source, q.method, map[string]any{"cursor": q.common.Cursor})
		switch {
		case f != nil && f.Code == mcp.METHOD_NOT_FOUND: // it has none
			return map[string]any{kind.field: []any{}}, nil
		case f != nil && f.Code == mcp.INVALID_PARAMS: // it may be no server
			if items, wrong := o.skills.list(q.ctx, kind, q.source); wrong == nil && items != nil {
				return map[string]any{kind.field: items}, nil
			}
			return nil, f
		case f != nil:
			return nil, f
		}
		items, next := page(result, kind.field)
		result[kind.field] = o.listed(q, kind, q.source, items)
		if delete(result, "nextCursor"); next != "" {
			result["nextCursor"] = next
		}
		return result, nil
	}
	servers, err := o.servers.ListServers(q.ctx, &registryv1.ListServersRequest{})
	if err != nil {
		return nil, failureOf(err)
	}
	found := make([][]any, len(servers.GetServers()))
	var g errgroup.Group
	g.SetLimit(offersAtOnce)
	for i, s := range servers.GetServers() {
		switch {
		case kind.may(s):
			g.Go(func() error { found[i] = o.offersOf(q, kind, s.GetSource()); return nil })
		case s.GetSkills() && kind.mark == uriMark:
			g.Go(func() error { found[i] = o.skillsOf(q, kind, s.GetSource()); return nil })
		}
	}
	_ = g.Wait() // a source that does not answer is left out
	all := []any{}
	for _, items := range found {
		all = append(all, items...)
	}
	return map[string]any{kind.field: all}, nil
}

// skillsOf returns what the skills of one source are in a list.
func (o *offers) skillsOf(q *request, kind offer, source string) []any {
	ctx, cancel := context.WithTimeout(q.ctx, offersTimeout)
	defer cancel()
	items, f := o.skills.list(ctx, kind, source)
	if f != nil {
		o.log.DebugContext(ctx, "source left out of a list", "source", source, "method", q.method, "error", f.Message)
	}
	return items
}

// offersOf returns all that one source lists, renamed.
func (o *offers) offersOf(q *request, kind offer, source string) []any {
	ctx, cancel := context.WithTimeout(q.ctx, offersTimeout)
	defer cancel()
	all, cursor := []any{}, ""
	for len(all) < maxOffers {
		result, f := o.forward(ctx, source, q.method, map[string]any{"cursor": cursor})
		if f != nil {
			if f.Code != mcp.METHOD_NOT_FOUND {
				o.log.DebugContext(ctx, "source left out of a list", "source", source, "method", q.method, "error", f.Message)
			}
			return all
		}
		items, next := page(result, kind.field)
		for _, item := range o.listed(q, kind, source, items) {
			if rename(item, kind.key, source+kind.mark) {
				all = append(all, item)
			}
		}
		if next == "" || next == cursor {
			return all
		}
		cursor = next
	}
	return all
}

// listed returns the items that can be listed, as the protocol has them.
func (o *offers) listed(q *request, kind offer, source string, items []map[string]json.RawMessage) []map[string]json.RawMessage {
	out := make([]map[string]json.RawMessage, 0, len(items))
	for _, item := range items {
		if err := kind.mend(item); err != nil {
			o.log.WarnContext(q.ctx, "entry left out of a list", "source", source, "method", q.method, "entry", string(item[kind.key]), "error", err)
			continue
		}
		out = append(out, item)
	}
	return out
}

// page returns the items of a result that are objects, and the cursor of the next page.
func page(result map[string]any, field string) (items []map[string]json.RawMessage, next string) {
	var all []json.RawMessage
	if raw, ok := result[field].(json.RawMessage); ok && json.Unmarshal(raw, &all) != nil {
		return nil, ""
	}
	for _, raw := range all {
		var item map[string]json.RawMessage
		if json.Unmarshal(raw, &item) == nil && item != nil {
			items = append(items, item)
		}
	}
	if raw, ok := result["nextCursor"].(json.RawMessage); ok && json.Unmarshal(raw, &next) != nil {
		return items, ""
	}
	return items, next
}

// rename puts prefix before the text in a member. It returns false if there is none.
func rename(item map[string]json.RawMessage, key, prefix string) bool {
	var text string
	if json.Unmarshal(item[key], &text) != nil || text == "" {
		return false
	}
	quoted, err := json.Marshal(prefix + text)
	item[key] = quoted
	return err == nil
}

// clientURIs returns how URIs in the results of a tool are named for the client. Those of the web are left alone: anyone can read them.
func (q *request) clientURIs(tool string) func(string) string {
	source, _, _ := strings.Cut(tool, nameMark)
	return func(uri string) string {
		if q.source != "" || strings.HasPrefix(uri, "http://") || strings.HasPrefix(uri, "https://") || strings.HasPrefix(uri, "data:") {
			return uri
		}
		return source + uriMark + uri
	}
}

// route returns the source of a name and its own name.
func (q *request) route(name, mark string) (source, own string, ok bool) {
	if q.source != "" {
		return q.source, name, true
	}
	source, own, ok = strings.Cut(name, mark)
	return source, own, ok && source != "" && own != ""
}

func noResource(uri string) *failure {
	return &failure{Code: mcp.RESOURCE_NOT_FOUND, Message: fmt.Sprintf("there is no resource %q", uri), Data: map[string]any{"uri": uri}}
}

func (o *offers) readResource(q *request) (any, *failure) {
	if file, ok := parseSkill(q.common.URI); ok && (q.source == "" || q.source == file.source) {
		name, f := o.skills.find(q.ctx, file)
		switch {
		case f != nil:
			return nil, f
		case name != "":
			return o.skills.read(q, name, file)
		case q.source == "":
			return nil, noResource(q.common.URI)
		} // otherwise an MCP server that has such URIs itself
	}
	source, uri, ok := q.route(q.common.URI, uriMark)
	if !ok {
		return nil, noResource(q.common.URI)
	}
	result, f := o.forwardAsking(q, source, map[string]any{"uri": uri})
	if f != nil || result["contents"] == nil {
		return result, f
	}
	items, _ := page(result, "contents")
	contents := []map[string]json.RawMessage{}
	for _, c := range items {
		if strict.Contents(c) != nil { // the address is the one that was asked for
			if c["uri"], _ = json.Marshal(uri); strict.Contents(c) != nil {
				continue
			}
		}
		if q.source == "" {
			rename(c, "uri", source+uriMark)
		}
		contents = append(contents, c)
	}
	result["contents"] = contents
	return result, nil
}

func (o *offers) getPrompt(q *request) (any, *failure) {
	source, name, ok := q.route(q.common.Name, nameMark)
	if !ok {
		return nil, invalidParams(fmt.Sprintf("there is no prompt %q", q.common.Name))
	}
	var p struct {
		Arguments json.RawMessage `json:"arguments"`
	}
	if f := decode(q.params, &p); f != nil {
		return nil, f
	}
	fields := map[string]any{"name": name}
	if len(p.Arguments) > 0 {
		fields["arguments"] = p.Arguments
	}
	result, f := o.forwardAsking(q, source, fields)
	if f != nil || result["messages"] == nil {
		return result, f
	}
	messages, _ := page(result, "messages")
	for _, m := range messages {
		m["content"] = strict.Content(m["content"])
	}
	if result["messages"] = messages; messages == nil {
		result["messages"] = []any{}
	}
	return result, nil
}

// forwardAsking forwards a request to which a server of the new era may answer with requests of its own. A client of the new era answers
// those; others cannot be asked here.
func (o *offers) forwardAsking(q *request, source string, fields map[string]any) (map[string]any, *failure) {
	if !q.modern {
		return o.forward(q.ctx, source, q.method, fields)
	}
	var p struct {
		Responses json.RawMessage `json:"inputResponses"`
		State     json.RawMessage `json:"requestState"`
	}
	if f := decode(q.params, &p); f != nil {
		return nil, f
	}
	for name, raw := range map[string]json.RawMessage{"inputResponses": p.Responses, "requestState": p.State} {
		if len(raw) > 0 {
			fields[name] = raw
		}
	}
	return o.forward(q.ctx, source, q.method, fields, q.accepts...)
}

// complete completes an argument of a prompt or of a template of resources.
func (o *offers) complete(q *request) (any, *failure) {
	var p struct {
		Ref      map[string]any  `json:"ref"`
		Argument json.RawMessage `json:"argument"`
		Context  json.RawMessage `json:"context"`
	}
	if f := decode(q.params, &p); f != nil {
		return nil, f
	}
	key, mark := "name", nameMark
	if p.Ref["type"] == "ref/resource" {
		key, mark = "uri", uriMark
	}
	name, _ := p.Ref[key].(string)
	source, own, ok := q.route(name, mark)
	if !ok {
		return nil, invalidParams(fmt.Sprintf("there is nothing with the %s %q", key, name))
	}
	p.Ref[key] = own
	fields := map[string]any{"ref": p.Ref, "argument": p.Argument}
	if len(p.Context) > 0 {
		fields["context"] = p.Context
	}
	return o.forward(q.ctx, source, q.method, fields)
}

// forward sends a request to the server of a source. accepts are the requests of the server that the client answers.
func (o *offers) forward(ctx context.Context, source, method string, fields map[string]any, accepts ...string) (map[string]any, *failure) {
	if fields["cursor"] == "" {
		delete(fields, "cursor")
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return nil, invalidParams("the parameters are no JSON")
	}
	resp, err := o.servers.ForwardRequest(ctx, &registryv1.ForwardRequestRequest{
		Source: source, Method: method, ParamsJson: text, Accepts: accepts,
	})
	if err != nil {
		return nil, failureOf(err)
	}
	if e := resp.GetError(); e != nil {
		f := &failure{Code: int(e.GetCode()), Message: e.GetMessage()}
		if !slices.Contains([]int{mcp.METHOD_NOT_FOUND, mcp.INVALID_PARAMS, mcp.RESOURCE_NOT_FOUND, mcp.INTERNAL_ERROR}, f.Code) {
			f.Code = mcp.INTERNAL_ERROR // other codes speak of a conversation that is not the client's
		}
		return nil, f
	}
	var raw map[string]json.RawMessage
	if json.Unmarshal(resp.GetResultJson(), &raw) != nil {
		return nil, &failure{Code: mcp.INTERNAL_ERROR, Message: fmt.Sprintf("the server of %q answered with something that is no result", source)}
	}
	result := make(map[string]any, len(raw))
	for name, value := range raw {
		switch name {
		case "resultType":
			if string(value) == `"input_required"` {
				result[name] = mcp.ResultTypeInputRequired
			}
		case "ttlMs", "cacheScope", "_meta": // of the conversation with the server
		default:
			result[name] = value
		}
	}
	return result, nil
}

// instructions tell a model what the server is.
func (q *request) instructions() string {
	if q.source == orchestrator.Name {
		return "Runs agents: list_agents says which there are, start_session gives one work, wait_for_turn waits for its answer."
	}
	if q.source != "" {
		return fmt.Sprintf("The tools, resources and prompts of %q, through Windlass.", q.source)
	}
	return "The tools of all sources that you may use. The name of a tool begins with its source."
}
