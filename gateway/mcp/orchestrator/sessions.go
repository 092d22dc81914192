package orchestrator

import (
	"context"
	"encoding/json"
	"time"

	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

func listAgents(ctx context.Context, o *Orchestrator, c Call) (any, error) {
	args, err := read[struct {
		PageToken string `json:"page_token"`
	}](c)
	if err != nil {
		return nil, err
	}
	page, err := o.agents.ListAgents(ctx, &sessionsv1.ListAgentsRequest{PageSize: 100, PageToken: args.PageToken})
	if err != nil {
		return nil, err
	}
	type agentView struct {
		ID          string `json:"agent_id"`
		Name        string `json:"name,omitempty"`
		Description string `json:"description,omitempty"`
	}
	agents := []agentView{}
	for _, a := range page.GetAgents() {
		agents = append(agents, agentView{a.GetId(), a.GetDisplayName(), a.GetDescription()})
	}
	return withNext(map[string]any{"agents": agents}, page.GetNextPageToken()), nil
}

func withNext(result map[string]any, token string) map[string]any {
	if token != "" {
		result["next_page_token"] = token
	}
	return result
}

// sessionView is a session as models read it.
type sessionView struct {
	ID           string            `json:"session_id"`
	AgentID      string            `json:"agent_id"`
	Title        string            `json:"title,omitempty"`
	ActiveTurnID string            `json:"active_turn_id,omitempty"`
	Labels       map[string]string `json:"labels,omitempty"`
	UpdateTime   string            `json:"update_time"`
}

func sessionOf(s *sessionsv1.Session) sessionView {
	return sessionView{
		s.GetId(), s.GetAgentId(), s.GetTitle(), s.GetActiveTurnId(), s.GetLabels(), s.GetUpdateTime().AsTime().Format(time.RFC3339),
	}
}

func listSessions(ctx context.Context, o *Orchestrator, c Call) (any, error) {
	args, err := read[struct {
		AgentID   string `json:"agent_id"`
		Children  bool   `json:"children"`
		Active    *bool  `json:"active"`
		PageToken string `json:"page_token"`
	}](c)
	if err != nil {
		return nil, err
	}
	req := &sessionsv1.ListSessionsRequest{PageSize: 50, AgentId: args.AgentID, Active: args.Active, PageToken: args.PageToken}
	if args.Children {
		parent, err := o.parent(ctx, c)
		if err != nil {
			return nil, err
		}
		if parent == nil {
			return map[string]any{"sessions": []sessionView{}}, nil
		}
		req.Label = []string{ParentSession + "=" + parent.GetId()}
	}
	page, err := o.sessions.ListSessions(ctx, req)
	if err != nil {
		return nil, err
	}
	sessions := []sessionView{}
	for _, s := range page.GetSessions() {
		sessions = append(sessions, sessionOf(s))
	}
	return withNext(map[string]any{"sessions": sessions}, page.GetNextPageToken()), nil
}

func getSession(ctx context.Context, o *Orchestrator, c Call) (any, error) {
	args, err := read[struct {
		SessionID string `json:"session_id"`
	}](c)
	if err != nil {
		return nil, err
	}
	s, err := o.sessions.GetSession(ctx, &sessionsv1.GetSessionRequest{SessionId: args.SessionID})
	if err != nil {
		return nil, err
	}
	turns, err := o.turns.ListTurns(ctx, &sessionsv1.ListTurnsRequest{SessionId: args.SessionID, PageSize: 10})
	if err != nil {
		return nil, err
	}
	views := []turnView{}
	for _, t := range turns.GetTurns() {
		views = append(views, o.viewOf(t))
	}
	return map[string]any{"session": sessionOf(s), "turns": views}, nil
}

// object returns the schema of an object with the given properties, as JSON.
func object(properties string, required string) json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{` + properties + `},"required":[` + required + `],"additionalProperties":false}`)
}

// Parts of schemas.
const (
	agentID   = `"agent_id":{"type":"string","description":"id of an agent, from list_agents"}`
	sessionID = `"session_id":{"type":"string","description":"id of a session, ses_…"}`
	turnID    = `"turn_id":{"type":"string","description":"id of a turn, trn_…"}`
	message   = `"message":{"type":"string","minLength":1,"description":"what the agent is to do"}`
	wait      = `"wait_seconds":{"type":"number","minimum":0,"maximum":600,"description":"how long to wait for the answer; 0 returns at once"}`
	pageToken = `"page_token":{"type":"string","description":"next_page_token of the previous page"}` //nolint:gosec // a schema
)

var tools = []Tool{
	{
		Name: "list_agents", Title: "List agents", Description: "Lists the agents that can be given work, with what they are for.",
		Input: object(pageToken, ""), ReadOnly: true, Idempotent: true, run: listAgents,
	},
	{
		Name: "start_session", Title: "Start a session",
		Description: "Gives work to an agent in a new session. Returns the turn, with the agent's answer if it came in time.",
		Input: object(agentID+","+message+","+wait+`,"title":{"type":"string","maxLength":200,"description":"title of the session, for people"},`+
			`"params":{"type":"object","description":"parameters that the agent takes; left out = those of the calling session"}`,
			`"agent_id","message"`),
		run: startSession,
	},
	{
		Name: "send_message", Title: "Send a message",
		Description: "Sends a message to a session, which resumes it. While its agent is at work, mode decides what happens: enqueue (default) " +
			"answers it afterwards, steer adds it to the running turn, interrupt cancels that first.",
		Input: object(sessionID+","+message+`,"mode":{"type":"string","enum":["enqueue","steer","interrupt"]},`+wait, `"session_id","message"`),
		run:   sendMessage,
	},
	{
		Name: "wait_for_turn", Title: "Wait for a turn",
		Description: "Waits until a turn ends, or waits for a person; 60 seconds unless wait_seconds says otherwise. Returns it with its answer.",
		Input:       object(turnID+","+wait, `"turn_id"`), ReadOnly: true, Idempotent: true, run: waitForTurn,
	},
	{
		Name: "get_session", Title: "Get a session", Description: "Returns a session with its latest turns.",
		Input: object(sessionID, `"session_id"`), ReadOnly: true, Idempotent: true, run: getSession,
	},
	{
		Name: "list_sessions", Title: "List sessions", Description: "Lists sessions, the latest first.",
		Input: object(agentID+`,"children":{"type":"boolean","description":"only those that the calling session has started"},`+
			`"active":{"type":"boolean","description":"only those whose agent is at work, or only those whose is not"},`+pageToken, ""),
		ReadOnly: true, Idempotent: true, run: listSessions,
	},
	{
		Name: "cancel_turn", Title: "Cancel a turn", Description: "Cancels a turn, and with it what its agent has others do.",
		Input:      object(turnID+`,"reason":{"type":"string","maxLength":500,"description":"why, for the record"}`, `"turn_id"`),
		Idempotent: true, run: cancelTurn,
	},
	{
		Name: "read_events", Title: "Read events",
		Description: "Returns what has happened in a turn, event by event. Continue with the cursor as after.",
		Input:       object(turnID+`,"after":{"type":"string","description":"cursor of the previous call"}`, `"turn_id"`),
		ReadOnly:    true, Idempotent: true, run: readEvents,
	},
	{
		Name: "list_approvals", Title: "List approvals",
		Description: "Lists what waits for a person: calls to approve or deny (decide is true), and questions, answered at answer_at.",
		Input:       object(pageToken, ""), ReadOnly: true, Idempotent: true, run: listApprovals,
	},
	{
		Name: "decide_approval", Title: "Approve or deny a call",
		Description: "Passes on the decision of a person about a call. Show them its tool and arguments first, and call this only with what " +
			"they decided themselves.",
		Input: object(`"approval_id":{"type":"string","description":"id of an approval, apr_…"},`+
			`"decision":{"type":"string","enum":["approve","deny"]},`+
			`"arguments_hash":{"type":"string","description":"arguments_hash of the call that the person has seen"},`+
			`"comment":{"type":"string","maxLength":2000,"description":"the reason; after a denial the agent reads it"}`,
			`"approval_id","decision","arguments_hash"`),
		run: decideApproval,
	},
}
