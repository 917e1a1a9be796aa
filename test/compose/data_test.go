package compose

import (
	"regexp"
	"strings"
)

// mayBeEmpty are metrics that are absent where clients have no such gate.
var mayBeEmpty = regexp.MustCompile(`shedload_(retry_budget_balance|breaker_state)`)

// comparison makes an alert's expression show its operands.
var comparison = regexp.MustCompile(`(<=|>=|==|<|>)`)

// eachQueryHasData runs every query of dashboards and rules over the time of the test.
func (s *stack) eachQueryHasData(run string) {
	s.Helper()
	variables := strings.NewReplacer("$__rate_interval", "5s", "$run", run)
	for _, q := range queries(s.T) {
		expr := variables.Replace(q.expr)
		if q.alert {
			expr = comparison.ReplaceAllString(expr, "$1 bool ")
		}
		found, err := s.since(s.start, expr)
		if err != nil || len(found) == 0 && !mayBeEmpty.MatchString(expr) {
			s.Errorf("%s: no data (%v) for\n  %s", q.where, err, expr)
		}
	}
}
