package app

import (
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"shedload/internal/client"
)

// plainOptions are what clients with wait: plain send to a service that is not ours.
type plainOptions struct {
	method, body string
	headers      []string
}

func (o *plainOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.method, "method", "", "method of plain clients (default GET, or POST with a body)")
	f.StringArrayVar(&o.headers, "header", nil, "header of plain clients, `\"Name: value\"`; repeatable")
	f.StringVar(&o.body, "body", "", "body of plain clients, or @FILE")
}

// request is what the flags say, as the clients send it.
func (o *plainOptions) request() (client.Plain, error) {
	p := client.Plain{Method: o.method, Body: []byte(o.body)}
	if name, ok := strings.CutPrefix(o.body, "@"); ok {
		var err error
		if p.Body, err = os.ReadFile(name); err != nil {
			return p, fmt.Errorf("--body: %w", err)
		}
	}
	if p.Method == "" && len(p.Body) > 0 {
		p.Method = http.MethodPost
	}
	for _, text := range o.headers {
		name, value, ok := strings.Cut(text, ":")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return p, fmt.Errorf("--header %q: is written \"Name: value\"", text)
		}
		if p.Header == nil {
			p.Header = http.Header{}
		}
		p.Header.Add(name, strings.TrimSpace(value))
	}
	return p, nil
}
