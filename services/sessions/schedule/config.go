package sessions

import (
	"errors"
	"time"
)

// SchedulesConfig says how turns begin by the clock.
type SchedulesConfig struct {
	// CatchUp is how much later a time may be made up for.
	CatchUp time.Duration `yaml:"catch_up" doc:"how long after its time a fire that was missed (the mesh was down) is still made up for, by one turn however many were missed; at least 10s (default 1h)"`
	// CheckInterval is how often Temporal is asked.
	CheckInterval time.Duration `yaml:"check_interval" doc:"how often Temporal is asked whether it still has a schedule as it should be (default 1m)"`
	// MaxSchedules bounds the schedules of a tenant, MaxPerUser those that one user made.
	MaxSchedules int `yaml:"max_schedules" doc:"schedules of one tenant at most (default 1000)"`
	MaxPerUser   int `yaml:"max_per_user" doc:"schedules that one user has made at most (default 200)"`
}

func (c SchedulesConfig) or(d SchedulesConfig) SchedulesConfig {
	or(&c.CatchUp, d.CatchUp)
	or(&c.CheckInterval, d.CheckInterval)
	or(&c.MaxSchedules, d.MaxSchedules)
	or(&c.MaxPerUser, d.MaxPerUser)
	return c
}

func (c SchedulesConfig) check() error {
	if c.CatchUp < 10*time.Second || c.CheckInterval < 0 {
		return errors.New("sessions: schedules.catch_up is below 10s, or schedules.check_interval is negative")
	}
	if c.MaxSchedules < 0 || c.MaxPerUser < 0 {
		return errors.New("sessions: schedules.max_schedules or schedules.max_per_user is negative")
	}
	return nil
}
