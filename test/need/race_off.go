//go:build !race

package need

const race = false
