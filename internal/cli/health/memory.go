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
	"github.com/windlass-dev/windlass/libs/metrics"
)

// crowded is the part of what a process may use above which collecting garbage begins to cost more than it should.
const crowded = 0.9

// checkMemory reports what the gateway's process uses besides garbage, and what it may use. It reports nothing to a caller who may not read
// metrics.
func (s server) checkMemory(ctx context.Context) []Finding {
	status, body, err := s.client.Probe(ctx, "/metrics")
	if err != nil || status != http.StatusOK {
		return nil
	}
	used, limit := metrics.MemoryUsed.Series(), metrics.MemoryLimit.Series()
	values := map[string]float64{}
	for lines := bufio.NewScanner(bytes.NewReader(body)); lines.Scan(); {
		name, text, _ := strings.Cut(lines.Text(), " ")
		switch name {
		case used, limit:
			if v, err := strconv.ParseFloat(text, 64); err == nil {
				values[name] = v
			}
		}
	}
	have, ok := values[used]
	most, limited := values[limit]
	switch {
	case !ok:
		return nil
	case !limited:
		return []Finding{{Check: "memory", Outcome: OK, Detail: megabytes(have) + " in use, no limit"}}
	case have > crowded*most:
		return []Finding{{
			"memory", Warning, fmt.Sprintf("%s of a limit of %s in use", megabytes(have), megabytes(most)),
			"Set memory.limit: auto, or a higher one; or give the machine more memory.",
		}}
	}
	return []Finding{{Check: "memory", Outcome: OK, Detail: fmt.Sprintf("%s of a limit of %s in use", megabytes(have), megabytes(most))}}
}

func megabytes(bytes float64) string {
	return config.Size(math.Ceil(bytes/(1<<20)) * (1 << 20)).String()
}
