package sessions

import "time"

// SchedulesConfig says how turns begin by the clock.
type SchedulesConfig struct {
	// CatchUp is how much later a time may be made up for.
	CatchUp time.Duration `yaml:"catch_up" doc:"how long after its time a fire that was missed (the mesh was down) is still made up for, by one turn however many were missed; at least 10s (default 1h)"`
	// CheckInterval is how often Temporal is asked.
	CheckInterval time.Duration `yaml:"check_interval" doc:"how often Temporal is asked whether it still has a schedule as it should be (default 1m)"`
}

func (c SchedulesConfig) or(d SchedulesConfig) SchedulesConfig {
	or(&c.CatchUp, d.CatchUp)
	or(&c.CheckInterval, d.CheckInterval)
	return c
}
