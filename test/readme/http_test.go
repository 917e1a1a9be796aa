package readme

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// example is a request of a document, and the answer that it shows.
type example struct {
	where        string
	on           string // the system that it is sent to: "" or the word behind http
	method, path string
	header       http.Header
	body         string
	status       int
	answerHeader http.Header
	answer       string
}

var statusLine = regexp.MustCompile(`^(\d{3}) [A-Z]`)

// parseExample reads a block of kind http: request line, header, body, and the
// same of the answer, with an empty line between the parts.
func parseExample(b block) (example, error) {
	e := example{where: fmt.Sprintf("%s:%d", b.file, b.line), on: strings.TrimSpace(strings.TrimPrefix(b.kind, "http"))}
	answer := -1
	for i, line := range b.lines {
		if statusLine.MatchString(line) {
			answer = i
			break
		}
	}
	method, path, ok := strings.Cut(b.lines[0], " ")
	if answer < 1 || !ok {
		return e, fmt.Errorf("%s: not a request and its answer", e.where)
	}
	e.method, e.path = method, path
	e.header, e.body = message(b.lines[1:answer])
	e.status, _ = strconv.Atoi(b.lines[answer][:3]) // the expression has seen to it
	e.answerHeader, e.answer = message(b.lines[answer+1:])
	return e, nil
}

// message splits header and body.
func message(lines []string) (http.Header, string) {
	h := http.Header{}
	for i, line := range lines {
		name, value, ok := strings.Cut(line, ": ")
		if !ok || line == "" {
			return h, strings.TrimSpace(strings.Join(lines[i:], "\n"))
		}
		h.Add(name, value)
	}
	return h, ""
}

// reply is an answer.
type reply struct {
	status int
	header http.Header
	body   string
}

func send(t *testing.T, method, url, body string, header http.Header) reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	if header != nil {
		r.Header = header
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{response.StatusCode, response.Header, string(text)}
}

// differs says how an answer is not the one that an example shows.
func (e example) differs(got reply) error {
	if got.status != e.status {
		return fmt.Errorf("status %d, the document shows %d: %s", got.status, e.status, got.body)
	}
	for name, values := range e.answerHeader {
		if text := got.header.Get(name); !alike(values[0], text) {
			return fmt.Errorf("%s: %q, the document shows %q", name, text, values[0])
		}
	}
	if e.answer == "" {
		if got.body != "" {
			return fmt.Errorf("body %q, the document shows none", got.body)
		}
		return nil
	}
	shown, err := decode(e.answer)
	if err != nil {
		return fmt.Errorf("the document's answer: %w", err)
	}
	really, err := decode(got.body)
	if err != nil {
		return fmt.Errorf("body %q: %w", got.body, err)
	}
	if at := unlike("", shown, really); at != "" {
		return fmt.Errorf("%s is not as the document shows it: %s", at, got.body)
	}
	return nil
}

// The ways to leave out in JSON what differs each time.
var (
	someElements = regexp.MustCompile(`\[…\]`)
	moreFields   = regexp.MustCompile(`,…\}`)
)

func decode(text string) (any, error) {
	text = someElements.ReplaceAllString(text, `"[…]"`)
	text = moreFields.ReplaceAllString(text, `,"…":0}`)
	var v any
	err := json.Unmarshal([]byte(text), &v)
	return v, err
}

// unlike names the first place where got does not have the shape of shown: names,
// types, words. Numbers may be any.
func unlike(at string, shown, got any) string {
	switch s := shown.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return at
		}
		_, more := s["…"]
		for name, value := range s {
			if name == "…" {
				continue
			}
			if _, ok := g[name]; !ok {
				return at + "." + name
			}
			if where := unlike(at+"."+name, value, g[name]); where != "" {
				return where
			}
		}
		if len(g) != len(s) && !more {
			return at + " (other fields)"
		}
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(s) {
			return at
		}
		for i := range s {
			if where := unlike(fmt.Sprintf("%s[%d]", at, i), s[i], g[i]); where != "" {
				return where
			}
		}
	case string:
		if _, list := got.([]any); list && s == "[…]" {
			return ""
		}
		if g, ok := got.(string); !ok || !alike(s, g) {
			return at
		}
	case float64:
		if _, ok := got.(float64); !ok {
			return at
		}
	default:
		if shown != got {
			return at
		}
	}
	return ""
}

// alike compares words, in which … stands for anything and a number for any number.
func alike(shown, got string) bool {
	if before, after, cut := strings.Cut(shown, "…"); cut {
		return strings.HasPrefix(got, before) && strings.HasSuffix(got, after)
	}
	_, err1 := strconv.ParseFloat(shown, 64)
	_, err2 := strconv.ParseFloat(got, 64)
	return shown == got || (err1 == nil && err2 == nil)
}
