// Package route chooses the models of a turn: the targets of the first route that matches it, otherwise the model and the fallbacks of its
// agent.
package route

import (
	"fmt"
	"regexp"
	"strings"
)

// Config is one route.
type Config struct {
	Name           string         `yaml:"name" doc:"Name of the route, for explanations and events."`
	When           string         `yaml:"when" doc:"Condition in CEL over agent, model (of the agent), tenant, principal (subject, roles, claims), modalities (of the input: text, image, audio, video, file) and size (estimated tokens of the conversation). Empty: the route matches each turn. A condition that cannot be evaluated does not match."`
	Targets        []TargetConfig `yaml:"targets" doc:"Models to call. Those with a weight come first, in an order that is drawn for each session; those without follow in this order."`
	SwitchOnFilter bool           `yaml:"switch_on_filter" doc:"Request an answer that the provider's content filter ended from the next target."`
	Default        bool           `yaml:"default" doc:"Evaluate the route after those that tenants create with the API. Otherwise it comes before them, and they cannot change what it chooses."`
}

// TargetConfig is a model of a route.
type TargetConfig struct {
	Model  string `yaml:"model" doc:"The model, as provider/model."`
	Weight int    `yaml:"weight" doc:"Share of the sessions that call it first, relative to the other weights, at most 1000. 0: it is called after those with a weight."`
}

const (
	// maxTargets bounds the targets of a route.
	maxTargets = 64
	maxWeight  = 1000
	// MaxPriority bounds the priority of stored routes, upwards and downwards.
	MaxPriority = 1000
	// maxCompiled bounds what the patterns of a condition are compiled to: instructions, and ranges of characters in their classes.
	maxCompiled = 32_768
)

var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)

// FieldError is what is wrong with a field of a route.
type FieldError struct{ Field, Message string }

// Error implements error.
func (m *FieldError) Error() string { return m.Field + " " + m.Message }

func mistake(field, format string, args ...any) *FieldError {
	return &FieldError{field, fmt.Sprintf(format, args...)}
}

// check returns the first mistake of a route, apart from its condition; nil = none.
func (c Config) check() *FieldError {
	switch {
	case !nameForm.MatchString(c.Name):
		return mistake("name", "%q: lower-case letters, digits, dots, dashes, 63 at most", c.Name)
	case len(c.Targets) == 0:
		return mistake("targets", "is empty: name at least one model")
	case len(c.Targets) > maxTargets:
		return mistake("targets", "has %d models, at most %d are possible", len(c.Targets), maxTargets)
	}
	seen := map[string]bool{}
	for i, t := range c.Targets {
		field := fmt.Sprintf("targets[%d].", i)
		provider, model, _ := strings.Cut(t.Model, "/")
		switch {
		case provider == "" || model == "":
			return mistake(field+"model", "%q: write provider/model", t.Model)
		case seen[t.Model]:
			return mistake(field+"model", "%q is there twice", t.Model)
		case t.Weight < 0 || t.Weight > maxWeight:
			return mistake(field+"weight", "is %d: it must be 0 to %d", t.Weight, maxWeight)
		}
		seen[t.Model] = true
	}
	return nil
}
