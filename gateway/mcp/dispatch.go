package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/windlass-dev/windlass/libs/authn"
)

// request is a client's request.
type request struct {
	ctx     context.Context // of this request, which is passed along with it
	id      json.RawMessage
	method  string
	params  json.RawMessage
	common  params
	header  http.Header
	source  string // whose server is served; empty = the catalogue of all
	modern  bool
	session session // of the old era
	// sessionID is empty outside a session.
	sessionID string
	// accepts are the methods of the requests that the client answers.
	accepts []string
	out     *reply
}

// method is how a method of the protocol is served.
type method struct {
	legacy, modern bool
	serve          serving
	// list marks results that clients may cache.
	list bool
}

// methods are all that are served. It is a function because the table refers to functions that refer to it.
func methods() map[string]method {
	return map[string]method{
		string(mcp.MethodInitialize):             {legacy: true, serve: (*Handler).initialize},
		string(mcp.MethodPing):                   {legacy: true, serve: (*Handler).ping},
		string(mcp.MethodSetLogLevel):            {legacy: true, serve: ofCalls((*calls).setLogLevel)},
		string(mcp.MethodServerDiscover):         {modern: true, serve: (*Handler).discover},
		string(mcp.MethodSubscriptionsListen):    {modern: true, serve: (*Handler).listen},
		string(mcp.MethodToolsList):              {legacy: true, modern: true, list: true, serve: ofCalls((*calls).listTools)},
		string(mcp.MethodToolsCall):              {legacy: true, modern: true, serve: ofCalls((*calls).callTool)},
		string(mcp.MethodResourcesList):          {legacy: true, modern: true, list: true, serve: ofOffers((*offers).list)},
		string(mcp.MethodResourcesTemplatesList): {legacy: true, modern: true, list: true, serve: ofOffers((*offers).list)},
		string(mcp.MethodResourcesRead):          {legacy: true, modern: true, list: true, serve: ofOffers((*offers).readResource)},
		string(mcp.MethodResourcesSubscribe):     {legacy: true, serve: ofWatches((*watches).subscribe)},
		string(mcp.MethodResourcesUnsubscribe):   {legacy: true, serve: ofWatches((*watches).unsubscribe)},
		string(mcp.MethodPromptsList):            {legacy: true, modern: true, list: true, serve: ofOffers((*offers).list)},
		string(mcp.MethodPromptsGet):             {legacy: true, modern: true, serve: ofOffers((*offers).getPrompt)},
		string(mcp.MethodCompletionComplete):     {legacy: true, modern: true, serve: ofOffers((*offers).complete)},
	}
}

var served = methods()

// serving is how the methods of the handler and of its parts are called.
type serving = func(h *Handler, q *request) (any, *failure)

func ofCalls(f func(*calls, *request) (any, *failure)) serving {
	return func(h *Handler, q *request) (any, *failure) { return f(h.calls, q) }
}

func ofOffers(f func(*offers, *request) (any, *failure)) serving {
	return func(h *Handler, q *request) (any, *failure) { return f(h.offers, q) }
}

func ofWatches(f func(*watches, *request) (any, *failure)) serving {
	return func(h *Handler, q *request) (any, *failure) { return f(h.watches, q) }
}

// post serves one message of a client.
func (h *Handler) post(w http.ResponseWriter, r *http.Request, source string) {
	m, f := h.read(w, r)
	if f != nil {
		refuse(w, m.ID, f)
		return
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	q := &request{
		ctx: ctx, id: m.ID, method: m.Method, params: m.Params, header: r.Header, source: source,
		out: newReply(w, r, h.cfg.WriteTimeout, func() { cancel(nil) }),
	}
	if f := decode(m.Params, &q.common); f != nil {
		f.status = http.StatusBadRequest
		refuse(w, m.ID, f)
		return
	}
	if f := q.identify(r); f != nil {
		refuse(w, m.ID, f)
		return
	}
	switch {
	case m.Method == "" && !q.modern && m.ID != nil && (m.Result != nil || m.Error != nil):
		h.answered(w, q, m)
		return
	case m.Method == "":
		refuse(w, m.ID, &failure{Code: mcp.INVALID_REQUEST, Message: "the message has no method", status: http.StatusBadRequest})
		return
	case m.ID == nil:
		h.notified(q)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	end := h.running.begin(q.key(m.ID), cancel)
	defer end()
	q.out.keepAlive(h.cfg.Heartbeat)
	defer q.out.close()
	result, f := h.serve(q)
	if errors.Is(context.Cause(ctx), errCancelled) {
		f = &failure{Code: mcp.REQUEST_INTERRUPTED, Message: errCancelled.Error()}
	}
	q.out.end(m.ID, result, f)
}

func refuse(w http.ResponseWriter, id json.RawMessage, f *failure) {
	body, status := envelope(id, nil, f)
	writeJSON(w, status, body)
}

// key identifies the request among those in progress.
func (q *request) key(id json.RawMessage) runningKey {
	return runningKey{subject(q.ctx), q.sessionID, string(id)}
}

// ownSession identifies the session of one caller. The caller belongs to it: the id of another caller's session leads to nothing of it.
type ownSession struct{ caller, id string }

// own returns the request's session as the caller's.
func (q *request) own() ownSession { return ownSession{subject(q.ctx), q.sessionID} }

// subject identifies the caller.
func subject(ctx context.Context) string {
	return authn.Tenant(ctx) + "/" + authn.From(ctx).GetSubject()
}

// identify determines the era of a request and what its client can do.
func (q *request) identify(r *http.Request) *failure {
	version, meta := r.Header.Get(mcp.HeaderProtocolVersion), q.common.Meta
	if q.modern = mcp.IsModernProtocol(version) || mcp.IsModernProtocol(meta.Version); q.modern {
		return q.identifyModern(version)
	}
	if version != "" && !mcp.IsValidProtocolVersion(version) && q.method != string(mcp.MethodInitialize) {
		return &failure{Code: mcp.INVALID_REQUEST, Message: fmt.Sprintf("protocol version %q is not supported", version), status: 400}
	}
	if id := r.Header.Get(mcp.HeaderSessionID); id != "" && q.method != string(mcp.MethodInitialize) {
		s, ok := parseSession(id)
		if !ok {
			return &failure{Code: mcp.INVALID_REQUEST, Message: "there is no such session; initialize a new one", status: http.StatusNotFound}
		}
		q.session, q.sessionID, q.accepts = s, id, s.Accepts
	}
	return nil
}

func (q *request) identifyModern(version string) *failure {
	meta := q.common.Meta
	mismatch := func(why string) *failure {
		return &failure{Code: mcp.HEADER_MISMATCH, Message: why, status: http.StatusBadRequest}
	}
	switch {
	case version == "":
		return mismatch("the header " + mcp.HeaderProtocolVersion + " is missing")
	case meta.Version == "":
		return &failure{Code: mcp.INVALID_PARAMS, Message: "_meta has no " + mcp.MetaKeyProtocolVersion, status: http.StatusBadRequest}
	case version != meta.Version:
		return mismatch(fmt.Sprintf("the header %s is %q, _meta says %q", mcp.HeaderProtocolVersion, version, meta.Version))
	case version != mcp.LATEST_PROTOCOL_VERSION:
		return &failure{
			Code: mcp.UNSUPPORTED_PROTOCOL_VERSION, Message: fmt.Sprintf("protocol version %q is not supported", version),
			status: http.StatusBadRequest,
			Data:   mcp.UnsupportedProtocolVersionData{Requested: version, Supported: mcp.ValidProtocolVersions[:len(mcp.ValidProtocolVersions)-1]},
		}
	case len(meta.Capabilities) == 0 && q.id != nil:
		return &failure{Code: mcp.INVALID_PARAMS, Message: "_meta has no " + mcp.MetaKeyClientCapabilities, status: http.StatusBadRequest}
	}
	if err := mcp.ValidateStandardHeaders(q.header.Get, version, mcp.MCPMethod(q.method), q.params); err != nil {
		return mismatch(err.Error())
	}
	var able capabilities
	if len(meta.Capabilities) > 0 && json.Unmarshal(meta.Capabilities, &able) != nil {
		return &failure{Code: mcp.INVALID_PARAMS, Message: mcp.MetaKeyClientCapabilities + " is no object", status: http.StatusBadRequest}
	}
	q.accepts = able.accepts()
	return nil
}

// serve returns a method's result.
func (h *Handler) serve(q *request) (any, *failure) {
	m, ok := served[q.method]
	if !ok || q.modern && !m.modern || !q.modern && !m.legacy {
		f := &failure{Code: mcp.METHOD_NOT_FOUND, Message: fmt.Sprintf("there is no method %q", q.method)}
		if q.modern {
			f.status = http.StatusNotFound
		}
		return nil, f
	}
	result, f := m.serve(h, q)
	if f != nil {
		if q.modern && f.status == 0 && (f.Code == mcp.INVALID_PARAMS || f.Code == mcp.HEADER_MISMATCH) {
			f.status = http.StatusBadRequest
		}
		return nil, f
	}
	if fields, ok := result.(map[string]any); ok && q.modern {
		q.modernize(fields, m.list)
	}
	return result, nil
}

// modernize adds what results of the new era have.
func (q *request) modernize(result map[string]any, list bool) {
	if result["resultType"] == nil {
		result["resultType"] = mcp.ResultTypeComplete
	}
	meta := map[string]any{}
	switch have := result["_meta"].(type) {
	case map[string]any:
		meta = have
	case json.RawMessage:
		if json.Unmarshal(have, &meta) != nil || meta == nil {
			meta = map[string]any{}
		}
	}
	meta[mcp.MetaKeyServerInfo] = serverInfo()
	result["_meta"] = meta
	if list && result["resultType"] == mcp.ResultTypeComplete { // what policy lets one caller see is not for caches that several share
		result["ttlMs"], result["cacheScope"] = listTTL, mcp.CacheScopePrivate
	}
}

func (h *Handler) ping(*request) (any, *failure) { return struct{}{}, nil }

// notified serves a notification.
func (h *Handler) notified(q *request) {
	if q.method != string(mcp.MethodNotificationCancelled) || q.modern {
		return
	}
	var p struct {
		ID json.RawMessage `json:"requestId"`
	}
	if decode(q.params, &p) == nil {
		h.running.cancel(q.key(p.ID))
	}
}

// levels are the levels of log messages, the lowest first.
var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
