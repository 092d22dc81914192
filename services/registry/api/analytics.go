package api

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/sealedresult"
	"github.com/windlass-dev/windlass/libs/timestamp"
	"github.com/windlass-dev/windlass/libs/truncate"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/registry/store"
)

const (
	// maxAnalysed and maxUsages bound the work and the size of statistics.
	maxAnalysed, maxUsages = 1_000_000, 1000
	// analysisTimeout bounds the time of statistics.
	analysisTimeout = 30 * time.Second
	// recentDefault and recentMax are numbers of recent executions, recentText bounds their input and output in bytes, recentResult the
	// results that are read for that.
	recentDefault, recentMax, recentText, recentResult = 20, 100, 2 << 10, 64 << 10
)

// ToolAnalytics implements ToolAnalyticsService.
type ToolAnalytics struct {
	registryv1.UnimplementedToolAnalyticsServiceServer
	store        store.Store
	now          func() time.Time
	maxTextBytes int
}

// GetToolAnalytics implements ToolAnalyticsService.
func (s *ToolAnalytics) GetToolAnalytics(ctx context.Context, req *registryv1.GetToolAnalyticsRequest) (*registryv1.ToolAnalytics, error) {
	ctx, cancel := context.WithTimeout(ctx, analysisTimeout)
	defer cancel()
	period := defaultPeriod
	if req.GetPeriod() != nil {
		period = req.GetPeriod().AsDuration()
	}
	f := store.UsageFilter{Since: s.now().Add(-period), Source: req.GetSource(), Tool: req.GetTool()}
	rows, err := s.store.ToolUsage(ctx, authn.Tenant(ctx), f, maxAnalysed, maxUsages)
	if err != nil {
		return nil, err
	}
	out := &registryv1.ToolAnalytics{Since: timestamp.Of(f.Since)}
	var calls int64
	for _, u := range rows {
		calls += u.Calls
		out.Tools = append(out.Tools, &registryv1.ToolUsage{
			Tool: u.Tool, Source: u.Source, Calls: u.Calls, Errors: u.Errors, ErrorRate: rate(u.Errors, u.Calls),
			CacheHits: u.Hits, CacheHitRate: rate(u.Hits, u.Hits+u.Misses), MeanLatencyMs: millis(u.Mean), P95LatencyMs: millis(u.P95),
		})
	}
	out.Truncated = calls >= maxAnalysed
	return out, nil
}

func rate(part, all int64) float64 {
	if all == 0 {
		return 0
	}
	return float64(part) / float64(all)
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// ListRecentExecutions implements ToolAnalyticsService.
func (s *ToolAnalytics) ListRecentExecutions(ctx context.Context, req *registryv1.ListRecentExecutionsRequest,
) (*registryv1.ListRecentExecutionsResponse, error) {
	limit := int(req.GetLimit())
	if limit == 0 {
		limit = recentDefault
	}
	rows, err := s.store.Recent(ctx, authn.Tenant(ctx), req.GetTool(), min(limit, recentMax), recentText, recentResult)
	if err != nil {
		return nil, err
	}
	resp := &registryv1.ListRecentExecutionsResponse{}
	for _, row := range rows {
		e, err := wholeExecution(row, recentText)
		if err != nil {
			return nil, err
		}
		resp.Executions = append(resp.Executions, e)
	}
	return resp, nil
}

// GetExecution implements ToolAnalyticsService.
func (s *ToolAnalytics) GetExecution(ctx context.Context, req *registryv1.GetExecutionRequest) (*registryv1.Execution, error) {
	row, err := s.store.ExecutionByID(ctx, authn.Tenant(ctx), req.GetExecutionId())
	if errors.Is(err, store.ErrNotFound) {
		return nil, fault.NotFound("there is no execution %q", req.GetExecutionId())
	}
	if err != nil {
		return nil, fmt.Errorf("read execution: %w", err)
	}
	return wholeExecution(row, s.maxTextBytes)
}

// wholeExecution converts a row with its input and output, of which each has at most limit bytes.
func wholeExecution(row store.Execution, limit int) (*registryv1.Execution, error) {
	e := executionToProto(row)
	e.Input = truncate.Cut(row.Arguments, limit)
	if row.State != store.Done || len(row.Result) == 0 || sealedresult.Is(row.Result) { // the row of a waiting execution has its question
		return e, nil
	}
	result := &turnv1.ToolResult{}
	if err := proto.Unmarshal(row.Result, result); err != nil {
		return nil, fmt.Errorf("decode result of %s: %w", row.ID, err)
	}
	e.Output = truncate.Cut(resultText(result), limit)
	return e, nil
}

// resultText returns the text of a result, or its structured content if it has none. Other content is only named.
func resultText(result *turnv1.ToolResult) string {
	var texts []string
	for _, part := range flat(result.GetContent()) {
		switch {
		case part.GetBlob() != nil:
			texts = append(texts, fmt.Sprintf("[%d bytes of %s]", len(part.GetBlob().GetData()), part.GetBlob().GetMediaType()))
		case part.GetLink() != nil:
			texts = append(texts, part.GetLink().GetUri())
		default:
			texts = append(texts, part.GetText())
		}
	}
	if len(texts) > 0 || result.GetStructuredContent() == nil {
		return strings.Join(texts, "\n")
	}
	return string(canon.ValueJSON(result.GetStructuredContent()))
}
