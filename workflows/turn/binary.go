package turn

import (
	"fmt"
	"os"
	"time"

	"go.temporal.io/sdk/worker"
)

// nameBinary tells the SDK what to call this program where a worker has no build ID: by the time when it was built, and its size. Otherwise
// the SDK reads the whole program for its checksum, which takes a quarter of the processor time of a start.
func nameBinary() {
	path, err := os.Executable()
	if err != nil {
		return
	}
	if info, err := os.Stat(path); err == nil {
		worker.SetBinaryChecksum(fmt.Sprintf("%s-%d", info.ModTime().UTC().Format(time.RFC3339), info.Size()))
	}
}
