package rpc

import (
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	optionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/options/v1"
)

// sharers says, by descriptor, which messages have shared fields, themselves or in a field that is one message.
var sharers sync.Map

// isShared reports whether the messages of a field are passed on without a copy within a process.
func isShared(fd protoreflect.FieldDescriptor) bool {
	shared, _ := proto.GetExtension(fd.Options(), optionsv1.E_Shared).(bool)
	return shared && fd.Message() != nil && !fd.IsMap()
}

// sharesAny reports whether a message has shared fields.
func sharesAny(md protoreflect.MessageDescriptor) bool {
	if known, ok := sharers.Load(md); ok {
		return known == true
	}
	sharers.Store(md, false) // ends the recursion
	found := false
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		found = found || isShared(fd) || holdsSharer(fd)
	}
	sharers.Store(md, found)
	return found
}

func holdsSharer(fd protoreflect.FieldDescriptor) bool {
	return fd.Message() != nil && !fd.IsList() && !fd.IsMap() && sharesAny(fd.Message())
}

// sized returns the size that a message of a shared field has in its field. Such a message does not change: its size is computed once.
func sized(fd protoreflect.FieldDescriptor, m protoreflect.Message) int {
	return protowire.SizeTag(fd.Number()) + protowire.SizeBytes(proto.MarshalOptions{UseCachedSize: true}.Size(m.Interface()))
}

// split returns the shared fields of a message with their encoded size, and the others, which are still those of the message.
func split(m protoreflect.Message) (shared protoreflect.Message, size int, others protoreflect.Message) {
	shared, others = m.New(), m.New()
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case isShared(fd) && fd.IsList():
			list := shared.Mutable(fd).List() // the list is its receiver's
			for i := range v.List().Len() {
				one := v.List().Get(i)
				list.Append(one)
				size += sized(fd, one.Message())
			}
		case isShared(fd):
			shared.Set(fd, v)
			size += sized(fd, v.Message())
		case holdsSharer(fd):
			inner, n, rest := split(v.Message())
			size += n
			shared.Set(fd, protoreflect.ValueOfMessage(inner))
			others.Set(fd, protoreflect.ValueOfMessage(rest))
		default:
			others.Set(fd, v)
		}
		return true
	})
	others.SetUnknown(m.GetUnknown())
	return shared, size, others
}

// join adds the shared fields to a message that has the others.
func join(m, shared protoreflect.Message) {
	shared.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if isShared(fd) {
			m.Set(fd, v)
		} else {
			join(m.Mutable(fd).Message(), v.Message())
		}
		return true
	})
}
