package main

import (
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"strings"
)

// levelNever is above every level in use.
const levelNever = slog.Level(math.MaxInt32)

func (o *options) setLogLevel(name string) error {
	if strings.EqualFold(name, "never") {
		o.logLevel = levelNever
		return nil
	}
	if err := o.logLevel.UnmarshalText([]byte(name)); err != nil {
		return fmt.Errorf("%q is none of debug, info, warn, error, never", name)
	}
	return nil
}

func (o *options) setLogFormat(name string) error {
	switch name {
	case "text", "pretty": // "pretty" is sent by older SDKs
		o.logJSON = false
	case "json":
		o.logJSON = true
	default:
		return fmt.Errorf("%q is neither text nor json", name)
	}
	return nil
}

func (o *options) setMemoryLimit(text string) error {
	limit, err := parseBytes(text)
	if err != nil {
		return err
	}
	o.memoryLimit, o.memoryLimitSet = limit, true
	return nil
}

// parseBytes parses the notation of GOMEMLIMIT. "off" is 0.
func parseBytes(text string) (int64, error) {
	if text == "off" {
		return 0, nil
	}
	digits, shift := strings.TrimSuffix(text, "B"), 0
	for i, unit := range []string{"Ki", "Mi", "Gi"} {
		if number, ok := strings.CutSuffix(digits, unit); ok {
			digits, shift = number, 10*(i+1)
			break
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64>>shift {
		return 0, fmt.Errorf("%q is no size: write it as 160MiB, or off", text)
	}
	return n << shift, nil
}
