package api

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"shedload/internal/deadline"
	"shedload/internal/work"
)

// The headers of an operation, in canonical form: they are looked up in the map
// directly.
const (
	headerRequest     = "X-Request-Id"
	headerAttempt     = "X-Attempt"
	headerClass       = "X-Class"
	headerCriticality = "X-Criticality"
	headerKey         = "Idempotency-Key"
	headerPrefer      = "Prefer"
)

const maxKey = 255 // characters of an Idempotency-Key

// attempt is what the headers of a start say.
type attempt struct {
	request  uint64
	named    bool // there was a request id
	attempt  uint16
	class    uint8
	deadline work.Instant
	wait     time.Duration
	key      string
}

// headerError names the header that could not be understood.
func headerError(header, format string, args ...any) error {
	return &deadline.HeaderError{Header: header, Problem: fmt.Sprintf(format, args...)}
}

// parse reads the headers of a start that was received at now. The attempt holds
// what was understood also when there is an error, which names the header.
func (s *Server) parse(h http.Header, now work.Instant) (attempt, error) {
	a := attempt{attempt: 1, deadline: work.Never}
	err := a.parseIdentity(h)
	if err == nil {
		a.class, err = parseClass(h, s.class)
	}
	if err != nil {
		return a, err
	}
	d, given, err := deadline.Parse(h, s.epoch.Add(time.Duration(now)))
	if err != nil {
		return a, err
	}
	if given {
		a.deadline = now.Add(d.Left)
	}
	if a.wait, err = parsePrefer(h[headerPrefer]); err != nil {
		return a, err
	}
	a.key, err = parseKey(h)
	return a, err
}

func (a *attempt) parseIdentity(h http.Header) error {
	text, ok, err := single(h, headerRequest)
	if err != nil {
		return err
	}
	if ok {
		if a.request, err = strconv.ParseUint(text, 10, 64); err != nil || text[0] == '+' {
			return headerError(headerRequest, "%.32q: allowed is a decimal number from 0 to 18446744073709551615", text)
		}
		a.named = true
	}
	if text, ok, err = single(h, headerAttempt); err != nil || !ok {
		return err
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		return headerError(headerAttempt, "%.32q: allowed is a decimal number from 1 to 65535", text)
	}
	a.attempt = uint16(n)
	return nil
}

// parseClass finds the class by its name, or else the first one of the
// criticality that was asked for. Without classes there is but one.
func parseClass(h http.Header, classes []work.Class) (uint8, error) {
	name, named, err := single(h, headerClass)
	if err != nil {
		return 0, err
	}
	text, leveled, err := single(h, headerCriticality)
	if err != nil {
		return 0, err
	}
	var level work.Criticality
	if leveled {
		if level.UnmarshalText([]byte(text)) != nil {
			return 0, headerError(headerCriticality, "%.32q: allowed are critical_plus, critical, sheddable_plus, sheddable", text)
		}
	}
	if !named && !leveled {
		return 0, nil
	}
	for i, c := range classes {
		switch {
		case named && c.Name != name, !named && c.Criticality != level:
			continue
		case leveled && c.Criticality != level:
			return 0, headerError(headerCriticality, "%s: class %s is %s", text, name, c.Criticality)
		}
		return uint8(i), nil
	}
	if named {
		return 0, headerError(headerClass, "%.64q: allowed are %s", name, listClasses(classes))
	}
	return 0, nil
}

func listClasses(classes []work.Class) string {
	if len(classes) == 0 {
		return "none, as no classes are configured"
	}
	return strings.Join(classNames(classes), ", ")
}

func parseKey(h http.Header) (string, error) {
	key, ok, err := single(h, headerKey)
	if err != nil || !ok {
		return "", err
	}
	if len(key) == 0 || len(key) > maxKey {
		return "", headerError(headerKey, "%d characters: allowed are 1 to %d", len(key), maxKey)
	}
	for i := range len(key) {
		if key[i] < '!' || key[i] > '~' {
			return "", headerError(headerKey, "%.32q: allowed are visible ASCII characters", key)
		}
	}
	return key, nil
}

// parsePrefer reads wait=SECONDS among the preferences (RFC 7240); fractions of a
// second are accepted. Other preferences are ignored, as the RFC asks for, and of
// several waits the first counts. 0 means not to wait.
func parsePrefer(values []string) (time.Duration, error) {
	for _, value := range values {
		for value != "" {
			var preference string
			preference, value = cutPreference(value)
			preference, _, _ = strings.Cut(preference, ";") // parameters mean nothing to us
			name, text, _ := strings.Cut(preference, "=")
			if strings.EqualFold(strings.TrimSpace(name), "wait") {
				return parseWait(strings.Trim(strings.TrimSpace(text), `"`))
			}
		}
	}
	return 0, nil
}

// cutPreference splits at the first comma outside quotes.
func cutPreference(value string) (first, rest string) {
	quoted := false
	for i := range len(value) {
		switch c := value[i]; {
		case c == '"':
			quoted = !quoted
		case c == ',' && !quoted:
			return value[:i], value[i+1:]
		}
	}
	return value, ""
}

// parseWait reads seconds as thousands of milliseconds, so that a deadline's
// parser does; a wait is cut to the longest deadline.
func parseWait(text string) (time.Duration, error) {
	whole, part, point := strings.Cut(text, ".")
	seconds, err := deadline.ParseMs(whole)
	var fraction time.Duration
	if err == nil && point {
		fraction, err = deadline.ParseMs("0." + part)
	}
	if err != nil {
		return 0, headerError(headerPrefer, "wait=%.32q: allowed are seconds with up to 3 decimals, such as 1 or 0.5", text)
	}
	return min(seconds, deadline.Ceiling/1000)*1000 + fraction*1000, nil
}

// single returns the one value of a header.
func single(h http.Header, name string) (string, bool, error) {
	switch values := h[name]; len(values) {
	case 0:
		return "", false, nil
	case 1:
		return values[0], true, nil
	default:
		return "", false, headerError(name, "%d values: allowed is one", len(values))
	}
}
