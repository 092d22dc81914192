package assembly

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/windlass-dev/windlass/libs/testmain"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

// TestS19EachServiceHasCallers: a service that is added without callers would be refused between processes, and work in one.
func TestS19EachServiceHasCallers(t *testing.T) {
	known := callers()
	protoregistry.GlobalFiles.RangeFiles(func(fd protoreflect.FileDescriptor) bool {
		for i := range fd.Services().Len() {
			service := string(fd.Services().Get(i).FullName())
			if strings.HasPrefix(service, "windlass.") && fd.Package() != "windlass.executor.v1" && len(known[service]) == 0 {
				t.Errorf("%s has no callers: name the roles that call it", service)
			}
			delete(known, service)
		}
		return true
	})
	for service := range known {
		t.Errorf("%s is no service", service)
	}
}
