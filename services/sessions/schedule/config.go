package schedule

import (
	"errors"
	"fmt"
	"time"
)

// Config bounds schedules.
type Config struct {
	CatchUp       time.Duration `yaml:"catch_up" default:"1h" doc:"How long after its time a missed fire (the mesh was down) is still made up for, with one turn for all missed fires; at least 10s."`
	CheckInterval time.Duration `yaml:"check_interval" default:"1m" doc:"How often the service checks that Temporal has the current version of each schedule."`
	MinInterval   time.Duration `yaml:"min_interval" default:"1m" doc:"Least interval of a schedule; shorter ones are refused when it is created or changed."`
	MaxSchedules  int           `yaml:"max_schedules" default:"1000" doc:"Maximum number of schedules of one tenant."`
	MaxPerUser    int           `yaml:"max_per_user" default:"200" doc:"Maximum number of schedules that one user has created."`
}

// Check rejects values out of range.
func (c Config) Check() error {
	switch {
	case c.CatchUp < 10*time.Second:
		return errors.New("sessions: schedules.catch_up is below 10s")
	case c.MinInterval < time.Second || c.MinInterval > maxInterval:
		return fmt.Errorf("sessions: schedules.min_interval is %s: want 1s to %s", c.MinInterval, maxInterval)
	}
	return nil
}
