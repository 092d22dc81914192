package health

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/windlass-dev/windlass/libs/config"
)

// crowded is the part of a memory limit above which collecting garbage begins to cost more than it should.
const crowded = 0.9

// checkMemory reports the memory of the gateway's process and its limit. It reports nothing to a caller who may not read metrics.
func (s server) checkMemory(ctx context.Context) []Finding {
	status, body, err := s.client.Probe(ctx, "/metrics")
	if err != nil || status != http.StatusOK {
		return nil
	}
	values := map[string]float64{}
	for lines := bufio.NewScanner(bytes.NewReader(body)); lines.Scan(); {
		name, text, _ := strings.Cut(lines.Text(), " ")
		switch name {
		case "go_gc_gomemlimit_bytes", "go_memstats_sys_bytes", "go_memstats_heap_released_bytes":
			if v, err := strconv.ParseFloat(text, 64); err == nil {
				values[name] = v
			}
		}
	}
	limit, ok := values["go_gc_gomemlimit_bytes"]
	if !ok {
		return nil
	}
	used := values["go_memstats_sys_bytes"] - values["go_memstats_heap_released_bytes"]
	switch {
	case limit >= math.MaxInt64:
		return []Finding{{Check: "memory", Outcome: OK, Detail: megabytes(used) + " in use, no limit"}}
	case used > crowded*limit:
		return []Finding{{
			"memory", Warning, fmt.Sprintf("%s of a limit of %s in use", megabytes(used), megabytes(limit)),
			"Set memory.limit: auto, or a higher one; or give the machine more memory.",
		}}
	}
	return []Finding{{Check: "memory", Outcome: OK, Detail: fmt.Sprintf("%s of a limit of %s in use", megabytes(used), megabytes(limit))}}
}

func megabytes(bytes float64) string {
	return config.Size(math.Ceil(bytes/(1<<20)) * (1 << 20)).String()
}
