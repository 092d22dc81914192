package openapi

import (
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/windlass-dev/windlass/libs/rpc"
)

// bearer is the name of the security scheme.
const bearer = "bearer"

func bearerScheme() object {
	return object{
		"type": "http", "scheme": "bearer", "bearerFormat": "JWT",
		"description": "An access token of an issuer that `identity.issuers` lists, or the token in the file access.token of a data directory. " +
			"Programs of the user who runs `windlass up`, on the same machine, need none. The names at an operation are the permission that " +
			"the caller's roles or an access policy must give.",
	}
}

// security returns the alternatives of an operation that needs a permission; empty = none. A server may admit calls without a token as its
// local user, so it is always optional.
func security(permission string) []object {
	roles := []string{}
	if permission != "" {
		roles = append(roles, permission)
	}
	return []object{{bearer: roles}, {}}
}

// secure adds to an operation what its RPC needs.
func secure(op object, md protoreflect.MethodDescriptor) {
	switch permission := rpc.Permission(md); permission {
	case rpc.Public:
		op["security"] = []object{}
	case rpc.Authenticated:
	default:
		op["security"] = security(permission)
	}
}
