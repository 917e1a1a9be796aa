// Package composecheck holds the compose file against the Compose specification,
// by the specification's own library, and against what every container must keep.
// It is a module of its own so that the product does not depend on that library.
package composecheck
