package assembly

import (
	"io/fs"

	"github.com/windlass-dev/windlass/docs"
)

// documentation is what banks have of sources of kind docs.
func documentation() fs.FS { return docs.Files }
