// Package scenario reads experiments. An experiment is data: a strict YAML file
// that names a system, its clients, what goes wrong and when, a set of variants of
// all that, and what must come out. The package turns such a file into one Plan a
// variant, which both engines run, and judges a finished run by the file's
// expectations.
//
// A file is read in four steps, each of which keeps the position of every value:
// the text becomes a tree of nodes; a variant and the overrides of a command line
// are merged into a copy of that tree; the tree is decoded into Go types; and the
// result is checked for what types cannot say. Every complaint of any step names
// file, line and column, what was wrong and what is allowed.
//
// Nothing here is safe for concurrent use, except that a Scenario and a Plan may
// be read by many.
package scenario
