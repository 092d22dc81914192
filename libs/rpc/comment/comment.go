// Package comment has the comments of the API, which generated code drops: they are the contract, and what clients that describe services
// by reflection, and models that get their methods as tools, read about them.
package comment

import (
	_ "embed"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/types/descriptorpb"
)

//go:embed comments.json
var text []byte

// Numbers of the fields of descriptors, of which paths of a SourceCodeInfo are made.
const (
	messagesOfFile, enumsOfFile, servicesOfFile      = 4, 5, 6
	fieldsOfMessage, nestedOfMessage, enumsOfMessage = 2, 3, 4
	oneofsOfMessage, valuesOfEnum, methodsOfService  = 8, 2, 2
)

// Comments are the comments of declarations, by full name. A value of an enum is below its enum.
type Comments map[string]string

// Read returns the comments of this version's API.
func Read() (Comments, error) {
	var c Comments
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("read comments of the API: %w", err)
	}
	return c, nil
}

// Annotate adds the comments of its declarations to a file.
func (c Comments) Annotate(fd *descriptorpb.FileDescriptorProto) {
	a := &annotator{comments: c}
	pkg := fd.GetPackage()
	for i, m := range fd.GetMessageType() {
		a.message(m, pkg, []int32{messagesOfFile, int32(i)})
	}
	for i, e := range fd.GetEnumType() {
		a.enum(e, pkg, []int32{enumsOfFile, int32(i)})
	}
	for i, s := range fd.GetService() {
		name, path := pkg+"."+s.GetName(), []int32{servicesOfFile, int32(i)}
		a.add(name, path)
		for n, m := range s.GetMethod() {
			a.add(name+"."+m.GetName(), below(path, methodsOfService, n))
		}
	}
	if len(a.found) > 0 {
		fd.SourceCodeInfo = &descriptorpb.SourceCodeInfo{Location: a.found}
	}
}

type annotator struct {
	comments Comments
	found    []*descriptorpb.SourceCodeInfo_Location
}

// add adds the comment of a declaration. Lines are counted, so that the declarations have an order.
func (a *annotator) add(name string, path []int32) {
	text := a.comments[name]
	if text == "" {
		return
	}
	line := int32(len(a.found))
	a.found = append(a.found, &descriptorpb.SourceCodeInfo_Location{
		Path: path, Span: []int32{line, 0, 1}, LeadingComments: new(" " + text + "\n"),
	})
}

func (a *annotator) message(m *descriptorpb.DescriptorProto, scope string, path []int32) {
	name := scope + "." + m.GetName()
	a.add(name, path)
	for i, f := range m.GetField() {
		a.add(name+"."+f.GetName(), below(path, fieldsOfMessage, i))
	}
	for i, o := range m.GetOneofDecl() {
		a.add(name+"."+o.GetName(), below(path, oneofsOfMessage, i))
	}
	for i, e := range m.GetEnumType() {
		a.enum(e, name, below(path, enumsOfMessage, i))
	}
	for i, n := range m.GetNestedType() {
		a.message(n, name, below(path, nestedOfMessage, i))
	}
}

func (a *annotator) enum(e *descriptorpb.EnumDescriptorProto, scope string, path []int32) {
	name := scope + "." + e.GetName()
	a.add(name, path)
	for i, v := range e.GetValue() {
		a.add(name+"."+v.GetName(), below(path, valuesOfEnum, i))
	}
}

// below returns the path of the n-th declaration in a field of another one.
func below(path []int32, field int32, n int) []int32 {
	return append(path[:len(path):len(path)], field, int32(n))
}
