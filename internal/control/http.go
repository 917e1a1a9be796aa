package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// The bounds of a call.
const (
	callTimeout = 5 * time.Second
	maxAnswer   = 64 << 20 // a ledger of a day has 86,400 rows
	maxProblem  = 4 << 10
)

// ErrUnreachable says that nobody answers at an address.
var ErrUnreachable = errors.New("cannot be reached")

// StatusError is an answer that is not what was asked for.
type StatusError struct {
	Status int
	Detail string // what the server says is wrong; "" if it says nothing
}

// Error gives the server's own words.
func (e *StatusError) Error() string {
	text := fmt.Sprintf("answered %d %s", e.Status, http.StatusText(e.Status))
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	if e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden {
		text += " (set SHEDLOAD_ADMIN_TOKEN here and there, or SHEDLOAD_ADMIN_OPEN=true there)"
	}
	return text
}

// remoteService is one HTTP listener that speaks JSON. Safe for concurrent use.
type remoteService struct {
	name, url, token string
	client           *http.Client
}

func newService(name, base, token string) remoteService {
	return remoteService{name: name, url: strings.TrimSuffix(base, "/"), token: token, client: &http.Client{
		// Not the proxy of the environment: these are our own services.
		Transport: &http.Transport{MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // a redirect would take the token along
		},
	}}
}

// call sends in, unless it is nil, as JSON and decodes the answer into out,
// unless that is nil. Errors name the service and its address.
func (s remoteService) call(ctx context.Context, method, path string, in, out any) error {
	if err := s.exchange(ctx, method, path, in, out); err != nil {
		return fmt.Errorf("%s at %s: %s %s: %w", s.name, s.url, method, path, err)
	}
	return nil
}

func (s remoteService) exchange(ctx context.Context, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, fmt.Errorf("no answer within %s", callTimeout))
	defer cancel()
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(b)
	}
	request, err := http.NewRequestWithContext(ctx, method, s.url+path, body)
	if err != nil {
		return err
	}
	if in != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if s.token != "" {
		request.Header.Set("Authorization", "Bearer "+s.token)
	}
	response, err := s.client.Do(request)
	if err != nil {
		return unreachable(ctx, err)
	}
	defer response.Body.Close()
	if response.StatusCode/100 != 2 {
		return statusError(response)
	}
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(out); err != nil {
		return fmt.Errorf("answer: %w", err)
	}
	return nil
}

// unreachable keeps the cause and drops what net/http repeats about the address.
func unreachable(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("%w: %w", ErrUnreachable, cause)
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return fmt.Errorf("%w: %w", ErrUnreachable, err)
}

// statusError reads what the server says, a problem document (RFC 9457) at best.
func statusError(r *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(r.Body, maxProblem)) // what could be read is better than nothing
	var problem struct{ Title, Detail string }
	e := &StatusError{Status: r.StatusCode}
	if json.Unmarshal(text, &problem) == nil {
		e.Detail = problem.Detail
	} else if line := strings.TrimSpace(string(text)); !strings.ContainsAny(line, "<\n") {
		e.Detail = line
	}
	return e
}
