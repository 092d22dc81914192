package harness

// Parked reports whether a turn's workflow is parked, as the Temporal UI shows it: its run has not begun, and will not before long.
func (m *Mesh) Parked(turn string) bool {
	m.t.Helper()
	_, out, err := m.UI().Do(m.t.Context(), "GET", "/api/v1/namespaces/default/workflows/"+turn, nil)
	info, shown := out["workflowExecutionInfo"].(map[string]any)
	if err != nil || !shown {
		return false
	}
	now := JSON(info)
	return now.Str("historyLength") == "1" && now.Str("executionTime") > now.Str("startTime")
}
