package catalog

import (
	"fmt"
	"strings"

	"github.com/windlass-dev/windlass/services/inference/provider"
	"github.com/windlass-dev/windlass/services/inference/provider/anthropic"
	"github.com/windlass-dev/windlass/services/inference/provider/bedrock"
	"github.com/windlass-dev/windlass/services/inference/provider/gemini"
	"github.com/windlass-dev/windlass/services/inference/provider/ollama"
	"github.com/windlass-dev/windlass/services/inference/provider/openai"
	"github.com/windlass-dev/windlass/services/inference/provider/responses"
	"github.com/windlass-dev/windlass/services/inference/provider/scripted"
)

// kinds lists the kinds of providers, in the order in which they are detected.
var kinds = []provider.Kind{
	openai.Kind{},
	responses.Kind{},
	anthropic.Kind{},
	gemini.Kind{},
	bedrock.Kind{},
	ollama.Kind{},
	scripted.Kind{},
}

// kindOf returns the kind with a name.
func kindOf(name string) (provider.Kind, error) {
	var names []string
	for _, k := range kinds {
		if k.Traits().Name == name {
			return k, nil
		}
		names = append(names, k.Traits().Name)
	}
	last := len(names) - 1
	return nil, fmt.Errorf("kind %q: it must be %s or %s", name, strings.Join(names[:last], ", "), names[last])
}
