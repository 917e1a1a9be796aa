package worker

import (
	"time"

	"shedload/internal/work"
)

// job is a leased unit that is being worked on.
type job struct {
	lease    string
	deadline work.Instant // work.Never when the lease named none
	start    work.Instant
	from     work.Instant  // when the rest of the work began: at the start, unless it is burnt
	took     time.Duration // that the rest takes, without the pauses
	end      work.Instant  // by what was known of pauses when it was computed
	class    uint8
}

// runningHeap holds the jobs by end, earliest first.
type runningHeap []job

func (h *runningHeap) push(j job) {
	*h = append(*h, j)
	s := *h
	for i := len(s) - 1; i > 0; {
		parent := (i - 1) / 2
		if s[parent].end <= s[i].end {
			return
		}
		s[parent], s[i] = s[i], s[parent]
		i = parent
	}
}

func (h *runningHeap) pop() job {
	s := *h
	top, last := s[0], len(s)-1
	s[0], s[last] = s[last], job{} // lets go of the lease's text
	s = s[:last]
	*h = s
	for i := 0; ; {
		least := 2*i + 1
		if least >= last {
			return top
		}
		if right := least + 1; right < last && s[right].end < s[least].end {
			least = right
		}
		if s[i].end <= s[least].end {
			return top
		}
		s[i], s[least] = s[least], s[i]
		i = least
	}
}

// next is the end of the first job.
func (h runningHeap) next() work.Instant {
	if len(h) == 0 {
		return work.Never
	}
	return h[0].end
}
