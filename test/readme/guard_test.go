package readme

import (
	"net/http"
	"testing"

	"shedload/internal/api"
)

// TestWhoMayChangeThings: each call that api.md lists with 401 and 403 is one that
// other machines need a permission for; all others are open to them.
func TestWhoMayChangeThings(t *testing.T) {
	handlers := map[string]func(api.Guard) http.Handler{
		"admin":   func(g api.Guard) http.Handler { return newServer(t, g).Admin() },
		"backend": func(g api.Guard) http.Handler { return newWorker(t, g).Admin() },
		"control": func(g api.Guard) http.Handler { return newService(t, g).Handler() },
	}
	guarded := 0
	for _, e := range endpoints(t) {
		handler := handlers[e.listener]
		if handler == nil {
			continue
		}
		ask := func(g api.Guard, token string) int { return call(handler(g), e.method, e.path, "{}", token).Code }
		codes := map[int]bool{}
		for _, code := range e.answers {
			codes[code] = true
		}
		if !codes[http.StatusUnauthorized] {
			if got := ask(api.Guard{}, ""); got != http.StatusOK {
				t.Errorf("%v: %d from another machine, want 200", e, got)
			}
			continue
		}
		guarded++
		for _, c := range []struct {
			guard api.Guard
			token string
			want  bool
			code  int
		}{
			{api.Guard{}, "", false, http.StatusForbidden},
			{api.Guard{Token: "right"}, "", false, http.StatusUnauthorized},
			{api.Guard{Token: "right"}, "wrong", false, http.StatusUnauthorized},
			{api.Guard{Token: "right"}, "right", true, 0},
			{api.Guard{Open: true}, "", true, 0},
		} {
			got := ask(c.guard, c.token)
			if passed := got != http.StatusUnauthorized && got != http.StatusForbidden; passed != c.want || !c.want && got != c.code {
				t.Errorf("%v with guard %+v and token %q: %d", e, c.guard, c.token, got)
			}
		}
	}
	if guarded < 5 {
		t.Errorf("%d guarded calls: the test shows nothing", guarded)
	}
}

// TestOtherPathsAndMethods: the rules for all calls.
func TestOtherPathsAndMethods(t *testing.T) {
	server, w := newServer(t, api.Guard{Open: true}), newWorker(t, api.Guard{Open: true})
	handlers := map[string]http.Handler{
		"public": server.Public(), "workers": server.Workers(), "admin": server.Admin(), "backend": w.Admin(),
		"control": newService(t, api.Guard{Open: true}).Handler(),
	}
	for listener, h := range handlers {
		if got := call(h, http.MethodGet, "/v1/nothing", "", "").Code; got != http.StatusNotFound {
			t.Errorf("%s: %d for a path that does not exist", listener, got)
		}
	}
	for _, e := range endpoints(t) {
		if h := handlers[e.listener]; h != nil {
			if got := call(h, http.MethodPatch, e.path, "", ""); got.Code != http.StatusMethodNotAllowed || got.Header().Get("Allow") == "" {
				t.Errorf("PATCH %s: %d, allowed: %q", e.path, got.Code, got.Header().Get("Allow"))
			}
		}
	}
}
