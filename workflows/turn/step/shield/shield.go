// Package shield has the texts of a turn checked by its agent's shields: input, answers, the arguments of calls and their results.
package shield

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/turn/step"
)

// TextChecker is what is needed of policy.
type TextChecker interface {
	CheckText(context.Context, *policyv1.CheckTextRequest, ...grpc.CallOption) (*policyv1.CheckTextResponse, error)
}

// Stages of shields.
const (
	StageInput  = "input"
	StageTool   = "tool"
	StageResult = "result"
	StageOutput = "output"
)

const (
	// stagesAge is how long a worker caches which stages shields check.
	stagesAge = 10 * time.Second
	// lateCheck bounds the check of a text that was cut off by the end of its turn.
	lateCheck = 5 * time.Second
	// shieldSets bounds the sets of shields whose stages are remembered.
	shieldSets = 1024
	// textsAtOnce bounds the texts of one question to shields.
	textsAtOnce = 5000
	// Code is the code of a tool call that a shield blocks, or whose result it does.
	Code = "shield_blocked"
)

// stagesSeen are the stages that a set of shields checks.
type stagesSeen struct {
	stages, held []string
	at           time.Time
}

// Checker asks shields. It is safe for concurrent use.
type Checker struct {
	texts  TextChecker
	stages *lru.Cache[string, stagesSeen] // by names of shields
}

// New returns a Checker that asks texts.
func New(texts TextChecker) (*Checker, error) {
	stages, err := lru.New[string, stagesSeen](shieldSets)
	if err != nil {
		return nil, fmt.Errorf("shields: %w", err)
	}
	return &Checker{texts: texts, stages: stages}, nil
}

// AppliesTo reports whether one of the agent's shields checks a stage. Without shields it costs nothing.
func (c *Checker) AppliesTo(ctx context.Context, a *sessionsv1.Agent, stage string) (bool, error) {
	if len(a.GetShields()) == 0 {
		return false, nil
	}
	seen, err := c.loadStages(ctx, a)
	return slices.Contains(seen.stages, stage), err
}

// loadStages returns the stages that the agent's shields check, from policy or the cache.
func (c *Checker) loadStages(ctx context.Context, a *sessionsv1.Agent) (stagesSeen, error) {
	key := strings.Join(a.GetShields(), "\x00")
	if seen, ok := c.stages.Get(key); ok && time.Since(seen.at) < stagesAge {
		return seen, nil
	}
	resp, err := c.texts.CheckText(ctx, &policyv1.CheckTextRequest{Shields: a.GetShields(), Stage: StageOutput})
	if err != nil {
		return stagesSeen{}, fmt.Errorf("ask shields: %w", err)
	}
	seen := stagesSeen{resp.GetStages(), resp.GetHeldStages(), time.Now()}
	c.stages.Add(key, seen)
	return seen, nil
}

// Check asks the shields of a turn's agent about texts, one answer for each; nil when none applies there.
func (c *Checker) Check(ctx context.Context, loaded *step.Loaded, stage string, texts ...string) ([]*policyv1.CheckedText, error) {
	a := loaded.GetAgent()
	applies, err := c.AppliesTo(ctx, a, stage)
	if err != nil || !applies || len(texts) == 0 {
		return nil, err
	}
	from := &policyv1.TextOrigin{
		Tenant: loaded.GetPrincipal().GetTenant(), Subject: loaded.GetPrincipal().GetSubject(), AgentId: a.GetId(),
		TurnId: loaded.GetTurn().GetId(),
	}
	checked := make([]*policyv1.CheckedText, 0, len(texts))
	for part := range slices.Chunk(texts, textsAtOnce) {
		resp, err := c.texts.CheckText(ctx, &policyv1.CheckTextRequest{Shields: a.GetShields(), Stage: stage, Texts: part, Origin: from})
		if err != nil {
			return nil, fmt.Errorf("ask shields: %w", err)
		}
		if len(resp.GetTexts()) != len(part) {
			return nil, fmt.Errorf("ask shields: %d answers about %d texts", len(resp.GetTexts()), len(part))
		}
		checked = append(checked, resp.GetTexts()...)
	}
	return checked, nil
}

// Failed returns why a shield that must not be skipped could not check texts; "" if err is something else. No retry helps the step.
func Failed(err error) string {
	if err == nil || !fault.Is(err, faultv1.Reason_REASON_SHIELD_FAILED) {
		return ""
	}
	return fault.From(err).Message
}

// Triggered returns an event for each shield and action that something in the texts led to.
func Triggered(stage, callID string, checked []*policyv1.CheckedText) []*turnv1.Event {
	var out []*turnv1.Event
	at := map[string]*turnv1.ShieldTriggered{}
	for _, found := range checked {
		for _, h := range found.GetHits() {
			key := h.GetShield() + " " + h.GetAction()
			e := at[key]
			if e == nil {
				e = &turnv1.ShieldTriggered{
					Shield: h.GetShield(), Stage: stage, Action: h.GetAction(), CallId: callID, Reason: h.GetReason(), FailedOpen: h.GetFailedOpen(),
				}
				at[key] = e
				out = append(out, &turnv1.Event{Data: &turnv1.Event_ShieldTriggered{ShieldTriggered: e}})
			}
			e.Categories = append(e.Categories, h.GetCategories()...)
			slices.Sort(e.Categories)
			e.Categories = slices.Compact(e.Categories)
		}
	}
	return out
}

// Blocker names the shields that block one of the texts, "" when none does.
func Blocker(checked []*policyv1.CheckedText) string {
	var names []string
	for _, found := range checked {
		for _, h := range found.GetHits() {
			if name := fmt.Sprintf("%q", h.GetShield()); h.GetAction() == "block" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return strings.Join(names, ", ")
}

// Withheld is what stands in the place of something that shields block.
func Withheld(what string, checked ...*policyv1.CheckedText) string {
	return "[" + what + " withheld by shield " + Blocker(checked) + "]"
}
