package registry

import (
	"errors"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/libs/metrics"
	"github.com/windlass-dev/windlass/services/registry/cache"
)

// CacheConfig limits the cache of tool results.
type CacheConfig struct {
	Disabled       bool          `yaml:"disabled" doc:"Keep no results."`
	TTL            time.Duration `yaml:"ttl" default:"10m" doc:"How long a result is kept unless its source sets another time; at most 24h."`
	MaxResultBytes int           `yaml:"max_result_bytes" default:"262144" doc:"Largest result that is kept, in bytes; at most 512 KiB."`
	MemoryResults  int           `yaml:"memory_results" default:"1000" doc:"Number of results of at most 64 KiB that this process keeps in memory."`
	MaxBytes       int64         `yaml:"max_bytes" default:"67108864" doc:"Total size in bytes of the results on the bus, which all processes share."`
}

// maxCached is the largest result that the bus takes.
const maxCached = 512 << 10

func (c CacheConfig) check() error {
	switch {
	case c.TTL > cache.MaxTTL:
		return fmt.Errorf("registry: cache.ttl must be at most %v", cache.MaxTTL)
	case c.MaxResultBytes > maxCached:
		return fmt.Errorf("registry: cache.max_result_bytes must be at most %d", maxCached)
	}
	return nil
}

// open returns the cache; nil if it is disabled.
func (c CacheConfig) open(deps Deps, meter metrics.Meter) (*cache.Cache, error) {
	if c.Disabled {
		return nil, nil
	}
	if deps.Bus == nil {
		return nil, errors.New("the cache needs a bus; disable it with registry.cache.disabled")
	}
	return cache.New(cache.Config{MaxResultBytes: c.MaxResultBytes, MemoryResults: c.MemoryResults, MaxBytes: c.MaxBytes}, cache.Deps{
		Bus: deps.Bus, Now: deps.DB.Now, Results: deps.Results, Meter: meter, Log: deps.Log,
	})
}
