package ledger

import "testing"

func TestSentence(t *testing.T) {
	end, n, zero := 30.0, 19.0, 0.0
	spiked := func(r Recovery) Recovery {
		r.Trigger, r.TriggerEndS, r.BaselinePerS = "spike", &end, 60
		if r.UsersVerdict == "" {
			r.UsersVerdict = r.Verdict
		}
		return r
	}
	flat := After{FromS: 60, ToS: 90, RequestsPerS: 60, ThroughputPS: 79.2, OfferedPerS: 3000, Queue: 3100, QueueFallPerS: -500}
	half, most := flat, flat
	half.GoodputPerS, most.GoodputPerS = 45, 80
	drains := flat
	drains.QueueFallPerS = 14
	inTrigger := Course{DownInTrigger: true, FellS: 30}
	for _, c := range []struct {
		r    Recovery
		want string
	}{
		{spiked(Recovery{Verdict: Collapsed, Goodput: inTrigger, Aftermath: flat}),
			"Throughput held at 79/s; goodput fell to 0 when the spike began and has not come back 60 s after it ended: collapsed."},
		{spiked(Recovery{Verdict: Collapsed, Goodput: Course{FellS: 42}, Aftermath: After{ToS: 90, ThroughputPS: 3.14, GoodputPerS: 3}}),
			"Throughput is at 3.1/s; goodput fell to 3/s 12 s after the spike and has not come back 60 s after it ended: collapsed."},
		{Recovery{Verdict: Collapsed, UsersVerdict: Collapsed, Goodput: Course{FellS: 35}, Aftermath: flat, BaselinePerS: 60},
			"Throughput held at 79/s; goodput fell to 0 at 35 s and has not come back: collapsed."},
		{spiked(Recovery{Verdict: Degraded, Goodput: inTrigger, Aftermath: half}),
			"Throughput held at 79/s; goodput fell when the spike began and is at 45/s against 60/s new requests 60 s after it ended: degraded."},
		{spiked(Recovery{Verdict: Degraded, Aftermath: half}),
			"Throughput held at 79/s; goodput is at 45/s against 60/s new requests 60 s after the spike ended: degraded."},
		{spiked(Recovery{Verdict: Degraded, Goodput: Course{Relapses: 4}, Aftermath: half}),
			"Throughput held at 79/s; goodput came back and fell again 4 times, on average at 45/s against 60/s new requests: degraded."},
		{spiked(Recovery{Verdict: Recovered, Goodput: inTrigger, GoodputAfterS: &n}),
			"Goodput fell when the spike began and was back 19 s after it ended: recovered."},
		{spiked(Recovery{Verdict: Recovered, Goodput: inTrigger, GoodputAfterS: &zero}),
			"Goodput fell when the spike began and was back as soon as it ended: recovered."},
		{Recovery{Verdict: Recovered, UsersVerdict: Recovered}, "Goodput fell and came back: recovered."},
		{spiked(Recovery{Verdict: Steady, UsersVerdict: Undecided, Aftermath: most}),
			"Goodput held at 80/s through the spike: steady; users were not back when the run ended: undecided."},
		{spiked(Recovery{Verdict: Steady, UsersVerdict: Recovered, UsersAfterS: &n, Aftermath: most, Goodput: Course{Hiccups: 1}}),
			"Goodput held at 80/s through the spike with one hiccup: steady; users were back 19 s after it: recovered."},
		{Recovery{Verdict: Steady, UsersVerdict: Collapsed, Aftermath: most, Goodput: Course{Hiccups: 2}},
			"Goodput held at 80/s with 2 hiccups: steady; users are not back: collapsed."},
		{spiked(Recovery{Verdict: Undecided, Aftermath: most, Goodput: Course{Why: WhyTooEarly}}),
			"The run ended too early to tell: goodput at 80/s against 60/s new requests, users not back: undecided."},
		{spiked(Recovery{Verdict: Undecided, Aftermath: drains, Goodput: Course{Why: WhyWorkedOff}}),
			"The run ended too early to tell: 3,100 dead items left, falling 14/s: undecided."},
		{spiked(Recovery{Verdict: Undecided, Goodput: Course{Why: WhyNoBaseline}}), "The service was down before the spike: undecided."},
		{Recovery{Verdict: Undecided, UsersVerdict: Undecided, Goodput: Course{Why: WhyNoBaseline}}, "There is nothing to compare with: undecided."},
	} {
		s := Summary{Recovery: c.r, Generator: Generator{Delivered: true}}
		if got := s.Sentence(); got != c.want {
			t.Errorf("\n%s\nwant\n%s", got, c.want)
		}
	}
	s := Summary{Partial: true, HorizonS: 42, Recovery: Recovery{Verdict: Recovered, UsersVerdict: Recovered}, Generator: Generator{Sends: 1000, Missed: 12}}
	equal(t, "sentence", s.Sentence(), "Not a result, 1.2 % of the sends were missed: Interrupted after 42 s: goodput fell and came back: recovered.")
	s.View = "client"
	s.Recovery = spiked(Recovery{Verdict: Collapsed, Goodput: inTrigger, Aftermath: flat})
	s.Partial, s.Generator.Delivered = false, true
	equal(t, "client's sentence", s.Sentence(), "Goodput fell to 0 when the spike began and has not come back 60 s after it ended: collapsed.")
}

func TestNumbers(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 0.04: "0", 9.96: "10", 3.14: "3.1", 12.5: "13", 1234567: "1,234,567", -1234: "-1,234", 999.6: "1,000"} {
		equal(t, want, number(x), want)
	}
}
