package sessionstest

import (
	"fmt"
	"reflect"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// maxFillDepth bounds messages that hold messages of their own kind.
const maxFillDepth = 4

// Message returns a message of type M with a value in every field, no two of them equal as far as their types allow. A conversion that
// forgets a
// field, or takes another one, does not survive a round trip with it. Of a oneof the last field is set.
func Message[M proto.Message]() M {
	var zero M
	m, ok := zero.ProtoReflect().New().Interface().(M)
	if !ok {
		panic(fmt.Sprintf("%T makes messages of another type", zero))
	}
	f := filler{}
	f.message(m.ProtoReflect(), 0)
	return m
}

// Struct returns a struct with a value in every exported field, as Message does for messages.
func Struct[S any]() S {
	var s S
	f := filler{}
	f.value(reflect.ValueOf(&s).Elem(), "", 0)
	return s
}

// Unset lists the fields of a message that are not set, by their names. Fields of a oneof count as set if any of them is.
func Unset(m proto.Message) (names []string) {
	r := m.ProtoReflect()
	fields := r.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if one := f.ContainingOneof(); one != nil && !one.IsSynthetic() && r.WhichOneof(one) != nil {
			continue
		}
		if !r.Has(f) {
			names = append(names, string(f.Name()))
		}
	}
	return names
}

// filler counts the values that it has made.
type filler struct{ n int }

func (f *filler) next() int {
	f.n++
	return f.n
}

func (f *filler) message(m protoreflect.Message, depth int) {
	switch known := m.Interface().(type) {
	case *structpb.Struct:
		known.Fields = map[string]*structpb.Value{fmt.Sprintf("key_%d", f.next()): structpb.NewStringValue("value")}
		return
	case *structpb.Value:
		known.Kind = &structpb.Value_NumberValue{NumberValue: float64(f.next())}
		return
	case *timestamppb.Timestamp:
		known.Seconds = 1_700_000_000 + int64(f.next())
		return
	}
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		switch {
		case fd.IsMap():
			key := protoreflect.ValueOfString(fmt.Sprintf("key_%d", f.next())).MapKey()
			if fd.MapKey().Kind() != protoreflect.StringKind {
				panic("no map has keys like those of " + string(fd.FullName()))
			}
			if v, ok := f.field(m.Mutable(fd).Map().NewValue(), fd.MapValue(), depth); ok {
				m.Mutable(fd).Map().Set(key, v)
			}
		case fd.IsList():
			for range 2 {
				if v, ok := f.field(m.Mutable(fd).List().NewElement(), fd, depth); ok {
					m.Mutable(fd).List().Append(v)
				}
			}
		default:
			if v, ok := f.field(m.NewField(fd), fd, depth); ok {
				m.Set(fd, v)
			}
		}
	}
}

// field returns a value for a field, or false where a message would hold itself too often.
func (f *filler) field(empty protoreflect.Value, fd protoreflect.FieldDescriptor, depth int) (protoreflect.Value, bool) {
	switch fd.Kind() {
	case protoreflect.MessageKind:
		if depth >= maxFillDepth {
			return empty, false
		}
		f.message(empty.Message(), depth+1)
		return empty, true
	case protoreflect.EnumKind:
		values := fd.Enum().Values()
		return protoreflect.ValueOfEnum(values.Get(1 + f.next()%(values.Len()-1)).Number()), true
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(true), true
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(fmt.Sprintf("%s %d", fd.Name(), f.next())), true
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes(fmt.Appendf(nil, "%s %d", fd.Name(), f.next())), true
	case protoreflect.Int32Kind, protoreflect.Sint32Kind:
		return protoreflect.ValueOfInt32(int32(f.next())), true
	case protoreflect.Int64Kind, protoreflect.Sint64Kind:
		return protoreflect.ValueOfInt64(int64(f.next())), true
	case protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32(uint32(f.next())), true
	case protoreflect.Uint64Kind:
		return protoreflect.ValueOfUint64(uint64(f.next())), true
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(float64(f.next()) + 0.5), true
	}
	panic(fmt.Sprintf("%s is of kind %s, which nothing is filled with yet", fd.FullName(), fd.Kind()))
}

// value fills what a Go value holds.
func (f *filler) value(v reflect.Value, name string, depth int) {
	if m, ok := reflect.TypeAssert[proto.Message](reflect.New(v.Type()).Elem()); ok {
		made := m.ProtoReflect().New()
		f.message(made, 0)
		v.Set(reflect.ValueOf(made.Interface()))
		return
	}
	if e, ok := reflect.TypeAssert[protoreflect.Enum](v); ok {
		values := e.Descriptor().Values()
		v.SetInt(int64(values.Get(1 + f.next()%(values.Len()-1)).Number()))
		return
	}
	if _, ok := reflect.TypeAssert[time.Time](v); ok {
		v.Set(reflect.ValueOf(time.Unix(1_700_000_000+int64(f.next()), 0).UTC()))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("%s %d", name, f.next()))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(int64(f.next()))
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(f.next()))
	case reflect.Float64:
		v.SetFloat(float64(f.next()) + 0.5)
	case reflect.Pointer:
		if depth >= maxFillDepth {
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		f.value(v.Elem(), name, depth+1)
	case reflect.Slice:
		if depth >= maxFillDepth {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		f.value(v.Index(0), name, depth+1)
		f.value(v.Index(1), name, depth+1)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		f.value(key, name, depth+1)
		f.value(elem, name, depth+1)
		v.SetMapIndex(key, elem)
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() {
				f.value(v.Field(i), field.Name, depth+1)
			}
		}
	default:
		panic(fmt.Sprintf("%s is a %s, which nothing is filled with yet", name, v.Kind()))
	}
}
