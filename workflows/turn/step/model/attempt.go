package model

import (
	"google.golang.org/protobuf/proto"

	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/turn/step"
)

// chain has a request call the models that the turn is pinned to, for the user of the turn.
func chain(w *step.Work, req *inferencev1.GenerateRequest) {
	surface := w.Loaded.GetSurface()
	req.Fallbacks = nil
	for _, t := range surface.GetFallbacks() {
		req.Fallbacks = append(req.Fallbacks, t.GetModel())
	}
	req.SwitchOnFilter, req.Principal, req.SessionId = surface.GetSwitchOnFilter(), w.Loaded.GetPrincipal(), w.Turn.SessionID
}

// record records an attempt, with what it cost.
func record(w *step.Work, a *turnv1.ModelAttempt) {
	AddCost(PriceOf(w.Loaded.GetSurface(), a.GetModel()), a.GetUsage())
	w.Attempts.Add(a)
}

// answered records the attempt that gave an answer, and adds to the answer's usage what it cost.
func answered(w *step.Work, finished *inferencev1.Finished) {
	a := finished.GetAttempt()
	if a == nil {
		a = &turnv1.ModelAttempt{Model: finished.GetModel(), Class: turnv1.AttemptClass_ATTEMPT_CLASS_ANSWERED}
	}
	AddCost(PriceOf(w.Loaded.GetSurface(), a.GetModel()), finished.GetUsage())
	a.Usage = Usage(finished)
	record(w, a)
}

// PriceOf returns the price of a model of a turn, nil if it has none.
func PriceOf(surface *turnv1.Surface, model string) *turnv1.Price {
	for _, t := range surface.GetFallbacks() {
		if t.GetModel() == model {
			return t.GetPrice()
		}
	}
	return surface.GetPrice()
}

// Cut records the attempt that the turn's end cuts off, adds to what it has used by then what that cost, and returns its model.
func Cut(w *step.Work, used *turnv1.Usage) string {
	a := w.Attempts.Cut(w.Loaded.GetSurface().GetModel())
	AddCost(PriceOf(w.Loaded.GetSurface(), a.GetModel()), used)
	a.Usage = proto.CloneOf(used)
	record(w, a)
	return a.GetModel()
}

// Settle sets the usage of a step to that of the attempts of its model calls. A step without attempts keeps its own.
func Settle(w *step.Work, out *turnv1.StepOutcome) {
	out.ModelAttempts = w.Attempts.All()
	if len(out.GetModelAttempts()) == 0 {
		AddCost(w.Loaded.GetSurface().GetPrice(), out.GetUsage())
		return
	}
	sum := &turnv1.Usage{}
	for _, a := range out.GetModelAttempts() {
		AddTokens(sum, a.GetUsage())
		sum.ModelCalls += a.GetUsage().GetModelCalls()
	}
	sum.ModelCalls = max(sum.GetModelCalls(), out.GetUsage().GetModelCalls())
	sum.ToolCalls = out.GetUsage().GetToolCalls()
	out.Usage = sum
}
