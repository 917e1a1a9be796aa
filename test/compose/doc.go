// Package compose checks the stack of deploy/: its files against the programs'
// metrics and variables, and, where a Docker engine runs, the stack itself.
package compose
