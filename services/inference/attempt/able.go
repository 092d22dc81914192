package attempt

import (
	"fmt"

	"github.com/windlass-dev/windlass/services/inference/catalog"
	"github.com/windlass-dev/windlass/services/inference/parts"
)

// preferAble moves targets that do not take the kind of a file in the turn's input behind those that do. If none takes all, the order
// stays, and the file is degraded as the request says.
func (r *run) preferAble() {
	if len(r.Targets) < 2 {
		return
	}
	var able, unable []catalog.Model
	var notes []string
	for _, t := range r.Targets {
		kind := parts.Refuses(r.caller.models.Sheet(t), r.Request.TurnID, r.Request.Messages)
		if kind == "" {
			able = append(able, t)
			continue
		}
		if len(able) == 0 {
			notes = append(notes, fmt.Sprintf("%s is not asked first: it takes no %s", t.FullName(), kind))
		}
		unable = append(unable, t)
	}
	if len(able) > 0 && len(notes) > 0 {
		r.Targets, r.notes = append(able, unable...), notes
	}
}
