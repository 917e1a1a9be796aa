package main

// Colours have a meaning, the same on every panel. They are those of Okabe and Ito, which people with any
// kind of colour vision can tell apart, on a projector too.
const (
	green      = "#009E73" // good: in time, healthy
	sky        = "#56B4E9" // done, wanted or not; recovering
	grey       = "#9E9E9E" // asked for
	vermillion = "#D55E00" // for nothing: late, collapsed
	orange     = "#E69F00" // refused; overloaded
	purple     = "#CC79A7" // dropped
	yellow     = "#F0E442" // failed, limits
	blue       = "#3A86C8" // the rest
	white      = "#D0D0D0" // of the past: first tries, what is usual
	quiet      = "#37474F" // behind words that are neither good nor bad
	alarm      = "#8E3B00" // behind words that are bad
)

// meaning is the colour of a series by the name that its label gives it.
var meaning = map[string]string{
	"on_time": green, "succeeded": green, "late": vermillion, "refused": orange, "dropped": purple,
	"failed": yellow, "lost": white, "canceled": blue, "timed_out": vermillion, "client_error": yellow,
	"gave_up_attempts": vermillion, "gave_up_gate": orange, "throttled": purple,
	// the lanes of profile compare
	"live": sky, "fifo": vermillion, "lifo": orange, "deadline-0": purple, "deadline-70": green,
}

// states are the values of run:shedload_state:code, in words.
var states = []struct{ value, text, color string }{
	{"1", "healthy", green}, {"2", "overloaded", orange}, {"3", "COLLAPSED", vermillion}, {"4", "recovering", sky},
}

// breakers are the states of a circuit breaker by the number that clients.go makes of them.
var breakers = []struct{ value, text, color string }{
	{"1", "closed", green}, {"2", "half open", orange}, {"3", "OPEN", vermillion},
}

// Units of Grafana.
const (
	perSecond = "reqps"
	seconds   = "s"
	share     = "percentunit"
	number    = "short"
	times     = "x"
)

// nothing is what a panel says without data.
const nothing = "no load: start it with docker compose up"
