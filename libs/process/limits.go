package process

import (
	"errors"
	"time"

	"github.com/windlass-dev/windlass/libs/config"
)

// Limits bound what one program may use; 0 means no limit. By default, a program reaches them only when something is wrong with it. They
// apply from its start to its children too, on Linux only.
type Limits struct {
	// Memory bounds the data segment and private writable mappings (RLIMIT_DATA).
	Memory config.Size `yaml:"memory" default:"8GiB" zero:"off" doc:"Memory that one process of a program may have for its data; 0: no limit. Linux only, as all of these limits."`
	// AddressSpace bounds all mappings (RLIMIT_AS).
	AddressSpace config.Size   `yaml:"address_space" doc:"Address space of one process of a program; 0: no limit. Runtimes such as that of Node.js reserve much more than they use: prefer memory for them."`
	CPU          time.Duration `yaml:"cpu" doc:"Processor time after which a process of a program is killed, in whole seconds; 0: no limit."`
	Files        int           `yaml:"files" default:"4096" zero:"off" doc:"Open files of one process of a program; 0: no limit."`
	Processes    int           `yaml:"processes" doc:"Processes of the operating-system user up to which a program may start more; 0: no limit. It counts all processes of that user, and does not apply to root."`
}

// Check refuses limits that make no sense.
func (l Limits) Check() error {
	if l.Memory < 0 || l.AddressSpace < 0 || l.CPU < 0 || l.Files < 0 || l.Processes < 0 {
		return errors.New("limits must not be negative")
	}
	if l.CPU%time.Second != 0 {
		return errors.New("limits.cpu must be in whole seconds")
	}
	return nil
}
