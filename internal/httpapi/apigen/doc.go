// Package apigen holds what is generated from api/openapi.yaml: the types that travel over the wire, and the interface
// that the handlers implement. Nothing in it is written by hand but this comment and the generator's settings.
//
// Rules, conversions and error handling do not belong here; they are in package httpapi. After a change of the document
// run go generate in this folder and commit the result.
package apigen

//go:generate go tool -modfile=../../../tools/go.mod oapi-codegen -config config.yaml ../../../api/openapi.yaml
