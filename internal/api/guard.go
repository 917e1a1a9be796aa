package api

import (
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Guard is the rule about who may change things on an admin listener: whoever is
// on this machine, whoever has the token, or, if it is open, everybody who can
// reach it. Reading needs no permission. The zero Guard lets this machine change
// things and nobody else.
type Guard struct {
	Token string
	Open  bool
}

// Wrap returns next behind the guard. Requests that a web page sent from another
// origin change nothing, wherever they come from: a browser on this machine is
// not this machine's user.
func (g Guard) Wrap(next http.Handler) http.Handler {
	guarded := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.allows(r) {
			next.ServeHTTP(w, r)
			return
		}
		status, detail := http.StatusForbidden, "changes from another machine need an admin token, and none is configured"
		if g.Token != "" {
			w.Header().Set("WWW-Authenticate", "Bearer")
			status, detail = http.StatusUnauthorized, "changes from another machine need the header Authorization: Bearer with the admin token"
		}
		writeProblem(w, status, detail)
	})
	return http.NewCrossOriginProtection().Handler(guarded)
}

func (g Guard) allows(r *http.Request) bool {
	if g.Open || r.Method == http.MethodGet || r.Method == http.MethodHead || loopback(r.RemoteAddr) {
		return true
	}
	token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return bearer && g.Token != "" && subtle.ConstantTimeCompare([]byte(token), []byte(g.Token)) == 1
}

func loopback(remote string) bool {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
