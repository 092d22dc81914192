// Package ask has shields that ask a service about texts, and so may get no answer, a late one or a wrong one.
package ask

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/windlass-dev/windlass/libs/backoff"
	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/libs/truncate"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	"github.com/windlass-dev/windlass/services/policy/shield"
)

// Allow is the action of an answer about a text with which nothing is wrong.
const Allow = "allow"

const (
	// maxQuestion bounds the texts of one question in bytes.
	maxQuestion = 1 << 20
	// maxReason is in characters.
	maxReason = 200
	// attempts bounds the requests after errors that may pass, within the shield's timeout.
	attempts = 2
	// pause is the time between two attempts.
	pause = 100 * time.Millisecond
)

// Question is about texts, none of which is empty.
type Question struct {
	// Stage is one of those in package shield.
	Stage string
	// Tenant, Subject, AgentID and TurnID say where the texts come from; any may be empty.
	Tenant, Subject, AgentID, TurnID string
	// Texts are not shared with the answerer's other questions.
	Texts []string
}

// Answer is about one text.
type Answer struct {
	// Action is Allow or one of those in package shield. Ask is for the stage Tool only.
	Action string
	// Categories are the kinds of things found.
	Categories []string
	// Reason is one line of at most 200 characters; may be empty.
	Reason string
	// Text replaces the text with the action Redact.
	Text string
	// FailedOpen means that the text was not checked, and passes.
	FailedOpen bool
}

// answerer answers questions: one answer for each text. Its errors are unusable if the next attempt would get the same.
type answerer interface {
	answer(ctx context.Context, q Question) ([]Answer, error)
	// joins reports whether an answer is about all texts of a question together, so that it does not apply to one of them alone.
	joins(stage string) bool
}

// unusableError says, for people, why there is no answer. It has no secrets.
type unusableError struct {
	why   string
	again bool // the next attempt may get one
}

func (e *unusableError) Error() string { return e.why }

func unusable(format string, args ...any) error {
	return &unusableError{why: fmt.Sprintf(format, args...)}
}

func transient(format string, args ...any) error {
	return &unusableError{why: fmt.Sprintf(format, args...), again: true}
}

// Secrets are those that headers refer to.
type Secrets interface {
	// Value returns the secret of a reference, "${secret:NAME}".
	Value(ctx context.Context, tenant, reference string) (secret.Value, error)
}

// Dialer returns HTTP clients.
type Dialer interface {
	Client(opts egress.Options) *http.Client
}

// Deps are what shields ask with.
type Deps struct {
	// Models are asked by shields of the kinds guard and moderation; required for them.
	Models Models
	// Egress reaches webhooks; required for them.
	Egress Dialer
	// Secrets are those in headers; nil refuses references.
	Secrets Secrets
	// Log receives failures.
	Log *slog.Logger
}

// Shield asks. It is safe for concurrent use.
type Shield struct {
	cfg   shield.Config
	who   answerer
	known *answers
	log   *slog.Logger
}

// kinds makes the answerers of the detectors that ask.
var kinds = map[string]func(shield.Config, Deps) (answerer, error){
	shield.Webhook:    newWebhook,
	shield.Guard:      newModel(inferencev1.ModerationForm_MODERATION_FORM_GUARD),
	shield.Moderation: newModel(inferencev1.ModerationForm_MODERATION_FORM_ENDPOINT),
}

// New returns the shield of a configuration that shield.New has completed.
func New(cfg shield.Config, deps Deps) (*Shield, error) {
	s := &Shield{cfg: cfg, log: deps.Log}
	var err error
	if s.known, err = newAnswers(); err != nil {
		return nil, err
	}
	s.who, err = kinds[cfg.Detector](cfg, deps)
	return s, err
}

// Check returns one answer for each text; an empty text is allowed. The error is FAILED_PRECONDITION/SHIELD_FAILED if there is no answer
// and the shield fails closed, or that of ctx.
func (s *Shield) Check(ctx context.Context, q Question) ([]Answer, error) {
	out := make([]Answer, len(q.Texts))
	asked := q
	asked.Texts = nil
	var at []int
	for i, text := range q.Texts {
		if out[i].Action = Allow; text == "" {
			continue
		}
		if known, ok := s.known.get(q, text); ok && !s.who.joins(q.Stage) {
			out[i] = known
			continue
		}
		asked.Texts, at = append(asked.Texts, text), append(at, i)
	}
	if len(at) == 0 {
		return out, nil
	}
	answers, err := s.answer(ctx, asked)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case s.cfg.OnError != shield.Open:
		s.log.WarnContext(ctx, "shield failed closed", "shield", s.cfg.Name, "stage", q.Stage, "turn_id", q.TurnID, "error", err)
		return nil, fault.FailedPrecondition(faultv1.Reason_REASON_SHIELD_FAILED,
			"shield %q could not check the %s: %s", s.cfg.Name, stageName(q.Stage), err).
			Hint("Repair what the shield asks, or let texts pass unchecked with on_error: open.")
	default:
		s.log.WarnContext(ctx, "shield failed open", "shield", s.cfg.Name, "stage", q.Stage, "turn_id", q.TurnID, "error", err)
		for _, i := range at {
			out[i] = Answer{Action: shield.Flag, Categories: []string{"unchecked"}, Reason: truncate.Line(err.Error(), maxReason), FailedOpen: true}
		}
		return out, nil
	}
	for n, i := range at {
		out[i] = answers[n]
		if !s.who.joins(q.Stage) {
			s.known.add(q, q.Texts[i], answers[n])
		}
	}
	return out, nil
}

// answer asks within the shield's timeout, and once more where that may help.
func (s *Shield) answer(ctx context.Context, q Question) ([]Answer, error) {
	size := 0
	for _, text := range q.Texts {
		size += len(text)
	}
	if size > maxQuestion {
		return nil, unusable("the texts have %d bytes, more than the %d that it is asked about", size, maxQuestion)
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	for attempt := 1; ; attempt++ {
		answers, err := s.who.answer(ctx, q)
		if err == nil && len(answers) != len(q.Texts) {
			err = unusable("%d answers about %d texts", len(answers), len(q.Texts))
		}
		if err == nil {
			err = allowed(q.Stage, answers)
		}
		if err == nil {
			return answers, nil
		}
		if ctx.Err() != nil {
			return nil, unusable("no answer within %s", s.cfg.Timeout)
		}
		if u, ok := errors.AsType[*unusableError](err); !ok || !u.again || attempt == attempts || backoff.Sleep(ctx, pause) != nil {
			return nil, err
		}
	}
}

// allowed checks the actions of answers, and makes reasons presentable.
func allowed(stage string, answers []Answer) error {
	for i := range answers {
		a := &answers[i]
		a.Reason = truncate.Line(a.Reason, maxReason)
		switch a.Action {
		case Allow, shield.Block, shield.Flag, shield.Redact:
		case shield.Ask:
			if stage != shield.Tool {
				return unusable("the action ask, which is for tool calls only")
			}
		default:
			return unusable("the action %q: want allow, block, redact, flag or ask", truncate.Line(a.Action, 20))
		}
	}
	return nil
}

// stageName is what a text of a stage is, for errors.
func stageName(stage string) string {
	switch stage {
	case shield.Tool:
		return "arguments of the call"
	case shield.Result:
		return "result of the call"
	case shield.Output:
		return "answer"
	default:
		return "input"
	}
}
