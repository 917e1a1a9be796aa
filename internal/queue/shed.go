package queue

import (
	"time"

	"shedload/internal/work"
)

// The deadline sheds judge a unit by the time it has left. They need no state, so
// they are asked again about the unit that is about to be served.

// expired drops what nobody waits for any more.
type expired struct{}

func (expired) Drop(u work.Unit, _ View, now work.Instant) work.Reason {
	if now >= u.Deadline {
		return work.Expired
	}
	return work.None
}

// doomed drops what cannot finish in time if its work takes as long as the margin.
type doomed struct{ margin time.Duration }

func (d doomed) Drop(u work.Unit, _ View, now work.Instant) work.Reason {
	return judge(u, d.margin, now)
}

// autoDoomed is doomed with a margin that is learned from finished work.
type autoDoomed struct{ margin *estimate }

func (a autoDoomed) Drop(u work.Unit, _ View, now work.Instant) work.Reason {
	if a.margin.probeDue(now) && now >= u.Deadline {
		return work.Expired
	}
	return judge(u, a.margin.forUnit(u, now), now)
}

// judge drops u when now + margin is past its deadline. The reason tells apart
// what is over from what could still have been answered, had work been faster.
func judge(u work.Unit, margin time.Duration, now work.Instant) work.Reason {
	switch {
	case now.Add(margin) <= u.Deadline:
		return work.None
	case now >= u.Deadline:
		return work.Expired
	}
	return work.Doomed
}
