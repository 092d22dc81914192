package schedule

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// Config bounds schedules. Zero fields take the values of DefaultConfig.
type Config struct {
	// CatchUp is how late a fire may still start a turn.
	CatchUp time.Duration `yaml:"catch_up" doc:"How long after its time a missed fire (the mesh was down) is still made up for, with one turn for all missed fires; at least 10s (default 1h)."`
	// CheckInterval is how often Temporal's schedule is compared with each of ours.
	CheckInterval time.Duration `yaml:"check_interval" doc:"How often the service checks that Temporal has the current version of each schedule (default 1m)."`
	// MinInterval is the least time between the fires of a schedule.
	MinInterval time.Duration `yaml:"min_interval" doc:"Least interval of a schedule; shorter ones are refused when it is created or changed (default 1m)."`
	// MaxSchedules bounds the schedules of a tenant, MaxPerUser those of one subject.
	MaxSchedules int `yaml:"max_schedules" doc:"Maximum number of schedules of one tenant (default 1000)."`
	MaxPerUser   int `yaml:"max_per_user" doc:"Maximum number of schedules that one user has created (default 200)."`
}

// DefaultConfig is the configuration that an all-zero Config stands for.
func DefaultConfig() Config {
	return Config{CatchUp: time.Hour, CheckInterval: time.Minute, MinInterval: time.Minute, MaxSchedules: 1000, MaxPerUser: 200}
}

// Complete fills in defaults and rejects values out of range.
func (c Config) Complete() (Config, error) {
	d := DefaultConfig()
	c = Config{
		CatchUp: cmp.Or(c.CatchUp, d.CatchUp), CheckInterval: cmp.Or(c.CheckInterval, d.CheckInterval),
		MinInterval:  cmp.Or(c.MinInterval, d.MinInterval),
		MaxSchedules: cmp.Or(c.MaxSchedules, d.MaxSchedules), MaxPerUser: cmp.Or(c.MaxPerUser, d.MaxPerUser),
	}
	if c.CatchUp < 10*time.Second || c.CheckInterval < 0 {
		return c, errors.New("sessions: schedules.catch_up is below 10s, or schedules.check_interval is negative")
	}
	if c.MinInterval < time.Second || c.MinInterval > maxInterval {
		return c, fmt.Errorf("sessions: schedules.min_interval is %s: want 1s to %s", c.MinInterval, maxInterval)
	}
	if c.MaxSchedules < 0 || c.MaxPerUser < 0 {
		return c, errors.New("sessions: schedules.max_schedules or schedules.max_per_user is negative")
	}
	return c, nil
}
