//go:build race

package need

const race = true
