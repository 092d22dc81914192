package show

import (
	"maps"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/libs/enum"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// Selector formats a selector of a tool group on one line, for example "github/* read team=pay #orders".
func Selector(s *registryv1.ToolSelector) string {
	words := []string{orAll(s.GetSource()) + "/" + orAll(s.GetName())}
	for _, e := range s.GetEffects() {
		words = append(words, enum.Name(e))
	}
	for _, name := range slices.Sorted(maps.Keys(s.GetLabels())) {
		words = append(words, name+"="+s.GetLabels()[name])
	}
	for _, tag := range s.GetTags() {
		words = append(words, "#"+tag)
	}
	return strings.Join(words, " ")
}

func orAll(glob string) string {
	if glob == "" {
		return "*"
	}
	return glob
}
