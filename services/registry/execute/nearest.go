package execute

import (
	"strings"

	"github.com/windlass-dev/windlass/libs/nearest"
)

const (
	// maxCandidates limits the names that a wrong one is compared with.
	maxCandidates = 2000
	// maxNear limits the suggested names.
	maxNear = 5
)

// nearestTools returns the names most similar to a wrong one, the best first: those a few letters away, and those of the same tool under
// another prefix.
func nearestTools(name string, names []string) []string {
	wrong := strings.ToLower(name)
	return nearest.Names(name, names, maxNear, func(known string) bool {
		_, tool, _ := strings.Cut(strings.ToLower(known), "__")
		return tool != "" && (tool == wrong || strings.HasSuffix(wrong, "_"+tool))
	})
}
