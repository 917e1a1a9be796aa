// Package bench measures shedload's load generator against vegeta and against bare
// net/http, in the same run on the same machine:
//
//	go test -run '^$' -bench . -benchtime 1x
//
// Each generator and the server it talks to are processes of their own, so that
// their processor time can be told apart. It is a module of its own because the
// product does not need vegeta.
package bench
