package provider

import "github.com/windlass-dev/windlass/services/inference/provider/feature"

// Check returns the error of a request that sets a field which its model does not take.
func (r Request) Check(row feature.Row, model string) error {
	return row.Check(model, feature.Request{Temperature: r.Temperature, Generation: r.Generation, Tools: r.Tools})
}

// Forces returns the tool that the model must call, feature.Any for one that it chooses, "" if it need not call any.
func (r Request) Forces() string { return feature.Forces(r.Generation) }

// CallsNone reports whether the model must call no tool.
func (r Request) CallsNone() bool { return r.Generation.GetToolChoice() == feature.None }

// OneCall reports whether the model must not call several tools at once.
func (r Request) OneCall() bool { return feature.OneCall(r.Generation) }

// Reasons reports whether the model is to reason, with an effort.
func (r Request) Reasons() bool {
	return r.Generation.GetReasoningEffort() != "" && r.Generation.GetReasoningEffort() != feature.EffortNone
}
