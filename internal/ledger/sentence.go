package ledger

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Sentence says in words how the run went, as a person would.
func (s Summary) Sentence() string {
	var b strings.Builder
	if g := s.Generator; !g.Delivered {
		fmt.Fprintf(&b, "Not a result, %s %% of the sends were missed: ", number(100*ratio(g.Missed, g.Sends)))
	}
	if s.Partial {
		fmt.Fprintf(&b, "Interrupted after %s s: ", number(s.HorizonS))
	}
	text := s.Recovery.sentence(s.View == "client")
	if b.Len() > 0 {
		text = strings.ToLower(text[:1]) + text[1:]
	}
	return b.String() + text + s.Recovery.usersPart() + "."
}

func (r Recovery) sentence(clientOnly bool) string {
	switch r.Verdict {
	case Steady:
		return r.steady()
	case Recovered:
		return r.recovered()
	case Undecided:
		return r.undecided()
	}
	return r.down(clientOnly)
}

func (r Recovery) steady() string {
	text := "Goodput held at " + rate(r.Aftermath.GoodputPerS)
	if r.TriggerEndS != nil {
		text += " through the " + r.Trigger
	}
	switch r.Goodput.Hiccups {
	case 0:
	case 1:
		text += " with one hiccup"
	default:
		text += fmt.Sprintf(" with %d hiccups", r.Goodput.Hiccups)
	}
	return text + ": steady"
}

func (r Recovery) recovered() string {
	switch {
	case r.GoodputAfterS == nil:
		return "Goodput fell and came back: recovered"
	case *r.GoodputAfterS == 0:
		return "Goodput fell " + r.when() + " and was back as soon as it ended: recovered"
	}
	return fmt.Sprintf("Goodput fell %s and was back %s s after it ended: recovered", r.when(), number(*r.GoodputAfterS))
}

func (r Recovery) undecided() string {
	a := r.Aftermath
	switch {
	case r.Goodput.Why == WhyNoBaseline && r.TriggerEndS != nil:
		return "The service was down before the " + r.Trigger + ": undecided"
	case r.Goodput.Why == WhyNoBaseline:
		return "There is nothing to compare with: undecided"
	}
	text := "The run ended too early to tell: "
	if r.Goodput.Why == WhyWorkedOff && a.QueueFallPerS > 0 && a.GoodputPerS < a.RequestsPerS {
		return text + fmt.Sprintf("%s dead items left, falling %s: undecided", thousands(a.Queue), rate(a.QueueFallPerS))
	}
	text += r.against()
	if r.UsersVerdict != Steady && r.UsersVerdict != Recovered {
		text += ", users not back"
	}
	return text + ": undecided"
}

func (r Recovery) down(clientOnly bool) string {
	text, a := "", r.Aftermath
	if !clientOnly {
		verb := "is"
		if a.ThroughputPS >= downBelow*r.BaselinePerS {
			verb = "held"
		}
		text = "Throughput " + verb + " at " + rate(a.ThroughputPS) + "; "
	}
	if r.Goodput.Relapses >= oscillating {
		return upper(text + fmt.Sprintf("goodput came back and fell again %d times, on average %s: %s", r.Goodput.Relapses, r.against()[len("goodput "):], r.Verdict))
	}
	fell := r.Goodput.DownInTrigger || r.Goodput.FellS > 0
	since := ""
	if r.TriggerEndS != nil {
		since = fmt.Sprintf(" %s s after the %s ended", number(a.ToS-*r.TriggerEndS), r.Trigger)
		if fell {
			since = fmt.Sprintf(" %s s after it ended", number(a.ToS-*r.TriggerEndS))
		}
	}
	switch {
	case r.Verdict == Collapsed && fell:
		text += fmt.Sprintf("goodput fell to %s %s and has not come back%s: collapsed", zeroRate(a.GoodputPerS), r.when(), since)
	case fell:
		text += fmt.Sprintf("goodput fell %s and is %s%s: %s", r.when(), r.against()[len("goodput "):], since, r.Verdict)
	default:
		text += fmt.Sprintf("goodput is %s%s: %s", r.against()[len("goodput "):], since, r.Verdict)
	}
	return upper(text)
}

// when says when goodput fell.
func (r Recovery) when() string {
	switch {
	case r.TriggerEndS == nil:
		return fmt.Sprintf("at %s s", number(r.Goodput.FellS))
	case r.Goodput.DownInTrigger && r.Goodput.Relapses == 0:
		return "when the " + r.Trigger + " began"
	}
	return fmt.Sprintf("%s s after the %s", number(r.Goodput.FellS-*r.TriggerEndS), r.Trigger)
}

func (r Recovery) against() string {
	return "goodput at " + rate(r.Aftermath.GoodputPerS) + " against " + rate(r.Aftermath.RequestsPerS) + " new requests"
}

// usersPart adds what users see where it differs from what the service delivers.
func (r Recovery) usersPart() string {
	if r.UsersVerdict == r.Verdict {
		return ""
	}
	switch r.UsersVerdict {
	case Steady:
		return "; users hardly noticed: steady"
	case Recovered:
		if r.UsersAfterS == nil {
			return "; users are back: recovered"
		}
		return fmt.Sprintf("; users were back %s s after it: recovered", number(*r.UsersAfterS))
	case Undecided:
		return "; users were not back when the run ended: undecided"
	}
	return "; users are not back: " + r.UsersVerdict
}

// number writes a number as short as it can be said: whole from 10 on.
func number(x float64) string {
	if x >= 10 || x <= -10 {
		return thousands(int64(math.Round(x)))
	}
	return strconv.FormatFloat(math.Round(x*10)/10, 'f', -1, 64)
}

func rate(x float64) string { return number(x) + "/s" }

// zeroRate is rate, but says 0 without a unit.
func zeroRate(x float64) string {
	if number(x) == "0" {
		return "0"
	}
	return rate(x)
}

func thousands(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func upper(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
