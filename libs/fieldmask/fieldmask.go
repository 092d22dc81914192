// Package fieldmask applies the update masks of update calls; see https://google.aip.dev/134.
package fieldmask

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/windlass-dev/windlass/libs/fault"
)

// Resource defines which fields of a message type an update may change. A field that is neither mutable nor fixed is output only: a mask
// may name it, so that callers can send back what they read, but it is ignored.
type Resource struct {
	// Name is the resource's field in update requests, such as "agent". Paths may be prefixed with it, and errors use it.
	Name string
	// Mutable lists the fields that an update may change.
	Mutable []string
	// Fixed lists the fields that are set at creation. Changing one is an error.
	Fixed []string
}

// Apply copies the fields that paths name from one message to another of the same type. Without paths it copies the fields that are set.
// "*" names all mutable fields, and a path such as "limits.max_steps" a nested field. A named field that is not set is cleared. Maps and
// free-form objects are replaced as a whole.
func (r Resource) Apply(to, from proto.Message, paths []string) error {
	dst, src := to.ProtoReflect(), from.ProtoReflect()
	if len(paths) == 0 {
		return r.applySet(dst, src)
	}
	for _, path := range paths {
		path = strings.TrimPrefix(path, r.Name+".")
		if path == "*" {
			if err := r.applyAll(dst, src); err != nil {
				return err
			}
			continue
		}
		if err := r.applyPath(dst, src, path); err != nil {
			return err
		}
	}
	return nil
}

func (r Resource) applySet(dst, src protoreflect.Message) (err error) {
	src.Range(func(fd protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		switch name := string(fd.Name()); {
		case slices.Contains(r.Mutable, name):
			copyField(dst, src, fd)
		case slices.Contains(r.Fixed, name):
			err = r.checkFixed(dst, src, fd)
		}
		return err == nil
	})
	return err
}

func (r Resource) applyAll(dst, src protoreflect.Message) error {
	for _, name := range r.Mutable {
		copyField(dst, src, dst.Descriptor().Fields().ByName(protoreflect.Name(name)))
	}
	for _, name := range r.Fixed {
		fd := dst.Descriptor().Fields().ByName(protoreflect.Name(name))
		if !src.Has(fd) {
			continue
		}
		if err := r.checkFixed(dst, src, fd); err != nil {
			return err
		}
	}
	return nil
}

func (r Resource) applyPath(dst, src protoreflect.Message, path string) error {
	names := strings.Split(path, ".")
	fd := dst.Descriptor().Fields().ByName(protoreflect.Name(names[0]))
	switch {
	case fd == nil:
		return fault.Invalid("update_mask", "%q: there is no such field", path).Hint("The fields that can be changed are %s.",
			strings.Join(r.Mutable, ", "))
	case slices.Contains(r.Fixed, names[0]):
		if !src.Has(fd) && fd.Kind() != protoreflect.BoolKind { // false is a value, an empty text is not
			return nil
		}
		return r.checkFixed(dst, src, fd)
	case !slices.Contains(r.Mutable, names[0]):
		return nil
	}
	if err := copyPath(dst, src, names); err != nil {
		return fault.Invalid("update_mask", "%q: %s", path, err)
	}
	return nil
}

func (r Resource) checkFixed(dst, src protoreflect.Message, fd protoreflect.FieldDescriptor) error {
	have, want := dst.Get(fd), src.Get(fd)
	if have.Equal(want) {
		return nil
	}
	text := have.String()
	if fd.Kind() == protoreflect.StringKind {
		text = fmt.Sprintf("%q", text)
	}
	return fault.Invalid(r.Name+"."+string(fd.Name()), "is %s and cannot be changed", text).Hint("Create another %s.",
		strings.ReplaceAll(r.Name, "_", " "))
}

// AllBut lists the fields of a message type except the named ones.
func AllBut(m proto.Message, names ...string) []string {
	var out []string
	fields := m.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		if name := string(fields.Get(i).Name()); !slices.Contains(names, name) {
			out = append(out, name)
		}
	}
	return out
}

func copyPath(dst, src protoreflect.Message, names []string) error {
	fd := dst.Descriptor().Fields().ByName(protoreflect.Name(names[0]))
	switch {
	case fd == nil:
		return fmt.Errorf("there is no such field")
	case len(names) == 1 || whole(fd):
		copyField(dst, src, fd)
		return nil
	case fd.Message() == nil || fd.IsList():
		return fmt.Errorf("%s has no fields", fd.Name())
	}
	return copyPath(dst.Mutable(fd).Message(), src.Get(fd).Message(), names[1:])
}

// whole reports whether a field is replaced as a whole: the gateway derives masks from bodies, down to the keys of maps and free-form
// objects.
func whole(fd protoreflect.FieldDescriptor) bool {
	return fd.IsMap() || fd.Message() != nil && fd.Message().FullName() == "google.protobuf.Struct"
}

func copyField(dst, src protoreflect.Message, fd protoreflect.FieldDescriptor) {
	if src.Has(fd) {
		dst.Set(fd, src.Get(fd))
	} else {
		dst.Clear(fd)
	}
}
